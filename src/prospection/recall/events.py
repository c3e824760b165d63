"""What happens during a recall, as it happens: values for `recall_stream`, and for anybody who wants to show progress.

The last event is `Done` with the whole recall. What came before it is news, not the result: a fact that a probe found
need not be among those that are returned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from prospection.types import Probe, Recall, ScoredFact, Step

__all__ = ["Done", "Emit", "FactChosen", "FactFound", "ProbeSearched", "RecallEvent", "StepImagined"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepImagined:
    """A step of the future was imagined."""

    step: Step


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeSearched:
    """Memory was searched with a probe.

    Attributes:
        found: How many facts it brought.
    """

    probe: Probe
    found: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FactFound:
    """A fact came to light for the first time in this recall, among the nearest of a probe.

    Attributes:
        fact: Its score is the similarity, or the lexical relevance, that the probe found.
        probe: What found it.
    """

    fact: ScoredFact
    probe: Probe


@dataclass(frozen=True, slots=True, kw_only=True)
class FactChosen:
    """The model chose a fact, for the reason given with it."""

    fact: ScoredFact


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The recall is over."""

    recall: Recall


RecallEvent: TypeAlias = StepImagined | ProbeSearched | FactFound | FactChosen | Done

Emit: TypeAlias = Callable[[RecallEvent], None]
"""Takes an event at once; never waits and never fails."""
