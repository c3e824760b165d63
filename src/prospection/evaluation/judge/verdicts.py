"""A model's verdicts: pairs in, one line a pair and order in a file. Goes on where an earlier run stopped.

A file can hold several comparisons. A verdict stands for the systems, request and answers it was given on, and for no
others: answers that were made anew are judged anew.

Each pair is judged twice, once in either order, because judges favour a place (Zheng et al. 2023, arXiv 2306.05685).
The model sees "first" and "second" and never a name. A call that fails is a line too, and is tried again next time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import anyio
import anyio.to_thread
from pydantic import BaseModel, Field, ValidationError

from prospection.errors import BudgetExceededError, CredentialError, InputError, ModelError
from prospection.evaluation.judge.pairs import Pair, Side, request_of
from prospection.evaluation.side_by_side import side_by_side
from prospection.prompts import load_prompt
from prospection.protocols import ChatModel, ChatRequest, Progress
from prospection.serial import from_text, to_text
from prospection.types import Usage

__all__ = ["Judgement", "estimate_judging", "judge_pairs", "read_judgements"]


class _Reply(BaseModel):
    reason: str = Field(description="What decides it, in one or two sentences")
    better: Literal["first", "second", "tie"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """One pair, judged in one order. It holds all that tables need, so that they need no other file.

    Attributes:
        mark: Of the pair: short hash of systems, request and answers. "" in files that are older than it.
        names: What the systems behind a and b are called.
        lengths: Characters of the answers a and b.
        first: Which answer stood first.
        verdict: None where the call failed; `error` then says why.
        prompt: Hash of the prompt file.
    """

    pair: str
    dataset: str
    user: str
    names: tuple[str, str]
    lengths: tuple[int, int]
    first: Literal["a", "b"]
    verdict: Side | None
    reason: str
    model: str
    prompt: str
    usage: Usage
    error: str | None = None
    mark: str = ""

    @property
    def request(self) -> str:
        """Data set and the query's id."""
        return request_of(self.pair, self.mark)


_Key = tuple[str, str, str]

_ORDERS: tuple[Literal["a", "b"], ...] = ("a", "b")

WORDY = 60
"""Tokens of a verdict with its reason, about."""


def _key(one: Judgement) -> _Key:
    return one.pair, one.mark, one.first


async def judge_pairs(
    pairs: Sequence[Pair], model: ChatModel, path: Path, *, at_once: int = 8, progress: Progress | None = None
) -> list[Judgement]:
    """Judge what is not in the file yet, and append it.

    Args:
        path: JSONL file of judgements; made when it is missing.
        at_once: Calls that are kept open.
        progress: Called with the judgements done and in all, of these pairs.

    Returns:
        All judgements of these pairs, those of earlier runs too.

    Raises:
        InputError: The file cannot be read or written, or holds judgements by another model or prompt.
        CredentialError, BudgetExceededError: No further call can succeed.
    """
    prompt = load_prompt("judge")
    held = await anyio.to_thread.run_sync(_held, path)
    for earlier in held:
        if (earlier.model, earlier.prompt) != (model.name, prompt.hash):
            raise InputError(
                f"{str(path)!r} holds judgements by {earlier.model!r} with prompt {earlier.prompt}; judge "
                f"with {model.name!r} and prompt {prompt.hash} into another file"
            )
    wanted: dict[_Key, tuple[Pair, Literal["a", "b"]]] = {
        (pair.id, pair.mark, first): (pair, first) for pair in pairs for first in _ORDERS
    }
    done = {_key(earlier): earlier for earlier in held if earlier.verdict is not None and _key(earlier) in wanted}
    lock = anyio.Lock()

    async def one(pair: Pair, first: Literal["a", "b"]) -> None:
        judgement = await _judge(pair, first, model)
        async with lock:
            await anyio.to_thread.run_sync(_append, path, to_text(judgement))
        done[_key(judgement)] = judgement
        if progress is not None:
            progress(len(done), len(wanted))

    await side_by_side([partial(one, *asked) for key, asked in wanted.items() if key not in done], at_once=at_once)
    return [done[key] for key in wanted]


def estimate_judging(pairs: Sequence[Pair]) -> Usage:
    """Return what judging all pairs in both orders will take: calls, and tokens at four characters each.

    Replies are a sentence and a word; `WORDY` tokens are reckoned for each. `cost` is None: it is the model's.
    """
    requests = [_request(pair, first) for pair in pairs for first in _ORDERS]
    tokens_in = sum(request.tokens for request in requests)
    return Usage(calls=len(requests), tokens_in=tokens_in, tokens_out=WORDY * len(requests), cost=None)


def read_judgements(paths: Iterable[Path]) -> list[Judgement]:
    """Read files that `judge_pairs` wrote, in any order; lines that are in several files count once.

    Of several lines of one judge on the same answers in the same order the last one holds, a verdict before a failure.
    A line that a kill cut short is passed over; its pair is judged again.

    Raises:
        InputError: A file cannot be read or is no file of judgements; or two of them hold different verdicts of one
            judge on the same, or verdicts on different answers of the same systems to the same request.
    """
    found: dict[tuple[object, ...], tuple[Path, Judgement]] = {}
    versions: dict[tuple[object, ...], tuple[Path, str]] = {}
    for path in paths:
        own = _read(path)
        for key, one in own.items():
            other, earlier = found.setdefault(key, (path, one))
            if earlier.verdict is None:
                found[key] = path, one
            elif one.verdict is not None and one != earlier:
                raise InputError(
                    f"{str(other)!r} and {str(path)!r} hold different verdicts by {one.model!r} on {one.pair!r}; "
                    "name one of them at a time"
                )
        for request, mark in {(*_judge_of(one), one.names, one.request): one.mark for one in own.values()}.items():
            other, before = versions.setdefault(request, (path, mark))
            if before != mark:
                raise InputError(
                    f"{str(other)!r} and {str(path)!r} hold verdicts on different answers of the same systems to "
                    f"{request[-1]!r}; name one of them at a time"
                )
    return [one for _, one in found.values()]


def _read(path: Path) -> dict[tuple[object, ...], Judgement]:
    try:
        lines = [line for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{str(path)!r} cannot be read: {error}; check the path") from error
    own: dict[tuple[object, ...], Judgement] = {}
    for line in lines:
        with suppress(ValidationError):
            one = from_text(Judgement, line)
            key = (*_judge_of(one), one.names, *_key(one))
            earlier = own.pop(key, None)  # the place of the last line is what tells which answers are the latest
            own[key] = earlier if earlier is not None and one.verdict is None and earlier.verdict is not None else one
    if lines and not own:
        raise InputError(f"{str(path)!r} holds no judgement; name a file that `prospection judge run` wrote")
    return own


def _judge_of(one: Judgement) -> tuple[str, str]:
    return one.model, one.prompt


def _held(path: Path) -> list[Judgement]:
    return read_judgements([path]) if path.exists() else []


def _request(pair: Pair, first: Literal["a", "b"]) -> ChatRequest[_Reply]:
    prompt = load_prompt("judge")
    one, other = (pair.a, pair.b) if first == "a" else (pair.b, pair.a)
    return ChatRequest(
        stage="judge",
        subject=f"{pair.id}: {' against '.join(pair.names)}: {first} first",
        system=prompt.system,
        user=prompt.render({"query": pair.query, "first": one, "second": other}),
        prompt=prompt.hash,
        reply=_Reply,
    )


async def _judge(pair: Pair, first: Literal["a", "b"], model: ChatModel) -> Judgement:
    request = _request(pair, first)
    sides: dict[str, Side] = {"first": first, "second": "b" if first == "a" else "a", "tie": "tie"}
    verdict: Side | None = None
    reason, failure = "", None
    try:
        answer = await model.complete(request)
    except (CredentialError, BudgetExceededError):
        raise
    except ModelError as error:
        failure, usage = str(error), error.usage or Usage(calls=1, failed_calls=1)
    else:
        verdict = sides[answer.value.better]
        reason, usage = answer.value.reason, answer.usage
    return Judgement(
        pair=pair.id,
        dataset=pair.dataset,
        user=pair.user,
        names=pair.names,
        lengths=(len(pair.a), len(pair.b)),
        first=first,
        verdict=verdict,
        reason=reason,
        model=model.name,
        prompt=request.prompt,
        usage=usage,
        error=failure,
        mark=pair.mark,
    )


def _append(path: Path, line: str) -> None:
    try:
        with path.open("a", encoding="utf-8") as file:
            # The line end comes first, so that a line that a kill cut short stays a line of its own.
            file.write(f"\n{line}" if path.stat().st_size else line)
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be written: {error}; name another file") from error
