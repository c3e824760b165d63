"""The quest layout: what is read, what may be missing, what is left out."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from prospection.errors import InputError
from prospection.evaluation.datasets.quest import load_quest, user_files
from prospection.types import Cue, FactType

SAMPLE = Path(__file__).parents[2] / "data" / "evaluation" / "quest"


def test_facts_carry_everything_that_the_files_say() -> None:
    user = load_quest(SAMPLE).users[0]
    assert [fact.id for fact in user.facts] == ["f0001", "f0002", "f0003", "f0004", "f0005"]
    first = user.facts[0]
    assert first.text == "User's passport ran out in May."
    assert first.session == "s001"
    assert first.at == datetime(2025, 1, 10, tzinfo=UTC)
    assert first.type is FactType.EVENT
    assert first.entities == ("passport",)
    assert first.cues == (Cue(text="booking a trip abroad"), Cue(text="proving one's identity"))


def test_a_kind_of_its_own_is_read_as_unknown() -> None:
    assert load_quest(SAMPLE).users[0].facts[4].type is None


def test_users_come_in_the_order_of_their_numbers() -> None:
    assert [path.stem for path in user_files(SAMPLE)] == ["user2", "user10"]


def test_queries_are_named_after_their_user_and_need_every_reference() -> None:
    query = load_quest(SAMPLE).queries[0]
    assert (query.id, query.user, query.at) == ("user2-q1", "user2", datetime(2025, 3, 1, tzinfo=UTC))
    assert query.references == (frozenset({"f0001"}), frozenset({"f0003"}), frozenset({"f0004"}))


def test_queries_that_cannot_be_scored_are_left_out_and_counted() -> None:
    dataset = load_quest(SAMPLE)
    assert [query.id for query in dataset.queries] == ["user2-q1", "user2-q2", "user10-q1"]
    assert dataset.notes == (
        "1 of 5 queries have no references and are left out.",
        "1 of 5 queries refer to something that no fact in memory covers and are left out.",
        "Only 2 of 6 facts have cues.",
        "Only 2 of 3 queries have recorded probes.",
    )


def test_recorded_probes_stand_with_their_queries() -> None:
    recorded = [query.recorded for query in load_quest(SAMPLE).queries]
    assert recorded[0] is not None
    assert [step.sid for step in recorded[0].steps] == ["s0.1", "s0.2", "s0.3"]
    assert recorded[1] is None
    assert recorded[2] is not None
    assert recorded[2].imagined_facts == ("User lives on the fourth floor",)


def test_repeated_references_count_once_and_empty_facts_are_no_memory(tmp_path: Path) -> None:
    user = json.loads((SAMPLE / "user2.json").read_text())
    user["queries"][0]["references"] += ["f0001", "f0001"]
    user["sessions"][1]["facts"][2]["info"] = " "
    (tmp_path / "user2.json").write_text(json.dumps(user))
    dataset = load_quest(tmp_path)
    assert [len(query.references) for query in dataset.queries] == [3]
    assert [fact.id for fact in dataset.users[0].facts] == ["f0001", "f0002", "f0003", "f0004"]
    assert dataset.notes == (
        "1 of 5 facts are empty and are left out.",
        "2 references repeat another one of their query and count once.",
        "1 of 2 queries refer to something that no fact in memory covers and are left out.",
    )


@pytest.mark.parametrize("part", ["fact", "query"])
def test_ids_that_occur_twice_are_named_with_their_file(tmp_path: Path, part: str) -> None:
    user = json.loads((SAMPLE / "user2.json").read_text())
    several = user["queries"] if part == "query" else user["sessions"][0]["facts"]
    several.append(several[0])
    (tmp_path / "user2.json").write_text(json.dumps(user))
    with pytest.raises(InputError, match=rf"user2\.json: {part} '(q1|f0001)' occurs twice"):
        load_quest(tmp_path)


def test_a_user_in_two_files(tmp_path: Path) -> None:
    for name in ("user2.json", "user3.json"):
        shutil.copy(SAMPLE / "user2.json", tmp_path / name)
    with pytest.raises(InputError, match=r"user3\.json: user 'user2' stands in .*user2\.json as well; keep one"):
        load_quest(tmp_path)


def test_user_files_alone_will_do(tmp_path: Path) -> None:
    shutil.copy(SAMPLE / "user2.json", tmp_path)
    dataset = load_quest(tmp_path)
    assert dataset.name == tmp_path.name
    assert all(query.recorded is None for query in dataset.queries)
    assert not any(fact.cues for fact in dataset.users[0].facts)
    assert dataset.notes == ()
