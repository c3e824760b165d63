"""One recall in progress: what a policy works with, and the record of what it did.

A policy asks three things of it: `retrieve` (search memory with probes), `ask` (a stage of a language model) and
`imagine` (steps to be remembered in the trace). Everything that passes through is recorded; `trace` turns the record
into a value. A run never decides anything: that is the policy's part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from prospection.errors import ConfigError, ModelError
from prospection.library.library import GoalLibrary
from prospection.prompts import load_prompt
from prospection.protocols import ChatModel, ChatRequest, Embedder, Retriever, VectorSource
from prospection.serial import to_json
from prospection.types import (
    Fact,
    Hit,
    Over,
    Probe,
    ProbeHits,
    ProbeKind,
    ScoredFact,
    StageRecord,
    Step,
    Trace,
    Usage,
    Vectors,
)

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["Run"]

ReplyT = TypeVar("ReplyT", bound="BaseModel | str")

RECORDED_HITS = 100
"""Hits of one probe that a trace keeps."""


class Run:
    """One recall in progress.

    Attributes:
        at: The instant that the request is made at.
        calibration: What the encoder's cosines mean.
        library: The packaged goals, for policies that imagine with them.
        round: 0 in the first phase, then 1, 2, ...; stamped on everything recorded.
        augmented: The request as disambiguated by the augmentation.
    """

    def __init__(
        self,
        *,
        id: str,  # noqa: A002 - the field's name in Trace
        user: str,
        query: str,
        at: datetime,
        retriever: Retriever,
        embedder: Embedder,
        library: GoalLibrary,
        model: ChatModel | None = None,
    ) -> None:
        self.at = at
        self.calibration = embedder.calibration
        self.library = library
        self.round = 0
        self.augmented: str | None = None
        self.usage = Usage()
        self._id, self._user, self._query, self._embedder = id, user, query, embedder
        self._retriever = retriever
        self._model = model
        self._started = monotonic()
        self._probes = 0
        self._steps: list[Step] = []
        self._searches: list[ProbeHits] = []
        self._stages: list[StageRecord] = []
        self._facts: dict[str, str] = {}
        self._notes: list[str] = []

    def probe(
        self, text: str, kind: ProbeKind, *, over: Over = "facts", step: str | None = None, weight: float = 1.0
    ) -> Probe:
        """Return a probe of this round with an id of its own."""
        self._probes += 1
        return Probe(
            pid=f"p{self._probes - 1}", text=text, kind=kind, over=over, step=step, round=self.round, weight=weight
        )

    async def retrieve(self, probes: Sequence[Probe], *, k: int, min_similarity: float = -1.0) -> list[list[Hit]]:
        """Search memory with all probes at once; see `Retriever.retrieve`."""
        lists = await self._retriever.retrieve(probes, k=k, min_similarity=min_similarity)
        for probe, hits in zip(probes, lists, strict=True):
            self.found(probe, hits)
        return lists

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return (n, d) float32 unit rows of texts to search with."""
        return await self._embedder.embed(texts, role="query")

    async def vectors(self, facts: Sequence[Fact]) -> Vectors:
        """Return (n, d) float32 unit rows of facts: the memory's own where it shows them, else embedded anew."""
        if isinstance(self._retriever, VectorSource):
            return await self._retriever.vectors(facts)
        return await self._embedder.embed([fact.info for fact in facts])

    def found(self, probe: Probe, hits: Sequence[Hit]) -> None:
        """Record what a probe reached; of a long list the first `RECORDED_HITS`."""
        kept = hits[:RECORDED_HITS]
        self._searches.append(
            ProbeHits(probe=probe, hits=tuple((hit.fact.fid, hit.similarity, hit.cue) for hit in kept))
        )
        self._facts.update((hit.fact.fid, hit.fact.info) for hit in kept)

    async def ask(self, stage: str, reply: type[ReplyT], inputs: Mapping[str, str]) -> ReplyT:
        """Put a stage's prompt to the language model and record what came of it.

        Raises:
            ConfigError: There is no language model.
            ModelError: No usable reply came; the failed call is recorded and counted all the same.
        """
        if self._model is None:
            raise ConfigError(
                f"stage {stage!r} needs a language model; name one, for example model='openai:gpt-4o', "
                "or use a policy that needs none: 'library', 'hybrid' or 'direct'"
            )
        prompt = load_prompt(stage)
        request = ChatRequest(
            stage=stage,
            subject=f"{self._user}: {self._query}",
            system=prompt.system,
            user=prompt.render(inputs),
            prompt=prompt.hash,
            reply=reply,
        )
        try:
            answer = await self._model.complete(request)
        except ModelError as error:
            self._record(stage, self._model.name, prompt.hash, inputs, None, error.usage or Usage(), str(error))
            raise
        output = answer.value if isinstance(answer.value, str) else to_json(answer.value)
        self._record(stage, answer.model, prompt.hash, inputs, output, answer.usage, None)
        return answer.value

    def imagine(self, steps: Sequence[Step]) -> None:
        """Record imagined steps."""
        self._steps.extend(steps)

    def note(self, sentence: str) -> None:
        """Record what a reader of the trace should know."""
        if sentence not in self._notes:
            self._notes.append(sentence)

    def trace(
        self,
        *,
        policy: str,
        parameters: Mapping[str, Any],
        returned: Sequence[ScoredFact],
        summary: str | None,
    ) -> Trace:
        """Return the record as a value."""
        self._facts.update((item.fid, item.info) for item in returned)
        return Trace(
            id=self._id,
            user=self._user,
            query=self._query,
            policy=policy,
            at=self.at,
            encoder=self._embedder.id,
            parameters=parameters,
            augmented=self.augmented,
            steps=tuple(self._steps),
            searches=tuple(self._searches),
            stages=tuple(self._stages),
            facts=dict(self._facts),
            returned=tuple((item.fid, item.score) for item in returned),
            summary=summary,
            notes=tuple(self._notes),
            usage=self.usage,
            seconds=monotonic() - self._started,
        )

    def _record(
        self,
        stage: str,
        model: str,
        prompt: str,
        inputs: Mapping[str, str],
        output: Any,  # noqa: ANN401 - JSON data
        usage: Usage,
        error: str | None,
    ) -> None:
        self.usage += usage
        self._stages.append(
            StageRecord(
                stage=stage,
                round=self.round,
                model=model,
                prompt=prompt,
                inputs=dict(inputs),
                output=output,
                usage=usage,
                error=error,
            )
        )
