"""LongMemEval's published layout: questions, each with a haystack of dated chats of one person with an assistant.

Each question's haystack is a memory of its own, named by its `question_id`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any

from prospection.errors import InputError
from prospection.exchange.conversations import (
    Conversation,
    Found,
    Importer,
    Opening,
    Reading,
    Skipped,
    local_instant,
    spoken,
)
from prospection.remember.conversation import parse_messages

__all__ = ["IMPORTER"]

_DATE = "%Y/%m/%d (%a) %H:%M"


def _claims(opening: Opening) -> bool:
    return any(
        isinstance(value, Mapping) and isinstance(value.get("haystack_sessions"), list) for value in opening.values
    )


def _read(question: Any, reading: Reading) -> Iterator[Found]:  # noqa: ANN401 - JSON data
    person = str(question.get("question_id") or "") if isinstance(question, Mapping) else ""
    sessions = question.get("haystack_sessions") if person else None
    if not isinstance(sessions, list):
        yield Skipped(what=repr(question)[:80], reason="not a conversation")
        return
    names, dates = question.get("haystack_session_ids") or [], question.get("haystack_dates") or []
    listed = zip_longest(sessions, names[: len(sessions)], dates[: len(sessions)])
    for place, (session, name, date) in enumerate(listed, start=1):
        called = str(name or f"{person}/{place}")
        try:
            messages = parse_messages(session)
        except InputError:
            yield Skipped(what=called, reason="no message with words")
        else:
            yield Conversation(
                id=called,
                at=local_instant(date, _DATE, reading),
                messages=tuple(spoken(message.role, message.content) for message in messages),
                person=person,
            )


IMPORTER = Importer(name="longmemeval", title="LongMemEval", claims=_claims, read=_read)
