"""Which layout a path is of: by keys in any order, by name without a look, and what to pass instead."""

from __future__ import annotations

import codecs
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from prospection.errors import InputError
from prospection.evaluation.cases import Dataset
from prospection.evaluation.datasets import load_dataset
from prospection.evaluation.datasets.shapes import columns_of, keys_of

SAMPLES = Path(__file__).parents[2] / "data" / "evaluation"
PUBLISHED = SAMPLES / "published"
PADDING = "x" * 70_000
"""More than is looked at first."""


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def padded(data: Any) -> Any:
    """The same with a long text before whatever else an item says."""
    return [{"a_comment": PADDING} | item for item in data]


def needed(dataset: Dataset) -> list[tuple[str, list[list[str]]]]:
    """Every query and the texts that count for each of its references; facts may be numbered otherwise."""
    texts = {user.id: {fact.id: fact.text for fact in user.facts} for user in dataset.users}
    return [
        (query.text, [sorted(texts[query.user][fact] for fact in reference) for reference in query.references])
        for query in dataset.queries
    ]


@pytest.mark.parametrize(
    ("sample", "order"),
    [
        ("locomo-plus/locomo10.json", sorted),
        ("locomo-plus/locomo10.json", reversed),
        ("longmemeval/oracle.json", sorted),
        ("longmemeval/oracle.json", reversed),
        ("implexconv/opposed.json", reversed),
        ("implexconv/opposed_retrieve_text.json", reversed),
    ],
)
def test_keys_may_stand_in_any_order(tmp_path: Path, sample: str, order: Any) -> None:
    data = json.loads((PUBLISHED / sample).read_text())

    def ordered(value: Any) -> Any:
        if isinstance(value, list):
            return [ordered(one) for one in value]
        return {key: ordered(value[key]) for key in order(list(value))} if isinstance(value, dict) else value

    plain = written(tmp_path / "plain" / "any.json", json.dumps(data))
    other = written(tmp_path / "other" / "any.json", json.dumps(ordered(data), indent=1))
    assert needed(load_dataset(other)) == needed(load_dataset(plain))


@pytest.mark.parametrize("sample", ["locomo-plus/locomo10.json", "longmemeval/oracle.json", "implexconv/opposed.json"])
def test_keys_may_stand_far_into_the_first_item(tmp_path: Path, sample: str) -> None:
    data = padded(json.loads((PUBLISHED / sample).read_text()))
    assert load_dataset(written(tmp_path / "any.json", json.dumps(data))).queries


@pytest.mark.parametrize("sample", ["locomo-plus/locomo10.json", "longmemeval/oracle.json", "implexconv/opposed.json"])
def test_one_item_a_line(tmp_path: Path, sample: str) -> None:
    items = json.loads((PUBLISHED / sample).read_text())[:1]
    assert load_dataset(written(tmp_path / "any.json", "\n".join(map(json.dumps, items)))).queries


def test_a_named_layout_is_loaded_without_a_look(tmp_path: Path) -> None:
    # The first item lacks what the layout is known by.
    data = json.loads((PUBLISHED / "locomo-plus" / "locomo10.json").read_text())
    bare = {"sample_id": "bare", "conversation": {}, "qa": []}
    file = written(tmp_path / "notes.txt", json.dumps([bare, *data]))
    with pytest.raises(InputError, match="not a data set of a known layout"):
        load_dataset(file)
    assert load_dataset(file, "locomo").queries


def test_only_the_first_item_is_looked_at(tmp_path: Path) -> None:
    file = written(tmp_path / "any.json", '[{"a": {"b": [{"c": "{[\\""}, {"d": 1}]}, "e": [[{"f": {}}]]}, {"g": 1}]')
    assert keys_of(file) == {"a", "a.b", "a.b[].c", "a.b[].d", "e", "e[][].f"}
    assert keys_of(written(tmp_path / "cut.json", '{"a": {"b": "c')) == {"a", "a.b"}
    assert keys_of(written(tmp_path / "none.json", "nothing here")) == frozenset()
    assert columns_of(written(tmp_path / "table.csv", 'a,"b, c"\n1,2\n')) == {"a", "b, c"}


def test_memoryquest_is_told_from_quest_without_its_summaries(tmp_path: Path) -> None:
    user = json.loads((PUBLISHED / "memoryquest" / "data" / "user3.json").read_text())
    for key in ("domain_summaries", "demographics"):
        del user[key]
    written(tmp_path / "user3.json", json.dumps(user))
    assert [query.id for query in load_dataset(tmp_path).queries] == ["3-q1"]
    assert load_dataset(tmp_path, "memoryquest").queries


@pytest.mark.parametrize(
    ("file", "layout", "folder"),
    [
        ("quest/user2.json", "quest", "quest"),
        ("published/memoryquest/data/user3.json", "memoryquest", "data"),
        ("published/personalens/user7/profile.json", "personalens", "personalens"),
        ("common/users.jsonl", "common", "common"),
    ],
)
def test_one_file_of_a_folder(file: str, layout: str, folder: str) -> None:
    for name in (None, layout):
        with pytest.raises(InputError, match=rf"is one file of a {layout} data set; pass the folder, '.*{folder}'$"):
            load_dataset(SAMPLES / file, name)


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    for sample in ("quest", "common", "published/longmemeval", "published/personamem"):
        folder = tmp_path / sample
        shutil.copytree(SAMPLES / sample, folder)
        for file in folder.rglob("*.*"):
            file.write_bytes(codecs.BOM_UTF8 + file.read_bytes())
        assert load_dataset(folder) == load_dataset(SAMPLES / sample)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty; download or write it again"),
        (b" \n", "is empty; download or write it again"),
        ("[]".encode("utf-16"), "is UTF-16 text; save it as UTF-8"),
        (b'["\xe9"]', "is not UTF-8 text, at byte 2; save it as UTF-8"),
    ],
)
def test_files_without_readable_text_get_a_sentence_of_their_own(tmp_path: Path, data: bytes, said: str) -> None:
    (tmp_path / "x.json").write_bytes(data)
    for name in ("longmemeval", None):
        with pytest.raises(InputError, match=rf"x\.json' {said}"):
            load_dataset(tmp_path / "x.json", name)
    (tmp_path / "user1.json").write_bytes(data)
    with pytest.raises(InputError, match=rf"user1\.json' {said}"):
        load_dataset(tmp_path)
