"""The common layout: turns or facts as memory, and how a reference counts as found."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from prospection.errors import InputError
from prospection.evaluation.datasets.common import load_common
from prospection.evaluation.datasets.conversations import UNDATED

SAMPLE = Path(__file__).parents[2] / "data" / "evaluation" / "common"


def with_facts(tmp_path: Path, *lines: str) -> Path:
    folder = tmp_path / "set"
    shutil.copytree(SAMPLE, folder)
    (folder / "facts.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder


def test_without_facts_every_turn_that_says_something_is_memory() -> None:
    ada, ben = load_common(SAMPLE).users
    assert [(fact.id, fact.text) for fact in ada.facts] == [
        ("s1:0", "My cat is called Byron."),
        ("s1:1", "A poet, then."),
        ("s2:0", "Mary: I moved to Leeds."),
    ]
    assert [fact.at for fact in ada.facts] == [datetime(2024, 5, 1, 9, 30, tzinfo=UTC)] * 2 + [UNDATED]
    assert ben.facts == ()


def test_turns_of_a_reference_are_alternatives() -> None:
    assert load_common(SAMPLE).queries[0].references == (frozenset({"s1:0", "s1:1"}),)


def test_a_reference_without_turns_counts_by_its_session() -> None:
    assert load_common(SAMPLE).queries[1].references == (frozenset({"s2:0"}), frozenset({"s1:0", "s1:1"}))


def test_query_times() -> None:
    dated, undated = load_common(SAMPLE).queries
    assert dated.at == datetime(2024, 6, 1, 10, 0, tzinfo=UTC)
    assert undated.at == datetime(2024, 5, 2, 9, 30, tzinfo=UTC)


def test_what_is_left_out_or_assumed_is_said() -> None:
    dataset = load_common(SAMPLE)
    assert [query.id for query in dataset.queries] == ["q0", "q1"]
    assert dataset.notes == (
        "1 of 5 queries have no references and are left out.",
        "2 of 5 queries refer to something that no fact in memory covers and are left out.",
        "1 of 2 sessions have no date and stand at 2000-01-01.",
        "1 of 2 queries have no date and are asked a day after the last session.",
    )


def test_ready_facts_take_the_place_of_turns(tmp_path: Path) -> None:
    folder = with_facts(
        tmp_path,
        '{"user_id": "ada", "fact_id": "ada-f0", "text": "Has a cat.", "session_id": "s1", "turn_ids": ["s1:0"]}',
        '{"user_id": "ada", "fact_id": "ada-f1", "text": "It is Byron.", "session_id": "s1", "turn_ids": ["s1:0"]}',
        '{"user_id": "ada", "fact_id": "ada-f2", "text": "Mary lives in Leeds.", "session_id": "s2", "turn_ids": []}',
    )
    dataset = load_common(folder)
    assert [fact.id for fact in dataset.users[0].facts] == ["ada-f0", "ada-f1", "ada-f2"]
    by_turns, by_session = dataset.queries
    assert by_turns.references == (frozenset({"ada-f0", "ada-f1"}),)
    assert by_session.references == (frozenset({"ada-f2"}), frozenset({"ada-f0", "ada-f1"}))


def test_repeated_references_count_once_and_empty_facts_are_no_memory(tmp_path: Path) -> None:
    folder = with_facts(
        tmp_path,
        '{"user_id": "ada", "fact_id": "f0", "text": "Has a cat.", "session_id": "s1"}',
        '{"user_id": "ada", "fact_id": "f1", "text": " ", "session_id": "s1"}',
    )
    (folder / "queries.jsonl").write_text(
        '{"query_id": 1, "user_id": "ada", "query": "?", "references": [{"fact_id": "f0"}, {"fact_id": "f0"}]}\n'
        '{"query_id": 2, "user_id": "ada", "query": " ", "references": [{"fact_id": "f0"}]}',
        encoding="utf-8",
    )
    dataset = load_common(folder)
    assert [query.references for query in dataset.queries] == [(frozenset({"f0"}),)]
    assert dataset.notes[:3] == (
        "1 of 2 facts are empty and are left out.",
        "1 references repeat another one of their query and count once.",
        "1 of 2 queries have no text and are left out.",
    )


def test_turn_ids_that_occur_twice_are_named_with_their_file(tmp_path: Path) -> None:
    folder = with_facts(tmp_path)
    users = folder / "users.jsonl"
    users.write_text(users.read_text().replace("s2:0", "s1:0"))
    with pytest.raises(InputError, match=r"users\.jsonl: turn of user 'ada' 's1:0' occurs twice"):
        load_common(folder)


def test_a_fact_id_wins_over_turns(tmp_path: Path) -> None:
    folder = with_facts(
        tmp_path,
        '{"user_id": "ada", "fact_id": 7, "text": "Has a cat.", "session_id": "s1", "turn_ids": ["s1:0"]}',
        '{"user_id": "ada", "fact_id": 8, "text": "The cat is Byron.", "turn_ids": ["s1:0"]}',
    )
    (folder / "queries.jsonl").write_text(
        '{"query_id": 1, "user_id": "ada", "query": "?", "references": [{"fact_id": 8, "turn_ids": ["s1:0"]}]}',
        encoding="utf-8",
    )
    (query,) = load_common(folder).queries
    assert query.references == (frozenset({"8"}),)
    assert load_common(folder).users[0].facts[1].session == "unknown"
