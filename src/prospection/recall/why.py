"""Why a recall returned a fact, or did not.

Pure: a trace, the fact, and a search without limits go in; a verdict comes out. Verdicts follow the path of a recall:
was the fact in memory then, did a probe reach it, was it shown to the model, did the model choose it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from prospection.types import Fact, Reach, Trace

__all__ = ["Verdict", "Why", "why"]

Verdict = Literal[
    "returned", "unknown", "replaced", "not yet known", "not selected", "fell behind", "below threshold", "beyond k",
    "never reached",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """The verdict on one fact of one recall.

    Attributes:
        sentence: The verdict in words, with its figures.
        place: Among what was returned, from 1; None when it was not.
        ways: How the fact was reached, best first; () when it was not.
        nearest: Where it came nearest to being reached, when it was not.
    """

    fid: str
    info: str | None
    verdict: Verdict
    sentence: str
    ways: tuple[Reach, ...]
    nearest: Reach | None = None
    place: int | None = None


def why(trace: Trace, fid: str, *, fact: Fact | None, unlimited: Sequence[Reach]) -> Why:
    """Say why the fact is or is not among what was returned.

    Args:
        fact: As memory holds it now, current or not; None when it does not.
        unlimited: How the recall's probes reach the fact when neither K nor the threshold holds.
    """
    ways = trace.explain(fid)
    info = fact.info if fact is not None else trace.facts.get(fid)
    place = next((place for place, (found, _) in enumerate(trace.returned, start=1) if found == fid), None)
    if place is not None:
        found = f"{_way(ways[0])}" if ways else "No probe reached it: it is pinned, or was found by other means."
        sentence = f"Returned at place {place} of {len(trace.returned)}. {found}"
        return Why(fid=fid, info=info, verdict="returned", sentence=sentence, ways=ways, place=place)
    if fact is None:
        sentence = "Memory holds no such fact: it was erased, or never there."
        return Why(fid=fid, info=info, verdict="unknown", sentence=sentence, ways=ways)
    if (outside := _outside(fact, trace.at)) is not None:
        return Why(fid=fid, info=info, verdict=outside[0], sentence=outside[1], ways=ways)
    shown = [
        record.round
        for record in trace.stages
        if record.stage == "select" and f"[{fid}] " in record.inputs.get("pool", "")
    ]
    if shown:
        rounds = ", ".join(str(round_) for round_ in dict.fromkeys(shown))
        sentence = f"Shown to the model in round {rounds} and not selected. {_way(ways[0]) if ways else ''}".strip()
        return Why(fid=fid, info=info, verdict="not selected", sentence=sentence, ways=ways)
    if ways:
        sentence = f"{_way(ways[0])} It fell behind the {len(trace.returned)} facts that were returned."
        return Why(fid=fid, info=info, verdict="fell behind", sentence=sentence, ways=ways)
    return _missed(trace, fid, info, unlimited)


def _missed(trace: Trace, fid: str, info: str | None, unlimited: Sequence[Reach]) -> Why:
    """Say by how much no probe reached the fact."""
    if not unlimited:
        sentence = f"None of {len(trace.searches)} probes has anything in common with it."
        return Why(fid=fid, info=info, verdict="never reached", sentence=sentence, ways=())
    searches = {item.probe.pid: item for item in trace.searches}

    def below(reach: Reach) -> bool:
        return reach.probe.over != "text" and reach.similarity < searches[reach.probe.pid].min_similarity

    # The probe that came closest to bringing it: by rank among those whose threshold it passes, else by similarity.
    nearest = min(unlimited, key=lambda reach: (1, -reach.similarity) if below(reach) else (0, reach.rank))
    search = searches[nearest.probe.pid]
    near = f"{_way(nearest)} "
    verdict: Verdict
    if below(nearest):
        verdict, told = "below threshold", f"That is below the threshold of {search.min_similarity:.2f}."
    elif search.k is not None and nearest.rank > search.k:
        verdict, told = "beyond k", f"Each probe brought only the first {search.k}."
    else:
        verdict, told = "fell behind", f"It fell behind the {len(trace.returned)} facts that were returned."
    return Why(fid=fid, info=info, verdict=verdict, sentence=near + told, ways=(), nearest=nearest)


def _outside(fact: Fact, at: datetime) -> tuple[Verdict, str] | None:
    if fact.valid_from is not None and at < fact.valid_from:
        return "not yet known", f"It became part of memory on {fact.valid_from:%Y-%m-%d %H:%M}, after the request."
    if fact.valid_until is not None and fact.valid_until <= at:
        by = f" by {fact.superseded_by}" if fact.superseded_by else ""
        return "replaced", f"It was replaced or ended{by} on {fact.valid_until:%Y-%m-%d %H:%M}, before the request."
    return None


def _way(reach: Reach) -> str:
    kind = "request" if reach.probe.kind == "query" else reach.probe.kind.replace("_", " ")
    through = f", through the cue {reach.cue!r}" if reach.cue else ""
    score = f"relevance {reach.similarity:.2f}" if reach.probe.over == "text" else f"similarity {reach.similarity:.2f}"
    return f"It comes nearest to the {kind} {reach.probe.text!r}: place {reach.rank}, {score}{through}."
