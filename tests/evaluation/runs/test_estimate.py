"""What a rehearsal makes up, and the prices it counts with."""

from __future__ import annotations

from typing import Literal

import pytest
from pydantic import BaseModel

from prospection.evaluation.prices import price_of
from prospection.evaluation.runs.estimate import Rehearsal
from prospection.protocols import ChatRequest, ReplyT


class Verdict(BaseModel):
    answer: Literal["yes", "no"]
    sure: bool


class Steps(BaseModel):
    steps: list[str]


class Event(BaseModel):
    event: Literal["ADD", "NONE"]


def request(kind: type[ReplyT], user: str, stage: str = "judge") -> ChatRequest[ReplyT]:
    return ChatRequest(stage=stage, subject="", system="", user=user, prompt="", reply=kind)


def test_prices_are_those_of_prompts_as_long_as_ours() -> None:
    # Above 200,000 tokens in one prompt the list has twice the price of input; a prompt of ours has a few thousand.
    price = price_of("google:gemini-2.5-pro")
    assert price is not None
    assert price.of(1_000_000, 1_000_000) == pytest.approx(1.25 + 10.0)
    assert price_of("openai:nothing-of-that-name") is None
    # A server of one's own may call its model like one that costs money.
    assert price_of("openai:gpt-4o", "http://127.0.0.1:8080/v1") is None
    assert price_of("openai:gpt-4o", "https://api.openai.com/v1") == price_of("openai:gpt-4o")
    nothing = price_of(None)
    assert nothing is not None
    assert nothing.of(1, 1) == 0.0


@pytest.mark.anyio
async def test_most_judgements_are_no_and_other_choices_are_even() -> None:
    rehearsal = Rehearsal()
    verdicts = [(await rehearsal.complete(request(Verdict, str(n)))).value for n in range(200)]
    assert 15 <= sum(verdict.answer == "yes" for verdict in verdicts) <= 50
    assert 15 <= sum(verdict.sure for verdict in verdicts) <= 50
    events = [(await rehearsal.complete(request(Event, str(n)))).value for n in range(200)]
    assert 70 <= sum(event.event == "ADD" for event in events) <= 130


@pytest.mark.anyio
async def test_a_refinement_repeats_what_was_imagined_so_that_it_ends() -> None:
    rehearsal = Rehearsal()
    first = (await rehearsal.complete(request(Steps, "Plan a trip", "simulate"))).value.steps
    again = 0
    for n in range(50):
        asked = f"{n}\n<previous_steps>\n" + "\n".join(f"- {step}" for step in first) + "\n</previous_steps>"
        again += sum(step in first for step in (await rehearsal.complete(request(Steps, asked, "refine"))).value.steps)
    assert 120 <= again < 150


@pytest.mark.anyio
async def test_the_same_request_gets_the_same_reply() -> None:
    one, two = [await Rehearsal().complete(request(Steps, "Plan a trip")) for _ in range(2)]
    assert one == two
