"""From the text of a model's reply to the value that was asked for.

In go a text and a pydantic model; out comes a value of that model. Thinking, code fences and prose around the JSON are
tolerated. Nothing is ever invented: text that is cut off, ambiguous or the schema itself is a fault, and an empty list
in a valid reply stays an empty list. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Annotated, Any, TypeVar, cast

from pydantic import BaseModel, StringConstraints, ValidationError
from pydantic_core import from_json

from prospection.protocols import ReplyT

__all__ = ["Line", "ReplyFault", "parse_partial", "parse_reply"]

ModelT = TypeVar("ModelT", bound=BaseModel)

Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
"""A text in the shape of a reply that may not be empty; white space around it is dropped."""

# Thinking stands before the reply; the tags may as well be words of a fact. Without its first tag, which some templates
# swallow, it is only taken for thinking where the last tag ends a line or stands right before JSON: in the middle of a
# JSON string it does neither.
_THINKING = re.compile(r"\A\s*<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_UNOPENED = re.compile(r"\A(?:(?!<think).)*?</think(?:ing)?>(?=\s*(?:\n|[{\[`]|\Z))", re.DOTALL | re.IGNORECASE)
# A bracket that opens JSON rather than stands in prose, such as "[1]" or "{name}".
_JSON_START = re.compile(r"[{\[](?=\s*[\"{\[\]}])")


class ReplyFault(ValueError):  # noqa: N818 - never leaves this package
    """Why a reply cannot be used, in words that the model can act on."""


def parse_reply(text: str, reply: type[ReplyT]) -> ReplyT:
    """Return the value that `text` holds.

    Raises:
        ReplyFault: There is no such value in it, or more than one.
    """
    if not issubclass(reply, BaseModel):
        if not (plain := _without_thinking(text).strip()):
            raise ReplyFault("the reply is empty")
        return cast("ReplyT", plain)
    # The whole text first: what looks like thinking may be part of a string in it.
    try:
        return cast("ReplyT", _validate(text.strip(), reply))
    except ReplyFault as error:
        fault = error
    fitting: list[BaseModel] = []
    for candidate in _json_values(_without_thinking(text)):
        try:
            value = _validate(candidate, reply)
        except ReplyFault as error:
            fault = error
            continue
        if value not in fitting:
            fitting.append(value)
    if len(fitting) > 1:
        raise ReplyFault(f"the reply holds {len(fitting)} different JSON objects that would fit; give exactly one")
    if not fitting:
        raise fault
    return cast("ReplyT", fitting[0])


def parse_partial(text: str) -> dict[str, Any]:
    """Return what can be read of a JSON object that is still being written; {} before it has begun.

    A string or key that is not finished is left out, a number may lack digits, and lists and objects that are not
    closed end where they are.
    Nothing of it is validated: only the whole reply is what the model said.
    """
    start = _JSON_START.search(_without_thinking(text))
    if start is None:
        return {}
    try:
        data = from_json(_without_thinking(text)[start.start() :], allow_partial=True)
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def _validate(text: str, reply: type[ModelT]) -> ModelT:
    try:
        data = json.loads(text)
    except ValueError as error:
        raise ReplyFault(f"the reply is not one complete JSON object: {error}") from error
    # Small models echo the schema, and one whose fields all have defaults would take it for an empty reply.
    if isinstance(data, dict) and {"$defs", "properties", "$schema"} & data.keys() - reply.model_fields.keys():
        raise ReplyFault("the reply repeats the JSON schema; give data that fits it instead")
    try:
        return reply.model_validate_json(text)
    except ValidationError as error:
        faults = (f"{'.'.join(str(part) for part in e['loc']) or 'reply'}: {e['msg']}" for e in error.errors()[:5])
        raise ReplyFault(f"the JSON does not fit: {'; '.join(faults)}") from error


def _json_values(text: str) -> Iterator[str]:
    """Yield the outermost JSON objects and arrays in `text`, up to the first that is broken.

    It does not look inside a broken one: a part of a list that was cut off is not the list.
    """
    decoder = json.JSONDecoder()
    position = 0
    while start := _JSON_START.search(text, position):
        try:
            _, position = decoder.raw_decode(text, start.start())
        except ValueError:
            return
        yield text[start.start() : position]


def _without_thinking(text: str) -> str:
    return _UNOPENED.sub("", _THINKING.sub("", text))
