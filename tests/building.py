"""A model that writes a tiny benchmark by rule, for tests of building one. It may misbehave on demand."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from prospection.errors import ModelError, ReplyError
from prospection.protocols import ChatReply, ChatRequest
from prospection.types import Usage

__all__ = ["FACTS", "QUERY", "NovelWriter", "timeline"]

QUERY = "Plan two weeks of old towns and long lunches abroad"
FACTS = ("Passport expires in March", "Mother needs dialysis every Monday", "Allergic to hazelnuts since childhood")
DAYS = ("2025-02-10", "2025-03-10", "2025-04-10")


def request(query: str = QUERY, facts: Sequence[str] = FACTS, *, at: str = "2025-06-01") -> Mapping[str, Any]:
    """A candidate of the first step."""
    references = [{"info": fact, "date": day, "why": f"forgets: {fact}"} for fact, day in zip(facts, DAYS, strict=True)]
    return {"query": query, "date": at, "references": references}


def timeline(*placed: tuple[str, Sequence[int]]) -> Mapping[str, Any]:
    """A timeline of (day, references)."""
    return {
        "events": [
            {"date": day, "topic": f"Topic {day}", "summary": "Talk", "references": list(n)} for day, n in placed
        ]
    }


GOOD = timeline(("2025-01-01", []), ("2025-02-11", [1]), ("2025-03-11", [2]), ("2025-04-11", [3]), ("2025-05-01", []))


class NovelWriter:
    """A `ChatModel`; replies that `says` holds for a stage come first, an error among them is raised."""

    name = "novel"

    def __init__(self, **says: Sequence[object]) -> None:
        self.asked: list[ChatRequest[Any]] = []
        self._says = {stage: list(replies) for stage, replies in says.items()}

    @property
    def stages(self) -> list[str]:
        """Stages asked so far."""
        return [request.stage for request in self.asked]

    async def complete(self, request: ChatRequest[Any]) -> ChatReply[Any]:
        """Reply as scripted, else by rule."""
        self.asked.append(request)
        scripted = self._says.get(request.stage)
        reply = scripted.pop(0) if scripted else self._by_rule(request)
        if isinstance(reply, BaseException):
            raise reply
        value = request.reply.model_validate(reply)
        return ChatReply(value=value, usage=Usage(calls=1, tokens_in=10, tokens_out=5, cost=0.01), model=self.name)

    def _by_rule(self, asked: ChatRequest[Any]) -> Mapping[str, Any]:
        listed = re.findall(r"^- (.+)$", asked.user.partition("<facts>")[2], re.MULTILINE)
        if asked.stage == "quest_queries":
            return {"queries": [request()]}
        if asked.stage == "quest_timeline":
            return GOOD
        if asked.stage == "quest_dialogue":
            said = [*listed, "Nice weather today", "Thanks"]
            turns = [(role, text) for text in said for role, text in (("user", text), ("assistant", "Noted"))]
            return {"turns": [{"role": role, "text": text} for role, text in turns]} if listed else _chat()
        if asked.stage == "extract":
            facts = re.findall(r"^\[\d+\] user: (.+)$", asked.user, re.MULTILINE)
            return {"facts": [{"info": info, "type": "Event", "cues": [f"when {info}"]} for info in facts]}
        if asked.stage == "quest_align":
            return {"fact": None}
        return {"queries": [{"query": QUERY, "references": [{"fact": n, "why": f"because {n}"} for n in (1, 2, 3)]}]}


def _chat() -> Mapping[str, Any]:
    return {"turns": [{"role": "user" if n % 2 == 0 else "assistant", "text": f"Rainy day {n}"} for n in range(5)]}


def unreadable() -> ModelError:
    """A reply that never parsed."""
    return ReplyError("the reply is no JSON", raw="{", usage=Usage(calls=1, failed_calls=1, cost=0.01))
