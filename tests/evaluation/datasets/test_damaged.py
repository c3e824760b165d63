"""Damaged files: whatever one change breaks, a set loads and holds together, or one sentence says which file it was."""

from __future__ import annotations

import csv
import io
import json
import shutil
import tempfile
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prospection.errors import InputError
from prospection.evaluation.cases import Dataset
from prospection.evaluation.datasets import load_dataset

SAMPLES = Path(__file__).parents[2] / "data" / "evaluation"
PUBLISHED = SAMPLES / "published"
SETS = {
    "common": (SAMPLES / "common", ""),
    "quest": (SAMPLES / "quest", ""),
    "memoryquest": (PUBLISHED / "memoryquest", ""),
    "personalens": (PUBLISHED / "personalens", ""),
    "personamem": (PUBLISHED / "personamem", "questions_32k.csv"),
    "personamem2": (PUBLISHED / "personamem2", "benchmark/text/benchmark.csv"),
    "locomo-plus": (PUBLISHED / "locomo-plus", "locomo_plus.json"),
    "locomo": (PUBLISHED / "locomo-plus", "locomo10.json"),
    "longmemeval": (PUBLISHED / "longmemeval", "oracle.json"),
    "implexconv": (PUBLISHED / "implexconv", "opposed.json"),
    "implexconv ": (PUBLISHED / "implexconv", "opposed_retrieve_text.json"),
}
"""By layout: the folder of the sample, and what of it is passed where that is one file."""

Place = tuple[str | int, ...]


def places(data: Any, above: Place = ()) -> Iterator[Place]:
    """The way to every value in JSON data."""
    if above:
        yield above
    children = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in children:
        yield from places(value, (*above, key))


def changed(value: Any) -> list[Any]:
    """A value as something else."""
    other: list[Any] = [None, "", "x", [], {}, 0, -1, 1.5, True, [value], {"key": value}, "\N{PARROT}", 10**30]
    if isinstance(value, list):
        other += [value[:-1], value[1:], value * 2, {str(n): one for n, one in enumerate(value)}, [None, *value]]
    if isinstance(value, dict):
        other += [list(value.values()), list(value), dict(list(value.items())[1:]), value | {"key": None}]
    if isinstance(value, str):
        other += [value[:-1], f"{value} and more", value.split(), "9999-12-31T23:59:59-05:00", "0001-01-01T00:00+05:00"]
    if isinstance(value, int):
        other += [str(value), -value]
    return other


def mutate(data: Any, draw: Any) -> Any:
    """JSON data with one value changed, or taken away."""
    data = deepcopy(data)
    *way, last = draw(st.sampled_from(sorted(places(data), key=repr)))
    inside = data
    for key in way:
        inside = inside[key]
    if draw(st.integers(0, 4)) == 0:
        del inside[last]
    else:
        inside[last] = draw(st.sampled_from(changed(inside[last])))
    return data


def damage(file: Path, draw: Any) -> None:
    text = file.read_text(encoding="utf-8")
    if draw(st.integers(0, 9)) == 0:
        file.write_text(text[: draw(st.integers(0, len(text)))], encoding="utf-8")
    elif file.suffix == ".csv":
        rows = mutate(list(csv.reader(io.StringIO(text))), draw)
        with file.open("w", encoding="utf-8", newline="") as opened:
            csv.writer(opened).writerows(row if isinstance(row, list) else [str(row)] for row in rows)
    elif file.suffix == ".jsonl":
        lines = mutate([json.loads(line) for line in text.split("\n") if line], draw)
        file.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    else:
        file.write_text(json.dumps(mutate(json.loads(text), draw)), encoding="utf-8")


def holds_together(dataset: Dataset) -> None:
    facts = {user.id: {fact.id for fact in user.facts} for user in dataset.users}
    assert dataset.queries
    assert len(facts) == len(dataset.users)
    for user in dataset.users:
        assert len(facts[user.id]) == len(user.facts)
        assert all(fact.text.strip() and fact.at.tzinfo for fact in user.facts)
    for query in dataset.queries:
        assert query.text.strip()
        assert query.at.tzinfo
        assert all(reference and reference <= facts[query.user] for reference in query.references)


@pytest.mark.parametrize("layout", SETS)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_one_damaged_value_is_loaded_or_named(layout: str, data: st.DataObject) -> None:
    sample, passed = SETS[layout]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "set"
        shutil.copytree(sample, root)
        files = (
            [root / passed]
            if layout.startswith(("implexconv", "locomo")) and layout != "locomo-plus"
            else [file for file in sorted(root.rglob("*")) if file.is_file()]
        )
        file = data.draw(st.sampled_from(files))
        damage(file, data.draw)
        for name in (layout.strip(), None):
            try:
                dataset = load_dataset(root / passed, name)
            except InputError as error:
                said = str(error)
                of_the_set = "is not a data set of a known layout" in said or "no query that could be scored" in said
                assert any(one.name in said for one in files) or (of_the_set and str(root) in said), said
                assert "\n" not in said
            else:
                holds_together(dataset)
