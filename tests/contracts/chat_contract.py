"""What every `ChatModel` has to keep. A test module subclasses `ChatContract` and gives it a fixture `chat`.

The model of the fixture has to give the `REPLIES`, each once and in this order, and to fail after them.
"""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from prospection.errors import ModelError
from prospection.protocols import ChatModel, ChatRequest


class Memory(BaseModel):
    info: str
    tags: list[str]


class Memories(BaseModel):
    facts: list[Memory]


FACTS: dict[str, object] = {"facts": [{"info": "Lebt in Zürich 🚲", "tags": ["home"]}]}
EMPTY: dict[str, object] = {"facts": []}
TEXT = "Zwei Wochen in Italien."


def structured(stage: str = "extract", subject: str = "s1") -> ChatRequest[Memories]:
    return ChatRequest(
        stage=stage, subject=subject, system="Extract facts.", user="<x>hello</x>", prompt="0", reply=Memories
    )


def plain(stage: str = "answer", subject: str = "q1") -> ChatRequest[str]:
    return ChatRequest(stage=stage, subject=subject, system="Answer.", user="Plan a trip.", prompt="0", reply=str)


REPLIES: list[tuple[str, str, dict[str, object] | str]] = [
    ("extract", "s1", FACTS),
    ("extract", "s1", EMPTY),
    ("answer", "q1", TEXT),
]


class ChatContract:
    @pytest.mark.anyio
    async def test_replies_have_the_shape_that_is_asked_for(self, chat: ChatModel) -> None:
        first = await chat.complete(structured())
        assert first.value == Memories.model_validate(FACTS)
        assert first.model
        second = await chat.complete(structured())
        assert second.value == Memories(facts=[])
        third = await chat.complete(plain())
        assert third.value == TEXT
        assert first.usage.calls == second.usage.calls == third.usage.calls == 1
        assert first.usage.failed_calls == 0
        assert chat.name

    @pytest.mark.anyio
    async def test_a_failure_is_a_model_error_with_its_cost(self, chat: ChatModel) -> None:
        await chat.complete(structured())
        await chat.complete(structured())
        await chat.complete(plain())
        with pytest.raises(ModelError) as caught:
            await chat.complete(structured())
        assert caught.value.usage is not None
