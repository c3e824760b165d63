"""Cells that a spreadsheet would run are text in every CSV file, and come back as they were."""

from __future__ import annotations

import csv

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prospection.evaluation.runs.rows import Row
from prospection.evaluation.runs.summary import summarise
from prospection.evaluation.runs.tables import as_csv
from prospection.evaluation.spreadsheets import bare, guarded
from prospection.types import Usage


@settings(deadline=None)
@given(st.text(st.sampled_from("'=+-@\t\r\na"), max_size=5))
def test_what_is_guarded_comes_back(cell: str) -> None:
    out = guarded(cell)
    assert bare(out) == cell
    assert out == "-" or out[:1] not in set("=+-@\t\r\n")


@pytest.mark.parametrize("cell", ["", "-", "it's", "'tis", "a=1", 3, -3, None, -0.5])
def test_what_no_spreadsheet_runs_stays_as_it_is(cell: object) -> None:
    assert guarded(cell) == cell


def test_a_report_is_guarded_too() -> None:
    row = Row(
        dataset="@set",
        system="=1+1",
        seed=0,
        query="q",
        user="u",
        person="ada",
        category=None,
        fids=("f1",),
        ranks=(1,),
        tokens=(5,),
        similarities=(0.5,),
        relevant=(1,),
        context_tokens=5,
        usage=Usage(),
        seconds=0.0,
    )
    (line,) = csv.DictReader(as_csv(summarise([row])).splitlines())
    assert (line["dataset"], line["system"], line["recall@5"]) == ("'@set", "'=1+1", "1.0")
