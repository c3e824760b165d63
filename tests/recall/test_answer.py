"""Answers stand on what was recalled and say so."""

from __future__ import annotations

import pytest

from prospection.recall.answer import answer, citations
from prospection.recall.policies.direct import Direct
from prospection.recall.recall import recall
from remembered import Script, WordMemory, run_over


def test_citations_are_the_known_ids_in_the_order_of_first_mention() -> None:
    text = "Go in May [f12], not October [f3, f12]; see [note] and [f99] and [f4;f3]."
    assert citations(text, {"f3", "f4", "f12"}) == ("f12", "f3", "f4")


@pytest.mark.anyio
async def test_the_answer_is_given_the_context_and_counts_its_call() -> None:
    memory = WordMemory("passport lapsed in april", "likes tea")
    model = Script(answer=[" Renew the passport first [f1]. "])
    recalled = await recall("passport", run_over(memory, query="passport"), Direct(limit=1), context_tokens=200)
    result = await answer(recalled, model)

    assert result.text == "Renew the passport first [f1]."
    assert result.citations == ("f1",)
    assert result.usage.calls == 1
    request = model.requests[0]
    assert "passport lapsed in april" in request.user
    assert "passport lapsed" not in request.system
    assert request.reply is str
