"""What an answer is written from."""

from __future__ import annotations

from typing import Any

import pytest

from prospection.evaluation.recall import Retrieved
from prospection.evaluation.runs.answers import answer_from
from prospection.protocols import ChatReply, ChatRequest
from prospection.types import Fact, Usage
from remembered import NOW
from rivalry import ask

FACTS = [Fact(fid="f1", info="Their passport ran out in May.", said_at=NOW)]


class Heard:
    """Keeps what it is asked."""

    name = "heard"

    def __init__(self) -> None:
        self.asked: list[ChatRequest[Any]] = []

    async def complete(self, request: ChatRequest[Any]) -> ChatReply[Any]:
        self.asked.append(request)
        return ChatReply(value=" Renew it first. ", usage=Usage(calls=1), model=self.name)


@pytest.mark.anyio
async def test_facts_are_shown_with_the_outlook() -> None:
    model = Heard()
    found = Retrieved(fids=("f1",), summary="The trip needs a passport.")
    assert await answer_from(ask("Plan Italy."), found, FACTS, model, context_tokens=2000) == "Renew it first."
    (request,) = model.asked
    assert "Plan Italy." in request.user
    assert "passport ran out in May" in request.user
    assert "The trip needs a passport." in request.user


@pytest.mark.anyio
async def test_a_rivals_own_context_takes_the_place_of_facts() -> None:
    model = Heard()
    found = Retrieved(fids=("f1",), context="Report 1: travel papers.\nada: passport")
    await answer_from(ask("Plan Italy."), found, FACTS, model, context_tokens=50)
    (request,) = model.asked
    assert "Report 1: travel papers.\nada: passport" in request.user
    assert "ran out in May" not in request.user
