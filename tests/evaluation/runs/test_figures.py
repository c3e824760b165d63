"""From rows to figures: means and intervals, comparisons, tables and plots, worked by hand."""

from __future__ import annotations

import csv
import json
import random
import struct
from dataclasses import replace
from pathlib import Path

import pytest

from measured import row
from prospection.errors import InputError, UnknownNameError
from prospection.evaluation.runs.compare import LEVEL, compare, compare_all, rows_of
from prospection.evaluation.runs.plots import save_plots
from prospection.evaluation.runs.rows import IndexRow, Row
from prospection.evaluation.runs.summary import summarise
from prospection.evaluation.runs.tables import as_csv, as_json, as_markdown
from prospection.evaluation.runs.write import write_report
from prospection.types import Usage

ROWS = [
    row("direct", "q1", (1, 8), category="trips"),
    row("direct", "q2", (None,), category="food"),
    row("direct", "q3", (30,), person="ben"),
    row("pgr", "q1", (1, 2), calls=4, cost=0.02, category="trips"),
    row("pgr", "q2", (9,), calls=5, cost=0.03, category="food"),
    row("pgr", "q3", (None,), person="ben", calls=1, error="EndpointError: gone"),
]


def test_means_by_hand() -> None:
    direct, pgr = summarise(ROWS)
    # q1: 1/2 at 5 and whole from 8 on; q2 never; q3 from 30 on.
    assert [direct.recall[k] for k in (5, 10, 20, 35)] == pytest.approx([0.5 / 3, 1 / 3, 1 / 3, 2 / 3])
    assert [direct.exact[k] for k in (5, 10, 35)] == pytest.approx([0, 1 / 3, 2 / 3])
    assert [pgr.recall[k] for k in (5, 10)] == pytest.approx([1 / 3, 2 / 3])
    # At 5 of q1's eight facts one counts; q2 returned none; of q3's first five none counts.
    assert direct.precision[5] == pytest.approx((1 / 5 + 0 + 0) / 3)
    assert direct.precision_all == pytest.approx((2 / 8 + 0 + 1 / 30) / 3)
    # 125 tokens hold 12 facts.
    assert direct.recall_at_tokens[125] == pytest.approx(1 / 3)
    assert (direct.recall_all, direct.facts) == pytest.approx((2 / 3, 38 / 3))
    assert (pgr.calls, pgr.tokens_in, pgr.cost) == pytest.approx((10 / 3, 1000 / 3, 0.05 / 3))
    assert (pgr.cases, pgr.failed, pgr.people, pgr.queries) == (3, 1, 2, 3)


def test_intervals_are_over_people() -> None:
    # Ada's queries have recall 1 and 0 at 10, Ben's 0: draws of people give 1/2, 1/3 and 0.
    direct, _ = summarise(ROWS)
    assert direct.intervals[10] == pytest.approx((0.0, 0.5))
    assert summarise([one for one in ROWS if one.person == "ada"])[0].intervals[10] is None


def test_seeds_are_averaged_before_queries() -> None:
    rows = [row("pgr", "q1", (1,)), row("pgr", "q1", (None,), seed=1), row("pgr", "q2", (1,))]
    (summary,) = summarise(rows)
    assert summary.recall[5] == pytest.approx((0.5 + 1) / 2)
    assert (summary.queries, summary.cases) == (2, 3)


def test_an_unknown_price_makes_the_mean_unknown() -> None:
    (summary,) = summarise([row("pgr", "q1", (1,), cost=None), row("pgr", "q2", (1,))])
    assert summary.cost is None


def test_deciles_and_categories() -> None:
    rows = [row("pgr", "q1", (1, 2, 3, None, 30), category="trips"), row("pgr", "q2", (None,) * 5)]
    (summary,) = summarise(rows)
    # Similarities .1, .1, .2, .2, ... in ten groups of one; q1's stand before q2's.
    assert [mean for mean, _ in summary.by_decile.values()] == pytest.approx(
        [0.1, 0.1, 0.2, 0.2, 0.3, 0.3, 0.4, 0.4, 0.5, 0.5]
    )
    assert [recall[20] for _, recall in summary.by_decile.values()] == [0, 0, 0, 0, 1, 0, 1, 0, 1, 0]
    assert [recall[0] for _, recall in summary.by_decile.values()] == [1, 0, 0, 0, 1, 0, 1, 0, 1, 0]
    assert summary.by_category["trips"][0] == 1
    assert summary.by_category["trips"][1][20] == 3 / 5


# A run that was stopped: the second system was asked one query of two.
PART = [
    row("pgr", "q1", (1, 2, 3, None, 30), similarities=(0.9, 0.8, 0.7, 0.6, 0.5)),
    row("pgr", "q2", (None,) * 5, similarities=(0.4, 0.3, 0.2, 0.1, 0.0)),
    row("direct", "q2", (None, 1, 2, 3, 4), similarities=(0.4, 0.3, 0.2, 0.1, 0.0)),
]


def test_deciles_of_a_run_that_was_stopped_are_those_of_all_that_was_asked() -> None:
    pgr, direct = summarise(PART)
    assert {group: found[20] for group, (_, found) in direct.by_decile.items()} == {0: 1, 1: 1, 2: 1, 3: 1, 4: 0}
    assert [mean for mean, _ in direct.by_decile.values()] == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4])
    assert len(pgr.by_decile) == 10
    for order in (PART, PART[::-1]):
        text = as_markdown(summarise(order))
        lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
        assert ["direct", *["1.000"] * 4, "0.000", *["-"] * 5] in lines
        assert (
            "2 queries of 1 people. Not every system has been asked every query so often: of 2 cases direct 1." in text
        )


def test_seeds_that_are_not_finished_are_said() -> None:
    rows = [row("pgr", query, (1,), seed=seed) for query in ("q1", "q2") for seed in (0, 1, 2)]
    assert "2 queries of 1 people, 3 times each. Intervals" in as_markdown(summarise(rows))
    cut = "2 queries of 1 people, 3 times each. Not every system has been asked every query so often: of 6 cases pgr 5."
    assert cut in as_markdown(summarise(rows[:-1]))


def test_indexes_are_counted_per_user() -> None:
    built = [
        IndexRow(
            dataset="quest", system="pgr", user=user, usage=Usage(calls=calls, tokens_in=10, cost=1.0), seconds=1.0
        )
        for user, calls in (("ada", 4), ("ben", 2))
    ]
    _, pgr = summarise(ROWS, built)
    assert (pgr.index_calls, pgr.index_tokens, pgr.index_cost) == (3.0, 10.0, 1.0)


def test_a_comparison_by_hand() -> None:
    found = compare(ROWS[:3], ROWS[3:], at=10)
    # Differences 0, 1 and 0: two of the two assignments of the sign that matters reach 1.
    assert (found.a, found.b, found.difference, found.p) == pytest.approx((1 / 3, 2 / 3, 1 / 3, 1.0))
    assert (found.better, found.worse, found.queries, found.people) == (1, 0, 3, 2)
    assert found.interval == pytest.approx((0.0, 0.5))
    assert (found.unit, found.verdict) == ("people", "too few people")


def asked(system: str, wins: dict[str, tuple[int, ...]]) -> list[Row]:
    """Rows of people's queries; of each the first rank."""
    return [
        row(system, f"{person}-{n}", (rank,), person=person)
        for person, ranks in wins.items()
        for n, rank in enumerate(ranks)
    ]


def test_what_a_person_brings_is_flipped_at_once() -> None:
    # Six people of two queries each, all better: 2 of 2^6 assignments of people reach that, 2 of 2^12 of queries.
    people = [f"p{n}" for n in range(6)]
    a, b = asked("a", dict.fromkeys(people, (30, 30))), asked("b", dict.fromkeys(people, (1, 1)))
    found = compare(a, b, at=20)
    assert (found.p, found.verdict) == (2 / 2**6, "real")
    assert compare(a, b, at=20, unit="queries").p == 2 / 2**12


def test_a_persons_queries_are_summed_so_that_each_query_weighs_the_same() -> None:
    # Sums of 3, -1 and 1: of the eight |+-3 +-1 +-1| six reach 3. Means of 1, -1 and 1 would give 8 of 8.
    a = asked("a", {"ada": (30, 30, 30), "ben": (1,), "cy": (30,)})
    b = asked("b", {"ada": (1, 1, 1), "ben": (30,), "cy": (1,)})
    found = compare(a, b, at=20)
    assert (found.difference, found.p) == (3 / 5, 6 / 8)


def test_equal_systems_are_told_apart_no_more_often_than_the_level_says() -> None:
    # Eight people of eight queries; whom a system suits is chance, and it suits all queries of a person or none.
    chance = random.Random(0)
    wrong = {"people": 0, "queries": 0}
    for _ in range(60):
        wins = {
            f"p{n}": tuple(1 if chance.random() < suits else 30 for _ in range(8))
            for n in range(8)
            for suits in [chance.choice((0.1, 0.9))]
        }
        a, b = asked("a", dict.fromkeys(wins, (30, 1) * 4)), asked("b", wins)
        for unit in ("people", "queries"):
            wrong[unit] += compare(a, b, at=20, unit=unit).p < LEVEL
    assert wrong["people"] <= 6
    assert wrong["queries"] >= 12


def test_what_is_called_real() -> None:
    def verdict(people: int, ranks: tuple[int, ...]) -> str:
        names = [f"p{n}" for n in range(people)]
        a = asked("a", dict.fromkeys(names, (30,)))
        return compare(a, asked("b", {name: (rank,) for name, rank in zip(names, ranks, strict=True)}), at=20).verdict

    assert verdict(5, (1,) * 5) == "too few people"  # p cannot be below 1/16
    assert verdict(6, (1,) * 6) == "real"
    assert verdict(6, (1, 1, 1, 30, 30, 30)) == "open"
    # p over queries of few people is no ground for calling anything real.
    a, b = asked("a", dict.fromkeys("abcd", (30,) * 8)), asked("b", dict.fromkeys("abcd", (1,) * 8))
    assert compare(a, b, at=20, unit="queries").p < 0.001
    assert compare(a, b, at=20, unit="queries").verdict == "too few people"


def test_the_verdict_is_of_the_corrected_p() -> None:
    names = [f"p{n}" for n in range(6)]
    rows = [
        one for system, rank in (("a", 1), ("b", 30), ("c", 40)) for one in asked(system, dict.fromkeys(names, (rank,)))
    ]
    assert {one.verdict for one in compare_all(rows, at=20)} == {"open"}  # 3 * 2 / 2**6
    text = as_markdown(summarise(rows), compare_all(rows, at=20))
    assert "The smallest p over 6 people is .031: compare fewer systems, with a baseline." in text
    few = [one for one in rows if one.person < "p4"]
    assert " 4 are too few people to tell: the smallest p over people is .125." in as_markdown(
        summarise(few), compare_all(few, at=20)
    )
    over = as_markdown(summarise(few), compare_all(few, at=20, unit="queries"))
    assert "over queries p comes out too small. 4 are too few people to tell" in over


def test_only_queries_that_both_were_asked_are_compared() -> None:
    found = compare(ROWS[:3], ROWS[3:5])
    assert (found.queries, found.only_a, found.only_b) == (2, 1, 0)
    found = compare(ROWS[:1], ROWS[3:])
    assert (found.queries, found.only_a, found.only_b) == (1, 0, 2)
    with pytest.raises(InputError, match="'direct' and 'pgr' were asked no query in common"):
        compare(ROWS[:1], ROWS[4:])


def test_failed_cases_among_those_compared_are_counted() -> None:
    found = compare(ROWS[:3], ROWS[3:])
    assert (found.failed_a, found.failed_b) == (0, 1)
    found = compare(ROWS[3:], ROWS[:2])  # the failed case is of a query that is left out
    assert (found.failed_a, found.failed_b) == (0, 0)


def test_all_pairs_are_corrected_together() -> None:
    systems = {"a": 1, "b": 30, "c": None}
    rows = [row(name, f"q{n}", (rank,), person=f"p{n}") for name, rank in systems.items() for n in range(8)]
    found = {(one.system_a, one.system_b): one for one in compare_all(rows, at=20)}
    assert found["a", "b"].p == 2 / 2**8
    assert found["a", "b"].p_corrected == 3 * 2 / 2**8
    assert found["b", "c"].p_corrected == 1.0


def test_a_baseline_leaves_fewer_comparisons_to_correct_for() -> None:
    systems = {"a": 1, "b": 30, "c": None}
    rows = [row(name, f"q{n}", (rank,), person=f"p{n}") for name, rank in systems.items() for n in range(8)]
    found = {(one.system_a, one.system_b): one for one in compare_all(rows, at=20, baseline="b")}
    assert list(found) == [("b", "a"), ("b", "c")]
    assert found["b", "a"].p_corrected == 2 * 2 / 2**8
    with pytest.raises(UnknownNameError, match="system 'bb'; did you mean 'b'"):
        compare_all(rows, baseline="bb")


def test_names_are_looked_up() -> None:
    assert set(rows_of(ROWS, "pgr", None)) == {"quest"}
    with pytest.raises(UnknownNameError, match="system 'pgrr'; did you mean 'pgr'"):
        rows_of(ROWS, "pgrr", None)
    with pytest.raises(UnknownNameError, match="data set 'qest'; did you mean 'quest'"):
        rows_of(ROWS, "pgr", "qest")


def test_markdown_tables_show_the_best_and_the_failures() -> None:
    text = as_markdown(summarise(ROWS), compare_all(ROWS, at=20))
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    assert [
        "pgr",
        "**0.333**",
        "**0.667**",
        "**0.667**",
        "**0.667**",
        "**0.667**",
        "**0.667**",
        "**0.667**",
        "3.7",
        "0.000-1.000",
    ] in lines
    assert "3 queries of 2 people. Intervals: 95 %, bootstrap over people." in text
    assert ["pgr", "3.33", "4.33", "333", "33", "0.0167", "0.50", "37", "1"] in lines
    assert "Recall@20 by category" in text
    assert "trips (1)" in text


def test_csv_and_json_hold_every_figure() -> None:
    summaries = summarise(ROWS)
    direct, pgr = csv.DictReader(as_csv(summaries).splitlines())
    assert (direct["system"], direct["recall@10"], pgr["failed"]) == ("direct", "0.333333", "1")
    data = as_json(summaries, compare_all(ROWS))
    assert json.loads(json.dumps(data)) == data
    assert data["summaries"][1]["recall"]["10"] == pytest.approx(2 / 3)
    assert data["comparisons"][0]["measure"] == "recall"


def test_a_report_is_written_with_plots(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    summaries = summarise(ROWS)
    written = write_report(tmp_path / "out", summaries, []) + save_plots(summaries, tmp_path / "out")
    assert sorted(path.name for path in written) == sorted(
        [
            "report.md",
            "report.csv",
            "report.json",
            *(f"quest-{kind}.{form}" for kind in ("budgets", "calls", "deciles", "money") for form in ("png", "svg")),
        ]
    )
    image = (tmp_path / "out" / "quest-budgets.png").read_bytes()
    assert struct.unpack(">II", image[16:24]) == (1440, 880)
    drawing = (tmp_path / "out" / "quest-budgets.svg").read_text()
    assert "Recall by number of facts" in drawing  # text stays text
    assert "quest: 3 queries of 2 people" in drawing


def test_plots_of_a_run_that_was_stopped(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    paid = [row("pgr", "q1", (1,), cost=0.1), replace(row("pgr", "q1", (1,), cost=None), dataset="unpriced")]
    for place, rows in enumerate((PART, PART[::-1], paid)):
        folder = tmp_path / str(place)
        folder.mkdir()
        assert save_plots(summarise(rows), folder)


def test_plots_are_the_same_every_time(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    first, second = tmp_path / "a", tmp_path / "b"
    for folder in (first, second):
        folder.mkdir()
        save_plots(summarise(ROWS), folder)
    for path in first.iterdir():
        assert path.read_bytes() == (second / path.name).read_bytes()
