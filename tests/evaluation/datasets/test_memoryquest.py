"""MemoryQuest, whose field names are guessed: shapes that such files may have, and what counts as a reference."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from prospection.errors import InputError
from prospection.evaluation.cases import Dataset
from prospection.evaluation.datasets import load_dataset

PASSPORT, HIVES = "My passport ran out in May.", "The bee hives need somebody every week."
TALK = [{"role": "user", "content": PASSPORT}, {"role": "assistant", "content": "Worth renewing."}]
FACTS = [
    {"fid": 0, "info": "User's passport ran out in May."},
    {"fid": 1, "info": "User likes night trains."},
]


def load(folder: Path, **user: Any) -> Dataset:
    """One user file, with a session and a query where nothing else is given."""
    whole = {
        "domain_summaries": {"Travel": "Likes trains."},
        "sessions": [{"session_id": "s1", "date": "2025-01-10", "messages": TALK}],
        "queries": [{"query_id": "q1", "query": "Plan a trip.", "references": [{"fact": "passport ran out in May"}]}],
    }
    (folder / "user1.json").write_text(json.dumps(whole | user))
    return load_dataset(folder)


def asking(*references: Any, **query: Any) -> list[dict[str, Any]]:
    return [{"query_id": "q1", "query": "Plan a trip.", "references": list(references), **query}]


def found(dataset: Dataset) -> list[list[str]]:
    text = {fact.id: fact.text for fact in dataset.users[0].facts}
    return [sorted(text[fact] for fact in reference) for query in dataset.queries for reference in query.references]


def said(dataset: Dataset) -> list[str]:
    return [fact.text for fact in dataset.users[0].facts]


def test_a_reference_that_no_fact_of_its_session_says_is_not_covered(tmp_path: Path) -> None:
    sessions = [{"session_id": "s1", "messages": TALK, "facts": FACTS}]
    covered = asking({"fact": "The passport ran out in May", "session_id": "s1"})
    missed = asking({"fact": "Keeps four bee hives", "session_id": "s1"})
    dataset = load(tmp_path, sessions=sessions, queries=[*covered, missed[0] | {"query_id": "q2"}])
    assert found(dataset) == [["User's passport ran out in May."]]
    assert "1 of 2 queries refer to something that no fact in memory covers and are left out." in dataset.notes
    assert "References by how they were found in memory: 1 by session and words, 1 not at all." in dataset.notes


def test_a_reference_that_no_turn_says_counts_by_its_session_which_is_said(tmp_path: Path) -> None:
    dataset = load(tmp_path, queries=asking({"fact": "Keeps four bee hives", "session_id": "s1"}))
    assert found(dataset) == [[PASSPORT, "Worth renewing."]]
    assert any("1 by session alone (anything of it counts)" in note for note in dataset.notes)


def test_ids_may_be_zero(tmp_path: Path) -> None:
    sessions = [
        {"session_id": number, "date": f"2025-01-1{number}", "facts": [{"fact_id": number, "info": text}]}
        for number, text in enumerate([PASSPORT, HIVES])
    ]
    queries = [
        {"query_id": 0, "query": "Plan a trip.", "references": [{"fact_id": 0}, {"session_id": 0}, {"session_id": 1}]},
        {"query_id": 1, "query": "Plan a party.", "references": [0, 1]},
    ]
    dataset = load(tmp_path, sessions=sessions, queries=queries)
    assert [query.id for query in dataset.queries] == ["user1-0", "user1-1"]
    assert [fact.session for fact in dataset.users[0].facts] == ["0", "1"]
    assert found(dataset) == [[PASSPORT], [PASSPORT], [HIVES], [PASSPORT], [HIVES]]


def test_sessions_by_domain_without_ids(tmp_path: Path) -> None:
    by_domain = {
        "travel": [{"date": "2025-01-10", "messages": TALK}, {"date": "2025-01-11", "messages": ["Hello."]}],
        "home": [{"date": "2025-01-12", "messages": [HIVES]}],
    }
    dataset = load(tmp_path, sessions=by_domain)
    assert [fact.session for fact in dataset.users[0].facts] == ["travel/0", "travel/0", "travel/1", "home"]
    assert found(dataset) == [[PASSPORT]]


def test_sessions_by_date_are_exchanges(tmp_path: Path) -> None:
    exchanges = [{"user": PASSPORT, "assistant": "Worth renewing."}, {"user": "Thanks.", "assistant": "Sure."}]
    dataset = load(tmp_path, sessions={"2025-01-10": exchanges, "2025-01-11": [{"user": HIVES}]})
    assert said(dataset) == [PASSPORT, "Worth renewing.", "Thanks.", "Sure.", HIVES]
    assert {fact.session: fact.at for fact in dataset.users[0].facts} == {
        "2025-01-10": datetime(2025, 1, 10, tzinfo=UTC),
        "2025-01-11": datetime(2025, 1, 11, tzinfo=UTC),
    }


@pytest.mark.parametrize(
    "session",
    [
        {"dialogue": {"turns": TALK}},
        {"conversation": {"dialogue": {"messages": TALK}}},
        {"dialogue": f"{PASSPORT}\n\nWorth renewing."},
        {"exchanges": {"user": PASSPORT, "assistant": "Worth renewing."}},
        {"turns": {"1": PASSPORT, "2": "Worth renewing."}},
        [PASSPORT, "Worth renewing."],
        TALK,
        f"{PASSPORT}\nWorth renewing.",
    ],
)
def test_turns_of_a_session(tmp_path: Path, session: Any) -> None:
    assert said(load(tmp_path, sessions=[session])) == [PASSPORT, "Worth renewing."]


def test_one_long_conversation_is_one_session(tmp_path: Path) -> None:
    dataset = load(tmp_path, sessions=TALK)
    assert {fact.session for fact in dataset.users[0].facts} == {"s0"}
    assert said(dataset) == [PASSPORT, "Worth renewing."]


def test_facts_that_are_numbered_anew_in_every_session(tmp_path: Path) -> None:
    sessions = [
        {"session_id": name, "facts": [{"fid": 1, "info": text}]} for name, text in (("s1", PASSPORT), ("s2", HIVES))
    ]
    dataset = load(tmp_path, sessions=sessions, queries=asking({"fid": 1, "session_id": "s2"}))
    assert [fact.id for fact in dataset.users[0].facts] == ["s1/1", "s2/1"]
    assert found(dataset) == [[HIVES]]


def test_facts_of_the_user_say_their_session(tmp_path: Path) -> None:
    facts = [{"fid": 3, "info": PASSPORT, "provenance": ["s1", "s2"]}, {"fid": 4, "info": HIVES}]
    dataset = load(tmp_path, facts=facts, queries=asking("3"))
    assert [(fact.id, fact.session) for fact in dataset.users[0].facts] == [("3", "s1"), ("4", "unknown")]
    assert found(dataset) == [[PASSPORT]]


@pytest.mark.parametrize(
    "references",
    [
        ["s2"],
        [{"2025-02-03": "the hives need"}],
        {"2025-02-03": "the hives need"},
        {"2025-02-03": ["the hives need"]},
        {"s2": "the hives need"},
        {"fact": "the hives need", "date": "2025-02-03"},
        {"references": [{"fact": "the hives need", "date": "2025-02-03"}]},
        [{"fact": {"info": "the hives need", "date": "2025-02-03"}}],
        ["[2025-02-03] the hives need"],
    ],
)
def test_references_are_found_by_their_address(tmp_path: Path, references: Any) -> None:
    # The same words stand in both sessions: only the address tells them apart.
    sessions = [
        {"session_id": "s1", "date": "2025-01-10", "messages": ["And the bee hives need somebody."]},
        {"session_id": "s2", "date": "2025-02-03", "messages": [HIVES]},
    ]
    dataset = load(tmp_path, sessions=sessions, queries=[{"query": "Away?", "references": references}])
    assert found(dataset) == [[HIVES]]


def test_keys_that_are_not_read_are_listed_nested_ones_too(tmp_path: Path) -> None:
    queries = [*asking({"fact": "passport ran out"}), {"query": "And now?", "meta": {"needed": {"hints": ["x"]}}}]
    dataset = load(tmp_path, queries=queries, demographics={"age": 30})
    assert "Keys that were there and are not read: 'queries.meta.needed.hints'." in dataset.notes
    with pytest.raises(
        InputError, match=r"are not read: 'queries\.meta\.needed\.hints'\. .*1 of 1 queries have no ref"
    ):
        load(tmp_path, queries=queries[1:])


@pytest.mark.parametrize(
    ("user", "wrong"),
    [
        ({"sessions": "Hi."}, "sessions is a text, not a list"),
        ({"sessions": [1]}, "session 0 is a number, not an object"),
        ({"sessions": [{"turns": [None]}]}, r"session 0, turns\.0 is null, not a message"),
        ({"sessions": [{"turns": 5}]}, "session 0, turns is a number, not a list"),
        ({"sessions": [{"turns": [{"content": ["x"]}]}]}, r"session 0, turns\.0\.content is a list, not a text"),
        ({"queries": "Plan."}, "queries is a text, not a list"),
        ({"queries": ["Plan."]}, "query 0 is a text, not an object with its references"),
        ({"queries": asking(["x"])}, "query 0, references is a list, not a text, an id or an object"),
        ({"facts": [[]]}, "facts of unknown, 0 is a list, not a fact"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_file_and_place(tmp_path: Path, user: dict[str, Any], wrong: str) -> None:
    with pytest.raises(InputError, match=rf"user1\.json: {wrong}; correct it"):
        load(tmp_path, **user)
