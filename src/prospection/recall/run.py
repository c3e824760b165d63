"""One recall in progress: what a policy works with, and the record of what it did.

A policy asks three things of it: `retrieve` (search memory with the probes that `probe` makes), `ask` (a stage of a
language model) and `imagine` (steps to be remembered in the trace). Everything that passes through is recorded, and
told to whoever watches; `trace` turns the record into a value. A run never decides anything: that is the policy's part.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from prospection.errors import ConfigError, ModelError
from prospection.library.library import GoalLibrary
from prospection.prompts import load_prompt
from prospection.protocols import ChatModel, ChatReply, ChatRequest, Embedder, Retriever, StreamingChat, VectorSource
from prospection.recall.events import Emit, FactChosen, FactFound, ProbeSearched, StepImagined
from prospection.recall.reading import read_along
from prospection.serial import to_json
from prospection.types import (
    Budget,
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

__all__ = ["Partial", "Run", "Wanted"]

ReplyT = TypeVar("ReplyT", bound="BaseModel | str")

RECORDED_HITS = 100
"""Hits of one probe that a trace keeps."""

ANNOUNCED_HITS = 5
"""Hits of one probe that are news: a wide pool takes in most of a memory, which nobody wants to watch."""

Wanted = tuple[str, ProbeKind, Over, str | None]
"""A probe to be: text, kind, what it is compared with, and the step it comes from."""

Partial = Callable[[Mapping[str, Any]], Awaitable[None]]
"""Takes what can be read of a reply that is still being written."""


class Run:
    """One recall in progress.

    Attributes:
        at: The instant that the request is made at.
        calibration: What the encoder's cosines mean.
        library: The packaged goals, for policies that imagine with them.
        round: 0 in the first phase, then 1, 2, ...; stamped on everything recorded.
        augmented: The request as disambiguated by the augmentation.
        foreign: The memory is somebody else's. Then a short list of hits need not be all that it holds, its scores
            need not be cosines, and its vectors, if it has any, are another encoder's.
        budget: The ceilings that the model is held to by its meter, for policies that plan ahead.
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
        foreign: bool = False,
        budget: Budget | None = None,
        emit: Emit | None = None,
    ) -> None:
        self.at = at
        self.budget = budget or Budget()
        self.foreign = foreign
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
        self._emit = emit
        self._announced: set[str] = set()
        self._early: dict[Wanted, Probe] = {}
        self._brought: dict[tuple[str, int, float], list[Hit]] = {}

    @property
    def has_model(self) -> bool:
        """Whether `ask` can be answered at all."""
        return self._model is not None

    def probe(
        self, text: str, kind: ProbeKind, *, over: Over = "facts", step: str | None = None, weight: float = 1.0
    ) -> Probe:
        """Return a probe of this round with an id of its own, or the one that `search_early` already searched with."""
        if (early := self._early.pop((text, kind, over, step), None)) is not None:
            return early
        self._probes += 1
        return Probe(
            pid=f"p{self._probes - 1}", text=text, kind=kind, over=over, step=step, round=self.round, weight=weight
        )

    async def retrieve(self, probes: Sequence[Probe], *, k: int, min_similarity: float = -1.0) -> list[list[Hit]]:
        """Search memory with all probes at once; see `Retriever.retrieve`. What was searched early is ready."""
        missing = [probe for probe in probes if (probe.pid, k, min_similarity) not in self._brought]
        found = dict(zip(missing, await self._search(missing, k, min_similarity), strict=True)) if missing else {}
        lists = [
            found[probe] if probe in found else self._brought.pop((probe.pid, k, min_similarity)) for probe in probes
        ]
        for probe, hits in zip(probes, lists, strict=True):
            self.found(probe, hits, k=k, min_similarity=min_similarity)
        return lists

    async def search_early(self, wanted: Iterable[Wanted], *, k: int, min_similarity: float = -1.0) -> None:
        """Search with probes that a later `retrieve` will ask for, while the model is still writing.

        The policy later makes the same probes by `probe`, which hands out these, and finds their hits ready.

        Args:
            wanted: What the probes will be; those that were searched early before are passed over.
        """
        new = [key for key in dict.fromkeys(wanted) if key not in self._early]
        probes = [self.probe(text, kind, over=over, step=step) for text, kind, over, step in new]
        if not probes:
            return
        for probe, hits in zip(probes, await self._search(probes, k, min_similarity), strict=True):
            self._early[probe.text, probe.kind, probe.over, probe.step] = probe
            self._brought[probe.pid, k, min_similarity] = hits

    async def _search(self, probes: Sequence[Probe], k: int, min_similarity: float) -> list[list[Hit]]:
        if self.foreign and min_similarity > -1.0:
            lists = await self._retriever.retrieve(probes, k=k)
            lists = await self._near([probe.text for probe in probes], lists, min_similarity)
        else:
            lists = await self._retriever.retrieve(probes, k=k, min_similarity=min_similarity)
        for probe, hits in zip(probes, lists, strict=True):
            self._announce(probe, hits)
        return lists

    def exhausted(self, hits: Sequence[Hit], k: int) -> bool:
        """Return whether the answer to a probe without a threshold, asked for `k` hits, is all that memory holds."""
        return len(hits) < k and not self.foreign

    async def near(self, text: str, hits: Sequence[Hit], min_similarity: float) -> list[Hit]:
        """Return those of a text's hits whose cosine with it is at least so high, in order.

        Over a foreign memory, whose scores mean what only its owner knows, the cosine is this run's encoder's.
        """
        if self.foreign:
            return (await self._near([text], [hits], min_similarity))[0]
        return [hit for hit in hits if hit.similarity >= min_similarity]

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return (n, d) float32 unit rows of texts to search with."""
        return await self._embedder.embed(texts, role="query")

    async def vectors(self, facts: Sequence[Fact]) -> Vectors:
        """Return (n, d) float32 unit rows of facts: the memory's own where it shows them, else embedded anew."""
        if isinstance(self._retriever, VectorSource) and not self.foreign:
            return await self._retriever.vectors(facts)
        return await self._embedder.embed([fact.info for fact in facts])

    def found(self, probe: Probe, hits: Sequence[Hit], *, k: int | None = None, min_similarity: float = -1.0) -> None:
        """Record what a probe reached; of a long list the first `RECORDED_HITS`."""
        kept = hits[:RECORDED_HITS]
        reached = tuple((hit.fact.fid, hit.similarity, hit.cue) for hit in kept)
        self._searches.append(ProbeHits(probe=probe, hits=reached, k=k, min_similarity=min_similarity))
        self._facts.update((hit.fact.fid, hit.fact.info) for hit in kept)

    async def ask(
        self,
        stage: str,
        reply: type[ReplyT],
        inputs: Mapping[str, str],
        *,
        part: str | None = None,
        partial: Partial | None = None,
    ) -> ReplyT:
        """Put a stage's prompt to the language model and record what came of it.

        Args:
            part: Which of several calls of one stage this is, where they run side by side.
            partial: Called, while the recall is being watched and the model streams, with what has been written so
                far. It may search; the model goes on writing meanwhile.

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
            subject=f"{self._user}: {self._query}" + (f" ({part})" if part else ""),
            system=prompt.system,
            user=prompt.render(inputs),
            prompt=prompt.hash,
            reply=reply,
        )
        try:
            answer = await self._reply(self._model, request, partial)
        except ModelError as error:
            self._record(stage, self._model.name, prompt.hash, inputs, None, error.usage or Usage(), str(error))
            raise
        output = answer.value if isinstance(answer.value, str) else to_json(answer.value)
        self._record(stage, answer.model, prompt.hash, inputs, output, answer.usage, None)
        return answer.value

    async def _reply(
        self, model: ChatModel, request: ChatRequest[ReplyT], partial: Partial | None
    ) -> ChatReply[ReplyT]:
        if partial is None or self._emit is None or not isinstance(model, StreamingChat):
            return await model.complete(request)
        return await read_along(model, request, partial)

    def imagine(self, steps: Sequence[Step]) -> None:
        """Record imagined steps."""
        self._steps.extend(steps)
        self.tell_steps(steps)

    def tell_steps(self, steps: Sequence[Step]) -> None:
        """Tell those who watch about steps, each once."""
        for step in steps:
            if self._emit is not None and step.sid not in self._announced:
                self._announced.add(step.sid)
                self._emit(StepImagined(step=step))

    def tell_chosen(self, facts: Sequence[ScoredFact]) -> None:
        """Tell those who watch about chosen facts, each once."""
        for fact in facts:
            if self._emit is not None and f"chosen {fact.fid}" not in self._announced:
                self._announced.add(f"chosen {fact.fid}")
                self._emit(FactChosen(fact=fact))

    def _announce(self, probe: Probe, hits: Sequence[Hit]) -> None:
        if self._emit is None:
            return
        self._emit(ProbeSearched(probe=probe, found=len(hits)))
        for hit in hits[:ANNOUNCED_HITS]:
            new = f"found {hit.fact.fid}" not in self._announced
            # Over text there is no cosine, and over a foreign memory nobody knows what its scores mean.
            if new and (probe.over == "text" or self.foreign or hit.similarity >= self.calibration.tau):
                self._announced.add(f"found {hit.fact.fid}")
                self._emit(FactFound(fact=ScoredFact(fact=hit.fact, score=hit.similarity), probe=probe))

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

    async def _near(
        self, texts: Sequence[str], lists: Sequence[Sequence[Hit]], min_similarity: float
    ) -> list[list[Hit]]:
        infos = list(dict.fromkeys(hit.fact.info for hits in lists for hit in hits))
        if not infos:
            return [[] for _ in lists]
        rows = dict(zip(infos, await self._embedder.embed(infos), strict=True))
        return [
            [hit for hit in hits if float(rows[hit.fact.info] @ row) >= min_similarity]
            for row, hits in zip(await self.embed(texts), lists, strict=True)
        ]

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
