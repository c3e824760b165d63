"""Means and the JSON shape that other tools read; the tables."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from prospection.evaluation.report import recall_report
from prospection.evaluation.results import QueryResult, RecallResult

BUDGETS = {"5", "10", "20", "35", "60", "100"}

RESULT = RecallResult(
    data="tiny [set]",
    encoder="words-v1",
    facts=7,
    systems={
        "direct": (
            QueryResult(query="q1", user="ada", person="ada", ranks=(1, 8), llm_calls=0, seconds=0.002),
            QueryResult(query="q2", user="ada", person="ada", ranks=(None,), llm_calls=0, seconds=0.004),
            QueryResult(query="q3", user="ben", person="ben", ranks=(30,), llm_calls=0, seconds=0.006),
        ),
        "pgr": (
            QueryResult(query="q1", user="ada", person="ada", ranks=(1, 2), llm_calls=4, seconds=1.0),
            QueryResult(query="q2", user="ada", person="ada", ranks=(9,), llm_calls=5, seconds=1.0),
            QueryResult(query="q3", user="ben", person="ben", ranks=(None,), llm_calls=6, seconds=1.0),
        ),
    },
    notes=("One query [q9] is left out.",),
)


def test_means_by_hand() -> None:
    direct = RESULT.to_json()["systems"]["direct"]
    # q1: 1/2 at 5 and whole from 8 on; q2 never; q3 from 30 on.
    assert direct["recall"] == pytest.approx(
        {"5": 0.5 / 3, "10": 1 / 3, "20": 1 / 3, "35": 2 / 3, "60": 2 / 3, "100": 2 / 3}
    )
    assert direct["exact"] == pytest.approx(
        {"5": 0.0, "10": 1 / 3, "20": 1 / 3, "35": 2 / 3, "60": 2 / 3, "100": 2 / 3}
    )
    assert (direct["llm_calls"], direct["seconds"]) == pytest.approx((0.0, 0.004))
    assert direct["per_user"]["ada"]["recall"]["5"] == 0.25
    assert direct["per_user"]["ben"]["exact"]["35"] == 1.0
    assert {user: own["queries"] for user, own in direct["per_user"].items()} == {"ada": 2, "ben": 1}
    assert RESULT.to_json()["systems"]["pgr"]["llm_calls"] == 5.0


def test_the_shape_stays() -> None:
    data = RESULT.to_json()
    assert json.loads(json.dumps(data)) == data
    assert set(data) == {"data", "queries", "facts", "encoder", "systems", "notes"}
    assert (data["data"], data["queries"], data["facts"], data["encoder"]) == ("tiny [set]", 3, 7, "words-v1")
    assert list(data["systems"]) == ["direct", "pgr"]
    for system in data["systems"].values():
        assert set(system) == {"recall", "exact", "llm_calls", "seconds", "per_user"}
        assert set(system["recall"]) == set(system["exact"]) == BUDGETS
        for own in system["per_user"].values():
            assert set(own) == {"recall", "exact", "queries"}
            assert set(own["recall"]) == set(own["exact"]) == BUDGETS


def test_tables_show_figures_intervals_costs_and_notes() -> None:
    out = io.StringIO()
    Console(file=out, width=100, color_system=None).print(recall_report(RESULT))
    text = out.getvalue()
    lines = [line.split() for line in text.splitlines()]
    assert "tiny [set]: 3 queries of 2 people over 7 facts, encoder words-v1" in text
    assert "One query [q9] is left out." in text
    recall = ["0.167", "0.333", "0.333", "0.667", "0.667", "0.667"]
    exact = ["0.000", *recall[1:]]
    assert ["direct", *recall, "0.000-0.500", "0.0", "4.0"] in lines
    assert ["direct", *exact, "0.000-0.500"] in lines


def test_two_memories_of_one_person_are_one_person() -> None:
    def interval_of(people: tuple[str, ...]) -> str:
        rows = tuple(
            QueryResult(query=f"q{n}", user=f"memory {n}", person=person, ranks=(rank,), llm_calls=0, seconds=0.0)
            for n, (person, rank) in enumerate(zip(people, (1, None, 1), strict=True))
        )
        out = io.StringIO()
        result = RecallResult(data="cuts", encoder="words-v1", facts=3, systems={"direct": rows})
        Console(file=out, width=100, color_system=None).print(recall_report(result))
        assert f"3 queries of {len(set(people))} people" in out.getvalue()
        assert len(result.to_json()["systems"]["direct"]["per_user"]) == 3
        recall, _ = [line for line in out.getvalue().splitlines() if line.startswith("direct")]
        return recall.split()[7]

    assert interval_of(("ada", "ada", "ada")) == "-"
    assert interval_of(("ada", "ada", "ben")) == "0.500-1.000"


def test_the_best_of_a_column_is_bold() -> None:
    out = io.StringIO()
    Console(file=out, width=100, force_terminal=True, color_system="standard").print(recall_report(RESULT))
    assert "\x1b[1m0.333\x1b[0m" in out.getvalue()
    assert "\x1b[1m0.167\x1b[0m" not in out.getvalue()


def test_tables_fit_a_terminal_of_80_columns() -> None:
    out = io.StringIO()
    Console(file=out, width=80, color_system=None).print(recall_report(RESULT))
    assert all(len(line) <= 80 for line in out.getvalue().splitlines())
    assert out.getvalue().count("0.000-0.500") == 2
    assert "1000.0" in out.getvalue()
