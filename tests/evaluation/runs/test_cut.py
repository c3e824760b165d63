"""Cutting a data set to its first part, and its memories to fewer facts."""

from __future__ import annotations

from datetime import UTC, datetime

from prospection.evaluation.cases import Dataset, EvalFact, EvalQuery, EvalUser
from prospection.evaluation.runs.cut import first_part, smaller_memories

AT = datetime(2025, 1, 1, tzinfo=UTC)


def asked(*asked_by: tuple[str, str | None]) -> Dataset:
    users = dict.fromkeys(user for user, _ in asked_by)
    fact = EvalFact(id="f", text="They ski.", session="s", at=AT)
    return Dataset(
        name="cut",
        users=tuple(EvalUser(id=user, facts=(fact,)) for user in users),
        queries=tuple(
            EvalQuery(id=f"q{n}", user=user, person=person, text="?", at=AT, references=(frozenset({"f"}),))
            for n, (user, person) in enumerate(asked_by)
        ),
    )


def ids(cut: Dataset) -> list[str]:
    return [query.id for query in cut.queries]


def test_queries_each_are_of_each_person_in_the_order_of_the_data() -> None:
    whole = asked(("ada", None), ("bo", None), ("ada", None), ("ada", None), ("bo", None), ("cy", None))

    cut = first_part(whole, users=2, queries=None, queries_each=2)

    assert ids(cut) == ["q0", "q1", "q2", "q4"]
    assert [user.id for user in cut.users] == ["ada", "bo"]
    assert cut.notes == ("Cut to the first 4 of 6 queries, at most 2 of each person.",)


def test_several_memories_of_one_person_are_one_person() -> None:
    whole = asked(("ada-1", "ada"), ("ada-2", "ada"), ("bo-1", "bo"))

    assert ids(first_part(whole, users=1, queries=None)) == ["q0", "q1"]
    assert ids(first_part(whole, users=None, queries=None, queries_each=1)) == ["q0", "q2"]


def test_queries_count_over_all_and_nothing_cut_says_nothing() -> None:
    whole = asked(("ada", None), ("bo", None))

    assert ids(first_part(whole, users=None, queries=1, queries_each=1)) == ["q0"]
    assert first_part(whole, users=None, queries=None) == whole


def needing(needed: tuple[str, ...], facts: int = 10) -> Dataset:
    memory = tuple(EvalFact(id=f"f{n}", text=f"Fact {n}.", session="s", at=AT) for n in range(facts))
    references = tuple(frozenset({name}) for name in needed)
    query = EvalQuery(id="q", user="ada", text="?", at=AT, references=references)
    return Dataset(name="cut", users=(EvalUser(id="ada", facts=memory),), queries=(query,))


def kept(cut: Dataset) -> list[str]:
    return [fact.id for fact in cut.users[0].facts]


def test_needed_facts_stay_and_others_are_spread_evenly() -> None:
    cut = smaller_memories(needing(("f1", "f9")), 6)
    # Eight others and room for four: every second of them.
    assert kept(cut) == ["f0", "f1", "f3", "f5", "f7", "f9"]
    assert cut.notes == ("Memories are cut to 6 facts: those that are needed, and others evenly spread.",)


def test_what_is_needed_stays_however_small_the_memory() -> None:
    assert kept(smaller_memories(needing(("f2", "f4", "f6")), 2)) == ["f2", "f4", "f6"]


def test_small_memories_are_not_cut() -> None:
    whole = needing(("f1",))
    assert smaller_memories(whole, 10) is whole
    assert smaller_memories(whole, None) is whole
