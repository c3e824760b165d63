"""Every call of a run, on tape: recorded while a model answers, played back when the very same is asked again.

Calls are known by the piece of work they belong to (a case, an index), by stage, model, prompt, material and shape of
reply, so that two systems that ask alike never meet each other's replies, and calls side by side may come in any order.
Failed calls are on tape as well: a replay fails where the run failed. A run that was killed plays what it had paid for
before it asks on. In go requests; out come replies, and a JSONL file that is only ever appended to.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from pydantic import BaseModel, TypeAdapter, ValidationError

import prospection.errors
from prospection.errors import (
    BudgetExceededError,
    CredentialError,
    InputError,
    ModelError,
    NotRecordedError,
    ReplyError,
)
from prospection.evaluation.lines import append_line
from prospection.evaluation.runs.plan import PlanBudget
from prospection.models.attempts import spending
from prospection.protocols import ChatModel, ChatReply, ChatRequest, ReplyT
from prospection.types import Usage

__all__ = ["Said", "Tape", "TapedChat", "Work", "working"]

if TYPE_CHECKING:
    _Key = tuple[str, str, str]


class Work:
    """A case or an index under way.

    Attributes:
        name: Unique in the run; calls are found on tape by it.
        once: It keeps its name when it is done again, as the building of an index does: what failed then is not what it
            is made of.
        usage: Of its calls so far.
    """

    def __init__(self, name: str, *, once: bool = False) -> None:
        self.name = name
        self.once = once
        self.usage = Usage()


_current: ContextVar[Work] = ContextVar("work")


@contextmanager
def working(name: str, *, once: bool = False) -> Iterator[Work]:
    """Put calls made in the block, also by tasks it starts, to this piece of work; see `Work`."""
    work = Work(name, once=once)
    token = _current.set(work)
    try:
        yield work
    finally:
        _current.reset(token)


class _Failure(BaseModel):
    kind: str
    message: str
    raw: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A reply.

    Attributes:
        reply: JSON data.
        model: Who gave it.
    """

    reply: Any
    usage: Usage
    model: str


class _Bill(BaseModel):
    """What is known of the price of calls.

    Attributes:
        paid: US dollars of all that was answered; None where a price is not known.
        unanswered: Attempts without an answer. Whether they cost anything nobody knows; `paid` counts them as 0.
    """

    paid: float | None = 0.0
    unanswered: int = 0

    def add(self, paid: float | None, unanswered: int) -> None:
        self.paid = None if self.paid is None or paid is None else self.paid + paid
        self.unanswered += unanswered

    def hear(self, part: Usage) -> None:
        """Add a part of a call's cost, as `models.attempts.spending` tells it."""
        if part.failed_calls and part.cost is None:
            self.add(0.0, part.failed_calls)
        else:
            self.add(part.cost, 0)


def _bill(usage: Usage, *, failed: bool) -> _Bill:
    """The bill of a call of which no parts are known."""
    bill = _Bill()
    bill.add(0.0 if failed and usage.cost is None else usage.cost, usage.failed_calls if usage.cost is None else 0)
    return bill


class _Line(BaseModel):
    work: str
    stage: str
    asked: str
    model: str
    usage: Usage
    bill: _Bill | None = None  # lines of older tapes have none
    reply: Any = None
    error: _Failure | None = None


class Tape:
    """The calls of a run.

    Attributes:
        spent: Of all calls that were made and not played, in this process and before.
        bill: What is known of their price.
        stopped: Why no further call may be made; None while they may.
    """

    def __init__(self, path: Path, *, budget: PlanBudget | None = None, retry_failed: bool = False) -> None:
        """Read what is on the tape; a last line that was cut short when a run was killed is passed over.

        Args:
            retry_failed: Ask again what failed in work that is done once. Cases that are asked again have other names.

        Raises:
            InputError: The file cannot be read.
        """
        self.spent = Usage()
        self.bill = _Bill()
        self.stopped: str | None = None
        self._path = path
        self._budget = budget or PlanBudget()
        self._under_way = 0
        self._retry_failed = retry_failed
        self._lock = anyio.Lock()
        self._lines: defaultdict[_Key, deque[_Line]] = defaultdict(deque)
        for line in _read(path):
            self._count(line)
            self._lines[line.work, line.stage, line.asked].append(line)

    async def once(self, stage: str, asked: str, model: str, ask: Callable[[], Awaitable[Said]] | None) -> Said:
        """Play a call when it is on tape, else make it and record it; either way it counts for the current work.

        Args:
            asked: Tells this request from others of its stage.
            model: Name of who is asked, for a call that fails.
            ask: Makes the call; None: nobody is asked for what is not on tape, as in a replay.

        Raises:
            NotRecordedError: It is not on tape and nobody is asked.
            BudgetExceededError: A ceiling of the run is reached.
            ModelError: As `ask`, or as the tape has it.
        """
        work = _current.get()
        lines = self._lines.get((work.name, stage, asked))
        if lines and work.once:
            self._pass_over_failures(lines)
        if lines:
            line = lines.popleft()
            work.usage += line.usage
            if line.error is not None:
                raise _error(line.error, line.usage)
            return Said(reply=line.reply, usage=line.usage, model=line.model)
        if ask is None:
            raise NotRecordedError(
                f"the recording has no reply for stage {stage!r} of {work.name!r} as it is asked now; prompts, "
                "data or code have changed since: run the plan again",
                usage=Usage(),
            )
        known = {"work": work.name, "stage": stage, "asked": asked}
        bill: _Bill | None = None

        def hear(part: Usage) -> None:
            nonlocal bill
            bill = bill or _Bill()
            bill.hear(part)

        with self._calling():
            token = spending.set(hear)
            try:
                said = await ask()
            except CredentialError:
                raise  # ends the run; with another key the call is made again
            except ModelError as error:
                usage = error.usage or Usage(calls=1, failed_calls=1, cost=None)
                work.usage += usage
                raw = error.raw if isinstance(error, ReplyError) else ""
                failure = _Failure(kind=type(error).__name__, message=str(error), raw=raw)
                await self._record(_Line(**known, model=model, usage=usage, bill=bill, error=failure))
                raise
            finally:
                spending.reset(token)
            work.usage += said.usage
            await self._record(_Line(**known, model=said.model, usage=said.usage, bill=bill, reply=said.reply))
        return said

    def _pass_over_failures(self, lines: deque[_Line]) -> None:
        """Leave the replies alone where there is one, or where failures are to be asked again."""
        good = [line for line in lines if line.error is None]
        if good or self._retry_failed:
            lines.clear()
            lines.extend(good)

    def _count(self, line: _Line) -> None:
        self.spent += line.usage
        bill = line.bill or _bill(line.usage, failed=line.error is not None)
        self.bill.add(bill.paid, bill.unanswered)

    async def _record(self, line: _Line) -> None:
        self._count(line)
        async with self._lock:
            await anyio.to_thread.run_sync(append_line, self._path, line.model_dump_json())

    @contextmanager
    def _calling(self) -> Iterator[None]:
        """Hold a call against the ceilings while it is under way; one that would pass them stops the run."""
        spent, paid, ceilings = self.spent, self.bill.paid, self._budget
        calls, tokens = spent.calls + self._under_way, spent.tokens_in + spent.tokens_out
        if ceilings.max_calls is not None and calls >= ceilings.max_calls:
            self.stopped = f"{calls} calls are made and max_calls is {ceilings.max_calls}"
        elif ceilings.max_tokens is not None and tokens >= ceilings.max_tokens:
            self.stopped = f"{tokens} tokens are used and max_tokens is {ceilings.max_tokens}"
        elif ceilings.max_cost is not None and paid is None:
            self.stopped = f"the price of a call is not known, so max_cost {ceilings.max_cost:g} cannot be kept"
        elif ceilings.max_cost is not None and paid is not None and paid >= ceilings.max_cost:
            count = self.bill.unanswered
            besides = f", {count} attempts that brought no answer not counted" if count else ""
            self.stopped = f"{paid:.2f} dollars are spent{besides} and max_cost is {ceilings.max_cost:g}"
        if self.stopped is not None:
            raise BudgetExceededError(f"the run's ceiling: {self.stopped}; raise it and resume", usage=Usage())
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1


class TapedChat:
    """A `ChatModel` on tape.

    Attributes:
        name: Name of the model.
    """

    def __init__(self, tape: Tape, name: str, model: ChatModel | None) -> None:
        """Put a model on tape.

        Args:
            model: What is asked for what is not on tape; None: nothing is, as in a replay.
        """
        self.name = name
        self._tape, self._model = tape, model

    async def complete(self, request: ChatRequest[ReplyT]) -> ChatReply[ReplyT]:
        """See `ChatModel.complete` and `Tape.once`."""
        model = self._model

        async def ask() -> Said:
            assert model is not None  # noqa: S101 - it is not called without
            reply = await model.complete(request)
            value = reply.value if isinstance(reply.value, str) else reply.value.model_dump(mode="json")
            return Said(reply=value, usage=reply.usage, model=reply.model)

        name = self.name if model is None else model.name
        asked = _asked(self.name, request)
        said = await self._tape.once(request.stage, asked, name, None if model is None else ask)
        value = TypeAdapter(request.reply).validate_json(json.dumps(said.reply))
        return ChatReply(value=value, usage=said.usage, model=said.model)


def _asked(model: str, request: ChatRequest[ReplyT]) -> str:
    shape = None if issubclass(request.reply, str) else request.reply.model_json_schema()
    parts = [model, request.system, request.user, shape]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:20]


def _error(failure: _Failure, usage: Usage) -> ModelError:
    kind: type[ModelError] = getattr(prospection.errors, failure.kind, ModelError)
    if issubclass(kind, ReplyError):
        return kind(failure.message, raw=failure.raw, usage=usage)
    return kind(failure.message, usage=usage)


def _read(path: Path) -> Iterator[_Line]:
    try:
        lines = path.read_text(encoding="utf-8").split("\n") if path.exists() else []
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"recording {str(path)!r} cannot be read: {error}; start a new run") from error
    for number, text in enumerate(lines, start=1):
        if not text.strip():
            continue
        try:
            yield _Line.model_validate_json(text)
        except ValidationError as error:
            if number < len(lines):
                raise InputError(f"line {number} of recording {str(path)!r} is no call; start a new run") from error
