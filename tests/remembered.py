"""A memory and a model for tests of recall: small enough to work out by hand.

`WordMemory` is a `Retriever` over sentences: the similarity of a probe and a fact is the share of the probe's words
that the fact holds. `Script` is a `ChatModel` that gives prepared replies in order and keeps what it was asked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast
from zlib import crc32

import numpy as np
from pydantic import BaseModel

from prospection.errors import ModelError
from prospection.library.library import GoalLibrary
from prospection.protocols import ChatModel, ChatReply, ChatRequest, Progress, TextRole
from prospection.recall.events import Emit
from prospection.recall.run import Run
from prospection.types import Budget, Calibration, Fact, Hit, Probe, Usage, Vectors

NOW = datetime(2025, 7, 2, 9, 30, tzinfo=UTC)
CALIBRATION = Calibration(noise_mean=0.1, noise_sd=0.1, tau=0.3, tau_o=0.6)


class WordMemory:
    """Facts f1, f2, ... in the order given; keeps the batches it was asked for."""

    def __init__(self, *infos: str) -> None:
        self.facts = [Fact(fid=f"f{number}", info=info, said_at=NOW) for number, info in enumerate(infos, start=1)]
        self.batches: list[list[str]] = []

    async def retrieve(self, probes: Sequence[Probe], *, k: int, min_similarity: float = -1.0) -> list[list[Hit]]:
        self.batches.append([probe.text for probe in probes])
        return [self._hits(probe, k, min_similarity) for probe in probes]

    def _hits(self, probe: Probe, k: int, min_similarity: float) -> list[Hit]:
        words = _words(probe.text)
        hits = [Hit(fact=fact, similarity=len(words & _words(fact.info)) / len(words)) for fact in self.facts]
        near = [hit for hit in hits if hit.similarity >= min_similarity]
        return sorted(near, key=lambda hit: (-hit.similarity, hit.fact.fid))[:k]


class WordEmbedder:
    """Texts as bags of words, hashed to 64 dimensions: nearness that can be worked out by hand.

    The encoder of the tests; another one says what else it counts, by `counted`.
    """

    id = "words"
    dims = 64
    calibration = CALIBRATION

    async def embed(
        self, texts: Sequence[str], *, role: TextRole = "passage", progress: Progress | None = None
    ) -> Vectors:
        rows = np.zeros((len(texts), self.dims), np.float32)
        for row, text in zip(rows, texts, strict=True):
            np.add.at(row, [number % self.dims for number in self.counted(text)], 1.0)
        unit: Vectors = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
        return unit

    def counted(self, text: str) -> list[int]:
        """Return a number for each thing in the text that it counts."""
        return [crc32(word.encode()) for word in _words(text)]


class Script:
    """Replies by stage, in order; an error among them is raised."""

    name = "script"

    def __init__(self, **replies: Sequence[object]) -> None:
        self._replies = {stage: list(items) for stage, items in replies.items()}
        self.requests: list[ChatRequest[Any]] = []

    @property
    def stages(self) -> list[str]:
        return [request.stage for request in self.requests]

    async def complete(self, request: ChatRequest[Any]) -> ChatReply[Any]:
        self.requests.append(request)
        reply = self._replies[request.stage].pop(0)
        if isinstance(reply, ModelError):
            raise reply
        value = reply if request.reply is str else cast("type[BaseModel]", request.reply).model_validate(reply)
        return ChatReply(value=value, usage=Usage(calls=1, tokens_in=10, tokens_out=5), model=self.name)


def run_over(
    memory: WordMemory,
    model: ChatModel | None = None,
    *,
    query: str = "q",
    budget: Budget | None = None,
    emit: Emit | None = None,
) -> Run:
    """Return a run over the memory."""
    return Run(
        id="t1",
        user="ada",
        query=query,
        at=NOW,
        retriever=memory,
        embedder=WordEmbedder(),
        library=GoalLibrary(WordEmbedder()),
        model=model,
        budget=budget,
        emit=emit,
    )


def tree(**branches: Sequence[str]) -> Mapping[str, object]:
    """Return the reply of a simulation in the shape of a tree."""
    return {"branches": [{"theme": theme, "steps": list(steps)} for theme, steps in branches.items()]}


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text.lower()))
