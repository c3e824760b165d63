"""Searching: imagined steps, probes, and what they reach."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from prospection.types.facts import Fact, FactType, Vectors

__all__ = ["Calibration", "Hit", "Over", "Probe", "ProbeKind", "ScoredFact", "SearchFilter", "SearchProbe", "Step"]

Over = Literal["facts", "cues", "text"]
"""What a probe is compared with: the vectors of facts, the vectors of their future cues, or their words (lexical)."""

ProbeKind = Literal["query", "step", "imagined_fact", "rewrite", "feedback"]
"""Where a probe comes from. "feedback" is a fact that was found first and is searched on with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One imagined step of the future of a request.

    Attributes:
        sid: "s0.1": round and place.
        theme: The branch of the tree it belongs to; None in a chain.
        needs: Facts about the person that this step would want to know, as imagined.
    """

    sid: str
    text: str
    round: int = 0
    theme: str | None = None
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A text with which memory is searched.

    Attributes:
        pid: "p0", "p1", ... within one recall.
        over: What it is compared with.
        step: Id of the step it came from.
        weight: Scale of its hits in fusion.
    """

    pid: str
    text: str
    kind: ProbeKind
    over: Over = "facts"
    step: str | None = None
    round: int = 0
    weight: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchProbe:
    """A probe as a store sees it: a (d,) float32 unit vector for facts and cues, the words for text."""

    over: Over
    text: str
    vector: Vectors | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFilter:
    """Which facts may be found. Filters act before the limit.

    Attributes:
        at: Memory as of this instant: facts valid then. None: the facts current now.
        types: Only these kinds; None for all.
        said_from: Only facts last said at this instant or later.
        said_until: Only facts last said before this instant.
        exclude: Ids that may not be found.
    """

    at: datetime | None = None
    types: frozenset[FactType] | None = None
    said_from: datetime | None = None
    said_until: datetime | None = None
    exclude: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A fact that a probe reached.

    Attributes:
        similarity: Cosine in [-1, 1] over facts and cues; over text a positive relevance (BM25), only comparable
            within one list.
        cue: The cue through which it was reached.
    """

    fact: Fact
    similarity: float
    cue: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredFact:
    """A fact that a recall returned.

    Attributes:
        score: Falls along the list; what it measures is the policy's to say.
        reason: What follows from the fact for the request, where a model selected it.
    """

    fact: Fact
    score: float
    reason: str | None = None

    @property
    def fid(self) -> str:
        """Id of the fact."""
        return self.fact.fid

    @property
    def info(self) -> str:
        """The statement."""
        return self.fact.info


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What cosines mean under one encoder.

    Unrelated texts have cosines of about `noise_mean` with a standard deviation of `noise_sd`.

    Attributes:
        tau: Similarity from which a hit counts (published: 0.3 under text-embedding-3-small).
        tau_o: Similarity of near certainty, for the augmentation of the query (published: 0.6).
        lexical_weight: Standard deviations of cosine that the best lexical match is worth when both are fused. Less
            for strong encoders, whose ready facts lexical search can only disturb.
    """

    noise_mean: float
    noise_sd: float
    tau: float
    tau_o: float
    lexical_weight: float = 3.0
