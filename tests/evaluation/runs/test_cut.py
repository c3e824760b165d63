"""Cutting memories of a data set."""

from __future__ import annotations

from datetime import UTC, datetime

from prospection.evaluation.cases import Dataset, EvalFact, EvalQuery, EvalUser
from prospection.evaluation.runs.cut import smaller_memories

AT = datetime(2025, 1, 1, tzinfo=UTC)


def dataset(needed: tuple[str, ...], facts: int = 10) -> Dataset:
    memory = tuple(EvalFact(id=f"f{n}", text=f"Fact {n}.", session="s", at=AT) for n in range(facts))
    references = tuple(frozenset({name}) for name in needed)
    query = EvalQuery(id="q", user="ada", text="?", at=AT, references=references)
    return Dataset(name="cut", users=(EvalUser(id="ada", facts=memory),), queries=(query,))


def kept(cut: Dataset) -> list[str]:
    return [fact.id for fact in cut.users[0].facts]


def test_needed_facts_stay_and_others_are_spread_evenly() -> None:
    cut = smaller_memories(dataset(("f1", "f9")), 6)
    # Eight others and room for four: every second of them.
    assert kept(cut) == ["f0", "f1", "f3", "f5", "f7", "f9"]
    assert cut.notes == ("Memories are cut to 6 facts: those that are needed, and others evenly spread.",)


def test_what_is_needed_stays_however_small_the_memory() -> None:
    assert kept(smaller_memories(dataset(("f2", "f4", "f6")), 2)) == ["f2", "f4", "f6"]


def test_small_memories_are_not_cut() -> None:
    whole = dataset(("f1",))
    assert smaller_memories(whole, 10) is whole
    assert smaller_memories(whole, None) is whole
