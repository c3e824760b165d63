"""A trace read backwards: for a fact, how it was reached; for a recall, the tree of steps with what each one found.

Pure: traces in, values out.
"""

from __future__ import annotations

from dataclasses import dataclass

from prospection.types import Probe, Step, Trace

__all__ = ["Reach", "StepFinds", "explain", "finds_by_step"]


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
class StepFinds:
    """A step and the returned facts that it reached better than any other step did, best first."""

    step: Step | None
    finds: tuple[Reach, ...]


def explain(trace: Trace, fid: str) -> tuple[Reach, ...]:
    """Return every way in which a fact was reached, best rank first, then highest similarity; () if it never was."""
    steps = {step.sid: step for step in trace.steps}
    reached = [
        Reach(
            fid=fid, probe=item.probe, rank=rank, similarity=similarity, cue=cue, step=steps.get(item.probe.step or "")
        )
        for item in trace.searches
        for rank, (found, similarity, cue) in enumerate(item.hits, start=1)
        if found == fid
    ]
    return tuple(sorted(reached, key=lambda reach: (reach.rank, -reach.similarity)))


def finds_by_step(trace: Trace) -> tuple[StepFinds, ...]:
    """Return every imagined step in order with the returned facts that are its own, and last what only the query found.

    A fact belongs to the step that reached it at the best rank; where the query itself did as well or better, still
    to the step, since the question is what thinking ahead reaches.
    """
    own: dict[str | None, list[Reach]] = {}
    for fid, _ in trace.returned:
        ways = explain(trace, fid)
        through_steps = [way for way in ways if way.step is not None]
        if ways:
            best = (through_steps or list(ways))[0]
            own.setdefault(best.step.sid if best.step else None, []).append(best)
    found = [StepFinds(step=step, finds=tuple(own.get(step.sid, ()))) for step in trace.steps]
    if None in own:
        found.append(StepFinds(step=None, finds=tuple(own[None])))
    return tuple(found)
