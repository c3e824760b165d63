"""One door for every layout, and one clear sentence for what is not a data set."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from prospection.errors import InputError
from prospection.evaluation.datasets import load_dataset

SAMPLES = Path(__file__).parents[2] / "data" / "evaluation"


def whole_sets() -> list[Path]:
    """The samples, and every larger set that this machine happens to have."""
    data = Path(os.environ.get("PROSPECTION_TEST_DATA", Path(__file__).parents[4] / "shared" / "data"))
    larger = [data / "quest", *sorted((data / "benchmarks" / "common").glob("*"))]
    return [SAMPLES / "quest", SAMPLES / "common", *(folder for folder in larger if folder.is_dir())]


@pytest.mark.parametrize("folder", whole_sets(), ids=lambda folder: folder.name)
def test_every_set_loads_and_holds_together(folder: Path) -> None:
    dataset = load_dataset(folder)
    assert dataset.name == folder.name
    facts = {user.id: {fact.id for fact in user.facts} for user in dataset.users}
    for query in dataset.queries:
        assert query.references
        assert all(reference and reference <= facts[query.user] for reference in query.references)
    assert all(fact.text.strip() and fact.at.tzinfo for user in dataset.users for fact in user.facts)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'.*nowhere' does not exist; DATA is the file or folder"):
        load_dataset(tmp_path / "nowhere")


def test_a_file_of_no_layout(tmp_path: Path) -> None:
    (tmp_path / "data.json").write_text("{}")
    with pytest.raises(InputError, match=r"data\.json' is not a data set of a known layout"):
        load_dataset(tmp_path / "data.json")


def test_an_unknown_layout_says_what_was_looked_for(tmp_path: Path) -> None:
    (tmp_path / "users.jsonl").write_text("")
    with pytest.raises(InputError, match=r"known layout \(common, .*\); see `prospection eval datasets`"):
        load_dataset(tmp_path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "Invalid JSON"),
        ('{"user_id": "u"}', "sessions: Field required"),
        ('{"user_id": "u", "sessions": [{"session_id": "s", "date": "soon", "facts": []}]}', "sessions.0.date: "),
        ('{"user_id": "u", "sessions": []}', "no query that could be scored. There are no queries."),
    ],
)
def test_a_broken_user_file_is_named(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "user1.json").write_text(text)
    with pytest.raises(InputError) as caught:
        load_dataset(tmp_path)
    assert str(tmp_path) in str(caught.value)
    assert said in str(caught.value)


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "common", tmp_path, dirs_exist_ok=True)
    with (tmp_path / "queries.jsonl").open("a") as lines:
        lines.write('\n{"query_id": "q9"}\n')
    with pytest.raises(InputError, match=r"queries\.jsonl, line 7: user_id: Field required"):
        load_dataset(tmp_path)


def test_ids_have_to_be_unique(tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "common", tmp_path, dirs_exist_ok=True)
    users = tmp_path / "users.jsonl"
    users.write_text(users.read_text() * 2)
    with pytest.raises(InputError, match="user 'ada' occurs twice"):
        load_dataset(tmp_path)


def test_a_set_without_a_query_to_score_says_why(tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "common", tmp_path, dirs_exist_ok=True)
    (tmp_path / "queries.jsonl").write_text('{"query_id": "q", "user_id": "ada", "query": "?", "references": []}')
    with pytest.raises(InputError, match="1 of 1 queries have no references"):
        load_dataset(tmp_path)
