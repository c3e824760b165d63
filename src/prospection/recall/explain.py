"""A trace read backwards: the tree of steps with what each one found. Pure: traces in, values out.

How a single fact was reached is `Trace.explain`; why one was not returned is `prospection.recall.why`.
"""

from __future__ import annotations

from dataclasses import dataclass

from prospection.types import Reach, Step, Trace

__all__ = ["StepFinds", "finds_by_step"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepFinds:
    """A step and the returned facts that it reached better than any other step did, best first."""

    step: Step | None
    finds: tuple[Reach, ...]


def finds_by_step(trace: Trace) -> tuple[StepFinds, ...]:
    """Return every imagined step in order with the returned facts that are its own, and last what only the query found.

    A fact belongs to the step that reached it at the best rank; where the query itself did as well or better, still
    to the step, since the question is what thinking ahead reaches.
    """
    own: dict[str | None, list[Reach]] = {}
    for fid, _ in trace.returned:
        ways = trace.explain(fid)
        through_steps = [way for way in ways if way.step is not None]
        if ways:
            best = (through_steps or list(ways))[0]
            own.setdefault(best.step.sid if best.step else None, []).append(best)
    found = [StepFinds(step=step, finds=tuple(own.get(step.sid, ()))) for step in trace.steps]
    if None in own:
        found.append(StepFinds(step=None, finds=tuple(own[None])))
    return tuple(found)
