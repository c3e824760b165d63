"""What a recall brings, and the story of how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from prospection.types.searching import Probe, ScoredFact, Step
from prospection.types.usage import Usage

__all__ = ["Answer", "ProbeHits", "Reach", "Recall", "StageRecord", "Trace"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeHits:
    """A probe and what it reached, best first, as (fact id, similarity, cue or None).

    Attributes:
        k: How many hits the probe was allowed; None where the trace does not say.
        min_similarity: Below which cosine a hit did not count.
    """

    probe: Probe
    hits: tuple[tuple[str, float, str | None], ...]
    k: int | None = None
    min_similarity: float = -1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """One way in which a fact was reached: fact <- (cue <-) probe <- step <- round.

    Attributes:
        rank: Place in the probe's list, from 1.
        step: The step the probe came from; None for the query itself.
    """

    fid: str
    probe: Probe
    rank: int
    similarity: float
    cue: str | None
    step: Step | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRecord:
    """One call to a language model: what went in, what came out, what it cost.

    Attributes:
        prompt: SHA-256 of the prompt file, first 12 hex digits.
        output: The parsed reply as JSON data; None when the call failed.
        error: Why it failed.
    """

    stage: str
    round: int
    model: str
    prompt: str
    inputs: Mapping[str, str]
    output: Any
    usage: Usage
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The whole story of one recall, as data: it can be stored, shown, and replayed without a model.

    Attributes:
        parameters: The policy's parameters as they were in force.
        steps: Imagined steps in the order of rounds.
        searches: Every probe with its hits, in the order of rounds.
        stages: Every call to a model.
        facts: Text of every fact that was reached, by id.
        returned: Ids and scores of the facts returned, in order.
        notes: What a reader should know, in sentences: a ceiling that was hit, a phase that could not run,
            a trace that the store could not keep.
        shadow: What a second policy did beside this one, for comparison; nothing of it was served.
    """

    id: str
    user: str
    query: str
    policy: str
    at: datetime
    encoder: str | None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    augmented: str | None = None
    steps: tuple[Step, ...] = ()
    searches: tuple[ProbeHits, ...] = ()
    stages: tuple[StageRecord, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    returned: tuple[tuple[str, float], ...] = ()
    summary: str | None = None
    notes: tuple[str, ...] = ()
    usage: Usage = Usage()
    seconds: float = 0.0
    shadow: Trace | None = None

    def explain(self, fid: str) -> tuple[Reach, ...]:
        """Return every way in which a fact was reached, best rank first, then highest similarity; () for none."""
        steps = {step.sid: step for step in self.steps}
        reached = [
            Reach(
                fid=fid,
                probe=item.probe,
                rank=rank,
                similarity=similarity,
                cue=cue,
                step=steps.get(item.probe.step or ""),
            )
            for item in self.searches
            for rank, (found, similarity, cue) in enumerate(item.hits, start=1)
            if found == fid
        ]
        return tuple(sorted(reached, key=lambda reach: (reach.rank, -reach.similarity)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """What memory has to say about a request.

    Attributes:
        facts: Best first, without duplicates.
        summary: What the imagined future asks of the answer; None where no model wrote one.
        context: Facts and summary as the text to put before an assistant, marked as data.
        partial: Why this is not the whole result (a ceiling, a failing model); None when it is.
    """

    query: str
    facts: tuple[ScoredFact, ...]
    summary: str | None
    context: str
    trace: Trace
    usage: Usage
    partial: str | None = None

    def explain(self, fid: str) -> tuple[Reach, ...]:
        """Return every way in which a fact was reached, best first; see `Trace.explain`."""
        return self.trace.explain(fid)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer and the memories it stands on.

    Attributes:
        citations: Ids of the facts the text cites, in the order of first mention; only facts that were recalled.
        usage: Of the recall and the answer together.
    """

    text: str
    citations: tuple[str, ...]
    recall: Recall
    usage: Usage
