"""Several runs beside one another: names apart, data the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from measured import row, run_of
from prospection.errors import InputError
from prospection.evaluation.runs.rows import IndexRow
from prospection.evaluation.runs.several import check_same_data, read_runs
from prospection.evaluation.runs.summary import summarise
from prospection.types import Usage


def test_a_system_of_two_runs_is_two_systems(tmp_path: Path) -> None:
    built = IndexRow(dataset="quest", system="pgr", user="ada", usage=Usage(calls=3), seconds=1.0)
    main = run_of(tmp_path / "main", [row("pgr", "q1", (1,)), row("direct", "q1", (9,))], [built])
    change = run_of(tmp_path / "change", [row("pgr", "q1", (None,))])
    read = read_runs([main, change])
    summaries = {one.system: one for one in summarise(read.rows, read.indexes)}
    assert list(summaries) == ["pgr (main)", "direct", "pgr (change)"]
    assert (summaries["pgr (main)"].recall_all, summaries["pgr (change)"].recall_all) == (1.0, 0.0)
    assert (summaries["pgr (main)"].index_calls, summaries["pgr (change)"].index_calls) == (3.0, 0.0)
    assert read.notes == ()


def test_a_run_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    folder = run_of(tmp_path / "main", [row("pgr", "q1", (1,))])
    assert [one.system for one in read_runs([folder, folder]).rows] == ["pgr"]


def test_runs_of_one_name_are_told_apart_by_their_paths(tmp_path: Path) -> None:
    folders = [run_of(tmp_path / where / "main", [row("pgr", "q1", (1,))]) for where in ("a", "b")]
    assert {one.system for one in read_runs(folders).rows} == {f"pgr ({folder.path})" for folder in folders}


def test_other_data_under_the_same_name_is_refused(tmp_path: Path) -> None:
    folders = [run_of(tmp_path / mark, [row("pgr", "q1", (1,))], sha256=mark * 64) for mark in ("1", "2")]
    with pytest.raises(InputError, match=r"data set 'quest' is not the same in runs '1' and '2' \(sha256 1{12} and 2"):
        read_runs(folders)
    check_same_data(folders, ["another"])


def test_other_encoders_are_said(tmp_path: Path) -> None:
    folders = [run_of(tmp_path / name, [row("pgr", "q1", (1,))], encoder=name) for name in ("small", "large")]
    assert read_runs(folders).notes == (
        "Runs have different encoders: small (small), large (large); groups by similarity are those of the first.",
    )
