"""The record of one recall: in goes all that happened, in its order; out comes the `Trace`. Decides nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from time import monotonic
from typing import Any

from prospection.types import Hit, Probe, ProbeHits, ScoredFact, StageRecord, Step, Trace, Usage

__all__ = ["Record"]

RECORDED_HITS = 100
"""Hits of one probe that a trace keeps."""


class Record:
    """What one recall did so far. The seconds of the trace are counted from when the record is begun.

    Attributes:
        usage: What all stages so far have cost.
    """

    def __init__(self, *, id: str, user: str, query: str, at: datetime, encoder: str) -> None:  # noqa: A002
        self.usage = Usage()
        self._id, self._user, self._query, self._at, self._encoder = id, user, query, at, encoder
        self._began = monotonic()
        self._steps: list[Step] = []
        self._searches: list[ProbeHits] = []
        self._stages: list[StageRecord] = []
        self._facts: dict[str, str] = {}
        self._notes: list[str] = []

    def imagined(self, steps: Sequence[Step]) -> None:
        """Keep imagined steps."""
        self._steps.extend(steps)

    def found(self, probe: Probe, hits: Sequence[Hit], *, k: int | None, min_similarity: float) -> None:
        """Keep what a probe reached; of a long list the first `RECORDED_HITS`."""
        kept = hits[:RECORDED_HITS]
        reached = tuple((hit.fact.fid, hit.similarity, hit.cue) for hit in kept)
        self._searches.append(ProbeHits(probe=probe, hits=reached, k=k, min_similarity=min_similarity))
        self._facts.update((hit.fact.fid, hit.fact.info) for hit in kept)

    def asked(self, stage: StageRecord) -> None:
        """Keep a call to the model, a failed one too, and count what it cost."""
        self.usage += stage.usage
        self._stages.append(stage)

    def note(self, sentence: str) -> None:
        """Keep what a reader of the trace should know, once."""
        if sentence not in self._notes:
            self._notes.append(sentence)

    def trace(
        self,
        *,
        policy: str,
        parameters: Mapping[str, Any],
        augmented: str | None,
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
            at=self._at,
            encoder=self._encoder,
            parameters=parameters,
            augmented=augmented,
            steps=tuple(self._steps),
            searches=tuple(self._searches),
            stages=tuple(self._stages),
            facts=dict(self._facts),
            returned=tuple((item.fid, item.score) for item in returned),
            summary=summary,
            notes=tuple(self._notes),
            usage=self.usage,
            seconds=monotonic() - self._began,
        )
