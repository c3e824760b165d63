"""Answers of a run as files: one a system, under names that no two systems share."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from prospection.evaluation.runs.answers import write_answers
from prospection.evaluation.runs.rows import Row
from prospection.types import Usage


def row(system: str, query: str = "q1", *, answer: str | None = "yes", seed: int = 0) -> Row:
    return Row(
        dataset="quest",
        system=system,
        seed=seed,
        query=query,
        user="u",
        person="ada",
        category=None,
        fids=(),
        ranks=(),
        tokens=(),
        similarities=(),
        relevant=(),
        context_tokens=0,
        usage=Usage(),
        seconds=0.0,
        answer=answer,
    )


TEXTS = {("quest", "q1"): "Plan it", ("quest", "q2"): "Plan more"}


@pytest.mark.parametrize(
    ("systems", "names"),
    [
        (("a b", "c"), {"a b": "a-b", "c": "c"}),
        (("a b", "a-b"), {"a b": "a b", "a-b": "a-b"}),
        (("a b c", "a-b c", "a-b-c"), {"a b c": "a b c", "a-b c": "a-b c", "a-b-c": "a-b-c"}),
        (("pgr/tree", "pgr%2Ftree", "..\\up"), {"pgr/tree": "pgr%2Ftree", "pgr%2Ftree": "pgr%252Ftree"}),
    ],
)
def test_each_system_has_a_file_of_its_own(tmp_path: Path, systems: tuple[str, ...], names: dict[str, str]) -> None:
    files = write_answers([row(system, answer=f"by {system}") for system in systems], TEXTS, tmp_path / "out")
    said = {json.loads(file.read_text())["answer"]: file for file in files}
    assert said.keys() == {f"by {system}" for system in systems}
    assert set(files) == set((tmp_path / "out").iterdir())
    assert {system: said[f"by {system}"].stem for system in names} == names


def test_a_line_a_case_that_has_an_answer(tmp_path: Path) -> None:
    rows = [row("pgr", "q2"), row("pgr", answer="no", seed=1), row("pgr"), row("direct", answer=None)]
    (file,) = write_answers(rows, TEXTS, tmp_path)
    assert [json.loads(line) for line in file.read_text().splitlines()] == [
        {"id": "q1#0", "query": "Plan it", "answer": "yes", "dataset": "quest", "user": "ada"},
        {"id": "q1#1", "query": "Plan it", "answer": "no", "dataset": "quest", "user": "ada"},
        {"id": "q2#0", "query": "Plan more", "answer": "yes", "dataset": "quest", "user": "ada"},
    ]
