"""From a fact back to the step that reached it."""

from __future__ import annotations

from prospection.recall.explain import finds_by_step
from prospection.types import Probe, ProbeHits, Step, Trace
from remembered import NOW

CARE = Step(sid="s0.1", text="find a carer", theme="family")
PAPERS = Step(sid="s0.2", text="check papers", theme="papers")
TRACE = Trace(
    id="t",
    user="ada",
    query="italy",
    policy="pgr",
    at=NOW,
    encoder="e",
    steps=(CARE, PAPERS),
    searches=(
        ProbeHits(probe=Probe(pid="p0", text="italy", kind="query"), hits=(("f1", 0.9, None), ("f4", 0.4, None))),
        ProbeHits(
            probe=Probe(pid="p1", text=CARE.text, kind="step", step="s0.1"),
            hits=(("f2", 0.5, None), ("f1", 0.4, "a cue")),
        ),
        ProbeHits(probe=Probe(pid="p2", text=PAPERS.text, kind="step", step="s0.2"), hits=(("f1", 0.6, None),)),
    ),
    returned=(("f1", 1.0), ("f2", 1.0), ("f4", 0.5)),
)


def test_a_fact_is_explained_by_all_ways_to_it_best_first() -> None:
    ways = TRACE.explain("f1")
    assert [(way.probe.pid, way.rank, way.similarity) for way in ways] == [
        ("p0", 1, 0.9),
        ("p2", 1, 0.6),
        ("p1", 2, 0.4),
    ]
    assert [way.step for way in ways] == [None, PAPERS, CARE]
    assert ways[2].cue == "a cue"


def test_a_fact_that_nothing_reached_has_no_explanation() -> None:
    assert TRACE.explain("f9") == ()


def test_every_step_shows_what_it_found_and_the_query_what_it_found_alone() -> None:
    found = [
        (item.step.sid if item.step else None, [reach.fid for reach in item.finds]) for item in finds_by_step(TRACE)
    ]
    assert found == [("s0.1", ["f2"]), ("s0.2", ["f1"]), (None, ["f4"])]
