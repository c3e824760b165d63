"""What tests of operators' work share: a model without latency, sessions for it, and a second encoder.

`Parrot` is a `ChatModel` that takes every user message for one fact and has no opinion on anything else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from zlib import crc32

import anyio
from pydantic import BaseModel

from prospection.errors import ModelError
from prospection.protocols import ChatReply, ChatRequest, FactStore, Progress, TextRole
from prospection.types import Calibration, Message, Session, Usage, Vectors
from remembered import WordEmbedder

__all__ = ["AT", "COST", "NOW", "Clock", "LetterEmbedder", "Parrot", "session", "state_of"]

AT = datetime(2025, 3, 5, 12, tzinfo=UTC)
NOW = datetime(2025, 3, 5, 13, tzinfo=UTC)
COST = Usage(calls=1, tokens_in=100, tokens_out=10, cost=0.25)
_SPOKEN = re.compile(r"^\[(\d+)\] user: (.+)$", re.MULTILINE)


class Parrot:
    """Answers at once; keeps what it was asked. `fails` may give an error to raise in place of an answer."""

    name = "parrot"

    def __init__(self, *, fails: Callable[[ChatRequest[Any]], ModelError | None] = lambda _: None) -> None:
        self.requests: list[ChatRequest[Any]] = []
        self._fails = fails

    async def complete(self, request: ChatRequest[Any]) -> ChatReply[Any]:
        self.requests.append(request)
        if (error := self._fails(request)) is not None:
            raise error
        facts = [
            {
                "info": text,
                "type": "Event",
                "message": int(place),
                "quote": text,
                "cues": [f"when {crc32(text.encode()):x} comes"],
            }
            for place, text in _SPOKEN.findall(request.user)
        ]
        reply: dict[str, object] = {"facts": facts} if request.stage == "extract" else {"proposals": []}
        value = cast("type[BaseModel]", request.reply).model_validate(reply)
        return ChatReply(value=value, usage=COST, model=self.name)


class LetterEmbedder(WordEmbedder):
    """Another encoder: texts as bags of letters, in 16 dimensions. It takes its time, as one elsewhere does."""

    id = "letters"
    dims = 16
    calibration = Calibration(noise_mean=0.5, noise_sd=0.1, tau=0.6, tau_o=0.9)

    async def embed(
        self, texts: Sequence[str], *, role: TextRole = "passage", progress: Progress | None = None
    ) -> Vectors:
        await anyio.sleep(0.005)
        return await super().embed(texts, role=role, progress=progress)

    def counted(self, text: str) -> list[int]:
        return [ord(letter) for letter in text]


class Clock:
    """A clock that the test moves."""

    def __init__(self, now: datetime = NOW) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def move(self, **span: float) -> None:
        self.now += timedelta(**span)


def session(name: str, *texts: str, at: datetime = AT) -> Session:
    return Session(id=name, at=at, messages=tuple(Message(role="user", content=text) for text in texts))


async def state_of(store: FactStore, users: Sequence[str]) -> object:
    """All that must not depend on how often the work was interrupted."""
    state = []
    for user in users:
        records = await store.sessions(user, limit=10_000)
        facts = await store.facts(user, history=True, limit=10_000)
        state.append((user, [(r.session.id, r.state, r.extracted) for r in records], facts))
    return state
