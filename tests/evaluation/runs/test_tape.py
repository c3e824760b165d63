"""Calls on tape: what they are known by, what they cost, and where they end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from prospection.errors import BudgetExceededError, EndpointError
from prospection.evaluation.runs.plan import PlanBudget
from prospection.evaluation.runs.tape import Said, Tape, TapedChat, working
from prospection.models.attempts import AttemptFailed, Endpoint, Ledger, attempt
from prospection.protocols import ChatReply, ChatRequest, ReplyT
from prospection.types import Usage

pytestmark = pytest.mark.anyio

ENDPOINT = Endpoint(where="nowhere", model="tiny", backoff=0.0)


class Priced:
    """A model whose attempts come out as scripted: dollars of an answer, None for one of unknown price, or no answer.

    Attempts after the last of the script are answered for a dollar.
    """

    name = "priced"

    def __init__(self, *script: float | AttemptFailed | None) -> None:
        self._script = list(script)
        self.attempts = 0

    async def complete(self, request: ChatRequest[ReplyT]) -> ChatReply[ReplyT]:
        ledger = Ledger()

        async def call() -> float | None:
            self.attempts += 1
            outcome = self._script.pop(0) if self._script else 1.0
            if isinstance(outcome, AttemptFailed):
                raise outcome
            return outcome

        try:
            cost = await attempt(call, ENDPOINT, ledger)
        except AttemptFailed as failure:
            raise failure.as_error(ENDPOINT, ledger.usage) from failure
        ledger.add(Usage(tokens_in=60, tokens_out=40, cost=cost))
        assert issubclass(request.reply, str)
        return ChatReply(value=request.reply("said"), usage=ledger.usage, model=self.name)


def timeout() -> AttemptFailed:
    return AttemptFailed("no reply within 60 s", status=None)


def asked(user: str, *, system: str = "", stage: str = "answer") -> ChatRequest[str]:
    return ChatRequest(stage=stage, subject="", system=system, user=user, prompt="", reply=str)


async def ask(tape: Tape, model: Priced, texts: Sequence[str]) -> str | None:
    """Ask for each text as a case of its own, failures passed over; return why the tape stopped."""
    chat = TapedChat(tape, "priced", model)
    for text in texts:
        with working(f"case/{text}"):
            try:
                await chat.complete(asked(text))
            except BudgetExceededError:
                break
            except EndpointError:
                pass
    return tape.stopped


async def test_tokens_end_at_their_ceiling(tmp_path: Path) -> None:
    model = Priced()
    tape = Tape(tmp_path / "tape.jsonl", budget=PlanBudget(max_tokens=150))
    assert await ask(tape, model, "abcd") == "200 tokens are used and max_tokens is 150"
    assert model.attempts == 2


async def test_money_ends_at_its_ceiling(tmp_path: Path) -> None:
    model = Priced()
    tape = Tape(tmp_path / "tape.jsonl", budget=PlanBudget(max_cost=2.0))
    assert await ask(tape, model, "abcd") == "2.00 dollars are spent and max_cost is 2"
    assert model.attempts == 2


async def test_what_was_never_answered_does_not_end_a_run_with_a_ceiling(tmp_path: Path) -> None:
    # The first call fails after three attempts, the second is answered at the second attempt.
    model = Priced(timeout(), timeout(), timeout(), timeout(), 1.0)
    tape = Tape(tmp_path / "tape.jsonl", budget=PlanBudget(max_cost=3.0))
    stopped = "3.00 dollars are spent, 4 attempts that brought no answer not counted and max_cost is 3"
    assert await ask(tape, model, "abcdef") == stopped
    assert model.attempts == 3 + 2 + 2
    # A later process reads the same from the tape, and goes on below a higher ceiling.
    resumed = Tape(tmp_path / "tape.jsonl", budget=PlanBudget(max_cost=4.0))
    assert resumed.bill == tape.bill
    assert await ask(resumed, model, "gh") == stopped.replace("3.00", "4.00").replace("cost is 3", "cost is 4")


async def test_an_answer_of_unknown_price_ends_a_run_with_a_ceiling(tmp_path: Path) -> None:
    model = Priced(1.0, timeout(), None)
    tape = Tape(tmp_path / "tape.jsonl", budget=PlanBudget(max_cost=9.0))
    assert await ask(tape, model, "abcd") == "the price of a call is not known, so max_cost 9 cannot be kept"
    assert model.attempts == 3


async def test_older_tapes_without_bills_are_read(tmp_path: Path) -> None:
    path = tmp_path / "tape.jsonl"
    await ask(Tape(path), Priced(*[timeout()] * 3), "ab")
    lines = [line for line in path.read_text().splitlines() if '"bill"' in line]
    path.write_text("".join(line.replace('"bill"', '"not_a_bill"') + "\n" for line in lines))
    tape = Tape(path)
    assert (tape.bill.paid, tape.bill.unanswered, tape.spent.calls) == (1.0, 3, 4)


@pytest.mark.parametrize("change", ["model", "system", "user", "stage"])
async def test_a_call_is_known_by_all_that_is_asked(tmp_path: Path, change: str) -> None:
    model, path = Priced(), tmp_path / "tape.jsonl"
    with working("case"):
        await TapedChat(Tape(path), "priced", model).complete(asked("tea"))
    other = {
        "model": asked("tea"),
        "system": asked("tea", system="Be brief."),
        "user": asked("coffee"),
        "stage": asked("tea", stage="simulate"),
    }[change]
    with working("case"):
        await TapedChat(Tape(path), "another" if change == "model" else "priced", model).complete(other)
    assert model.attempts == 2
    with working("case"):
        await TapedChat(Tape(path), "priced", model).complete(asked("tea"))
    assert model.attempts == 2


async def test_a_call_of_another_case_is_not_played(tmp_path: Path) -> None:
    tape = Tape(tmp_path / "tape.jsonl")
    made = []

    async def make() -> Said:
        made.append(1)
        return Said(reply="said", usage=Usage(calls=1), model="tiny")

    for case in ("one", "two"):
        with working(case):
            await tape.once("answer", "the same", "tiny", make)
    assert len(made) == 2


async def say(tape: Tape, model: Priced | None, name: str, *, once: bool) -> str:
    """Ask within a piece of work; return the reply, or the name of the error."""
    with working(name, once=once):
        try:
            return (await TapedChat(tape, "priced", model).complete(asked("tea"))).value
        except EndpointError as error:
            return type(error).__name__


async def test_work_that_is_done_once_is_made_of_what_came_through(tmp_path: Path) -> None:
    path, name = tmp_path / "tape.jsonl", "quest/tree/index/ada"
    model = Priced(*[timeout()] * 3)
    assert await say(Tape(path), model, name, once=True) == "EndpointError"
    # A replay fails where the run failed, until failures are asked again.
    assert await say(Tape(path), None, name, once=True) == "EndpointError"
    assert await say(Tape(path, retry_failed=True), model, name, once=True) == "said"
    assert model.attempts == 4
    assert await say(Tape(path), None, name, once=True) == "said"


async def test_a_case_is_played_as_it_was_whatever_it_is_called(tmp_path: Path) -> None:
    # The query's own id looks like the name of an index.
    path, name = tmp_path / "tape.jsonl", "quest/tree/0/trips/index/1"
    model = Priced(*[timeout()] * 3)
    assert await say(Tape(path), model, name, once=False) == "EndpointError"
    assert await say(Tape(path, retry_failed=True), model, name, once=False) == "EndpointError"
    assert model.attempts == 3
