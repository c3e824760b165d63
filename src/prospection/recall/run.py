"""One recall in progress: what a policy works with.

A policy asks three things of it: `retrieve` (search memory with the probes that `probe` makes), `ask` (a stage of a
language model) and `imagine` (steps to be remembered in the trace). `Searching` and `Asking` do the work; all that
passes through is kept by a `Record`, which becomes the trace, and told by a `Telling` to whoever watches. A run never
decides anything: that is the policy's part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from prospection.library.library import GoalLibrary
from prospection.protocols import ChatModel, Embedder, ReplyT, Retriever
from prospection.recall.asking import Asking, Partial
from prospection.recall.events import Emit
from prospection.recall.record import Record
from prospection.recall.searching import Searching, Wanted
from prospection.recall.telling import Telling
from prospection.types import Budget, Fact, Hit, Over, Probe, ProbeKind, ScoredFact, Step, Trace, Usage, Vectors

__all__ = ["Run"]


class Run:
    """One recall in progress.

    Attributes:
        at: The instant that the request is made at.
        calibration: What the encoder's cosines mean.
        library: The packaged goals, for policies that imagine with them.
        has_model: Whether `ask` can be answered at all.
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
        self.has_model = model is not None
        self._record = Record(id=id, user=user, query=query, at=at, encoder=embedder.id)
        self._telling = Telling(emit, tau=None if foreign else embedder.calibration.tau)
        self._asking = Asking(model, subject=f"{user}: {query}", watched=self._telling.watched, record=self._record)
        self._searching = Searching(retriever, embedder, foreign=foreign, tell=self._telling.searched)

    @property
    def usage(self) -> Usage:
        """What all stages so far have cost."""
        return self._record.usage

    def probe(
        self, text: str, kind: ProbeKind, *, over: Over = "facts", step: str | None = None, weight: float = 1.0
    ) -> Probe:
        """Return a probe of this round with an id of its own, or the one that `search_early` already searched with."""
        return self._searching.probe((text, kind, over, step), round_=self.round, weight=weight)

    async def retrieve(self, probes: Sequence[Probe], *, k: int, min_similarity: float = -1.0) -> list[list[Hit]]:
        """Search memory with all probes at once; see `Retriever.retrieve`. What was searched early is ready."""
        lists = await self._searching.retrieve(probes, k=k, min_similarity=min_similarity)
        for probe, hits in zip(probes, lists, strict=True):
            self.found(probe, hits, k=k, min_similarity=min_similarity)
        return lists

    async def search_early(self, wanted: Iterable[Wanted], *, k: int, min_similarity: float = -1.0) -> None:
        """Search with probes that a later `retrieve` will ask for, while the model is still writing.

        The policy later makes the same probes by `probe`, which hands out these, and finds their hits ready.

        Args:
            wanted: What the probes will be; those that were searched early before are passed over.
        """
        await self._searching.ahead(wanted, round_=self.round, k=k, min_similarity=min_similarity)

    def exhausted(self, hits: Sequence[Hit], k: int) -> bool:
        """Return whether the answer to a probe without a threshold, asked for `k` hits, is all that memory holds."""
        return len(hits) < k and not self.foreign

    async def near(self, text: str, hits: Sequence[Hit], min_similarity: float) -> list[Hit]:
        """Return those of a text's hits whose cosine with it is at least so high, in order.

        Over a foreign memory, whose scores mean what only its owner knows, the cosine is this run's encoder's.
        """
        return await self._searching.near(text, hits, min_similarity)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return (n, d) float32 unit rows of texts to search with."""
        return await self._searching.embed(texts)

    async def vectors(self, facts: Sequence[Fact]) -> Vectors:
        """Return (n, d) float32 unit rows of facts: the memory's own where it shows them, else embedded anew."""
        return await self._searching.vectors(facts)

    def found(self, probe: Probe, hits: Sequence[Hit], *, k: int | None = None, min_similarity: float = -1.0) -> None:
        """Record what a probe reached."""
        self._record.found(probe, hits, k=k, min_similarity=min_similarity)

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
        return await self._asking.ask(stage, reply, inputs, round_=self.round, part=part, partial=partial)

    def imagine(self, steps: Sequence[Step]) -> None:
        """Record imagined steps."""
        self._record.imagined(steps)
        self._telling.imagined(steps)

    def tell_steps(self, steps: Sequence[Step]) -> None:
        """Tell those who watch about steps, each once."""
        self._telling.imagined(steps)

    def tell_chosen(self, facts: Sequence[ScoredFact]) -> None:
        """Tell those who watch about chosen facts, each once."""
        self._telling.chosen(facts)

    def note(self, sentence: str) -> None:
        """Record what a reader of the trace should know."""
        self._record.note(sentence)

    def trace(
        self,
        *,
        policy: str,
        parameters: Mapping[str, Any],
        returned: Sequence[ScoredFact],
        summary: str | None,
    ) -> Trace:
        """Return the record as a value."""
        return self._record.trace(
            policy=policy, parameters=parameters, augmented=self.augmented, returned=returned, summary=summary
        )
