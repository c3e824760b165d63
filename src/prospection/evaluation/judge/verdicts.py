"""A model's verdicts: pairs in, one line a pair and order in a file. Goes on where an earlier run stopped.

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

from prospection.errors import BudgetExceededError, ConfigError, CredentialError, InputError, ModelError
from prospection.evaluation.judge.pairs import Pair, Side
from prospection.prompts import load_prompt
from prospection.protocols import ChatModel, ChatRequest, Progress
from prospection.serial import from_text, to_text
from prospection.types import Usage

__all__ = ["Judgement", "judge_pairs", "read_judgements"]


class _Reply(BaseModel):
    reason: str = Field(description="What decides it, in one or two sentences")
    better: Literal["first", "second", "tie"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """One pair, judged in one order. It holds all that tables need, so that they need no other file.

    Attributes:
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


async def judge_pairs(
    pairs: Sequence[Pair], model: ChatModel, path: Path, *, at_once: int = 8, progress: Progress | None = None
) -> list[Judgement]:
    """Judge what is not in the file yet, and append it.

    Args:
        path: JSONL file of judgements; made when it is missing.
        at_once: Calls that are kept open.
        progress: Called with the judgements done and in all.

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
    done = {(earlier.pair, earlier.first): earlier for earlier in held if earlier.verdict is not None}
    orders: tuple[Literal["a", "b"], ...] = ("a", "b")
    todo = [(pair, first) for pair in pairs for first in orders if (pair.id, first) not in done]
    total = 2 * len(pairs)
    limiter, lock = anyio.CapacityLimiter(at_once), anyio.Lock()
    fatal: list[ModelError | ConfigError | InputError] = []

    async def one(pair: Pair, first: Literal["a", "b"]) -> None:
        async with limiter:
            try:
                judgement = await _judge(pair, first, model)
                async with lock:
                    await anyio.to_thread.run_sync(_append, path, to_text(judgement))
            except (CredentialError, BudgetExceededError, ConfigError, InputError) as error:
                # Raised below, so that callers meet the error itself and not a group around it.
                fatal.append(error)
                group.cancel_scope.cancel()
                return
            done[pair.id, first] = judgement
            if progress is not None:
                progress(len(done), total)

    async with anyio.create_task_group() as group:
        for pair, first in todo:
            group.start_soon(partial(one, pair, first))
    if fatal:
        raise fatal[0]
    return [done[pair.id, first] for pair in pairs for first in orders]


def read_judgements(paths: Iterable[Path]) -> list[Judgement]:
    """Read files that `judge_pairs` wrote; of several lines on a pair and order the last one holds.

    A line that a kill cut short is passed over; its pair is judged again.

    Raises:
        InputError: A file cannot be read, or is no file of judgements.
    """
    found: dict[tuple[Path, str, str], Judgement] = {}
    for path in paths:
        try:
            lines = [line for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{str(path)!r} cannot be read: {error}; check the path") from error
        whole = []
        for line in lines:
            with suppress(ValidationError):
                whole.append(from_text(Judgement, line))
        if lines and not whole:
            raise InputError(f"{str(path)!r} holds no judgement; name a file that `prospection judge run` wrote")
        found |= {(path, one.pair, one.first): one for one in whole}
    return list(found.values())


def _held(path: Path) -> list[Judgement]:
    return read_judgements([path]) if path.exists() else []


async def _judge(pair: Pair, first: Literal["a", "b"], model: ChatModel) -> Judgement:
    prompt = load_prompt("judge")
    one, other = (pair.a, pair.b) if first == "a" else (pair.b, pair.a)
    request = ChatRequest(
        stage="judge",
        subject=f"{pair.id}: {' against '.join(pair.names)}: {first} first",
        system=prompt.system,
        user=prompt.render({"query": pair.query, "first": one, "second": other}),
        prompt=prompt.hash,
        reply=_Reply,
    )
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
        prompt=prompt.hash,
        usage=usage,
        error=failure,
    )


def _append(path: Path, line: str) -> None:
    try:
        with path.open("a", encoding="utf-8") as file:
            # The line end comes first, so that a line that a kill cut short stays a line of its own.
            file.write(f"\n{line}" if path.stat().st_size else line)
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be written: {error}; name another file") from error
