"""Win rates: both orders brought together, counted, and freed of length."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
from scipy.optimize import minimize  # type: ignore[import-untyped]

from prospection.errors import InputError
from prospection.evaluation.judge.pairs import Side
from prospection.evaluation.judge.tables import HEAD, as_csv, as_markdown, judge_json, judge_rows, win_rates
from prospection.evaluation.judge.verdicts import Judgement
from prospection.evaluation.judge.winrate import PRIOR, combine, length_controlled, verdicts_by_pair, win_rate
from prospection.types import Usage


def judged(
    pair: str,
    first: Literal["a", "b"],
    verdict: Side | None,
    *,
    dataset: str = "quest",
    user: str | None = None,
    lengths: tuple[int, int] = (100, 100),
    names: tuple[str, str] = ("pgr", "mem0g"),
    model: str = "m",
    prompt: str = "h",
) -> Judgement:
    return Judgement(
        pair=pair,
        dataset=dataset,
        user=user or pair,
        names=names,
        lengths=lengths,
        first=first,
        verdict=verdict,
        reason="",
        model=model,
        prompt=prompt,
        usage=Usage(calls=1, cost=0.25),
        error=None if verdict else "down",
    )


def both(
    pair: str,
    one: Side,
    other: Side,
    *,
    dataset: str = "quest",
    user: str | None = None,
    lengths: tuple[int, int] = (100, 100),
) -> list[Judgement]:
    return [
        judged(pair, "a", one, dataset=dataset, user=user, lengths=lengths),
        judged(pair, "b", other, dataset=dataset, user=user, lengths=lengths),
    ]


ROWS = [*both("1", "a", "a"), *both("2", "a", "b"), *both("3", "b", "b"), *both("4", "a", "tie"), judged("5", "a", "a")]


def test_a_pair_is_won_by_who_wins_in_both_orders() -> None:
    found = combine([*ROWS, judged("5", "b", None)])
    assert [(one.pair, one.verdict, one.agreed) for one in found] == [
        ("1", "a", True),
        ("2", "tie", False),  # the first one won both times
        ("3", "b", True),
        ("4", "tie", False),
    ]
    assert [one.preferred for one in found] == [(1, 1), (2, 0), (1, 1), (1, 0)]


def test_wins_and_half_of_the_ties() -> None:
    rate = win_rate(combine(ROWS), rounds=50)
    assert (rate.pairs, rate.wins, rate.ties, rate.losses, rate.rate) == (4, 1, 2, 1, 0.5)
    assert rate.agreed == 0.5
    assert rate.first == pytest.approx(5 / 7)
    assert rate.interval is not None
    assert rate.interval[0] < 0.5 < rate.interval[1]
    assert rate.controlled == pytest.approx(0.5)
    with pytest.raises(ValueError, match="no pairs"):
        win_rate([])


def test_one_person_gives_no_interval() -> None:
    rate = win_rate(combine([*both("1", "a", "a", user="u"), *both("2", "a", "a", user="u")]))
    assert (rate.interval, rate.controlled_interval) == (None, None)


def test_intervals_resample_people_with_all_their_pairs() -> None:
    # Of two people half of the resamples are both, and a quarter each one of them twice: these are the 95 % bounds.
    # Ada's four answers all win and Bo's two all lose, with the same differences of length in every half.
    ada = [both(f"a{n}", "a", "a", user="ada", lengths=(100 + 20 * (n % 2), 110)) for n in range(4)]
    bo = [both(f"b{n}", "b", "b", user="bo", lengths=(100 + 20 * (n % 2), 110)) for n in range(2)]
    rate = win_rate(combine([one for pair in [*ada, *bo] for one in pair]))
    assert rate.rate == pytest.approx(2 / 3)
    assert rate.interval == (0.0, 1.0)
    assert rate.controlled_interval == pytest.approx(
        (length_controlled([0.0] * 4, [10.0, -10.0] * 2), length_controlled([1.0] * 8, [10.0, -10.0] * 4))
    )


def test_intervals_hold_95_per_cent_of_the_resamples() -> None:
    # Of three people one is drawn three times in 1 of 27 resamples, 3.7 %: that is the bound of 95 %, not of 90.
    said: dict[str, list[Side]] = {"ada": ["a", "a"], "bo": ["b", "b"], "cy": ["a", "b"]}
    pairs = [
        both(f"{user}{n}", verdict, verdict, user=user, lengths=(100 + 20 * n, 110))
        for user, verdicts in said.items()
        for n, verdict in enumerate(verdicts)
    ]
    rate = win_rate(combine([one for pair in pairs for one in pair]))
    assert rate.interval == (0.0, 1.0)
    lengths = [-10.0, 10.0] * 3
    assert rate.controlled_interval == pytest.approx(
        (length_controlled([0.0] * 6, lengths), length_controlled([1.0] * 6, lengths))
    )


def test_a_resample_keeps_the_scale_of_all_lengths() -> None:
    ada = [both("a0", "b", "b", user="ada"), both("a1", "a", "a", user="ada", lengths=(140, 100))]
    bo = [both(f"b{n}", "b", "b", user="bo", lengths=(100 - 5 * n, 100)) for n in range(2)]
    rate = win_rate(combine([one for pair in [*ada, *bo] for one in pair]))
    spread = float(np.std([0.0, 40.0, 0.0, -5.0]))
    bounds = [
        best_fit(np.array(scores), np.tanh(np.array(differences) / spread))
        for scores, differences in (([0.0] * 4, [0.0, -5.0] * 2), ([0.0, 1.0] * 2, [0.0, 40.0] * 2))
    ]
    assert rate.controlled_interval == pytest.approx(bounds, abs=1e-5)


@pytest.mark.parametrize(
    "differences", [[500.0] * 10, [499.0, 501.0] * 5, [-0.1] * 10, [-500.0, -510.0] * 5, [375.0, 625.0] * 5, [10.0]]
)
def test_lengths_that_differ_by_the_same_throughout_leave_nothing_to_control(differences: list[float]) -> None:
    scores = ([1.0] * 7 + [0.0] * 3)[: len(differences)]
    assert length_controlled(scores, differences) is None
    rows = [
        one
        for n, difference in enumerate(differences)
        for one in both(str(n), "a", "a", lengths=(1000 + int(difference * 10), 1000))
    ]
    rate = win_rate(combine(rows))
    assert (rate.controlled, rate.controlled_interval) == (None, None)
    assert judge_rows(rows)[0][7:9] == ("no spread", "-")


def test_where_length_alone_decides_nothing_is_left_at_equal_length() -> None:
    # a is longer in three of four pairs, and the longer answer wins four of five times, whoever wrote it.
    differences = [100.0] * 300 + [-100.0] * 100
    scores = [1.0] * 240 + [0.0] * 60 + [1.0] * 20 + [0.0] * 80
    assert np.mean(scores) == 0.65
    assert length_controlled(scores, differences) == pytest.approx(0.5, abs=0.01)


def test_where_length_does_not_matter_the_rate_stays() -> None:
    assert length_controlled([1.0, 1.0, 0.5, 0.0] * 100, [0.0] * 400) == pytest.approx(0.625, abs=0.002)
    assert length_controlled([1.0, 1.0, 1.0, 0.0] * 100, [50.0] * 200 + [-50.0] * 200) == pytest.approx(0.75, abs=0.01)


def test_it_is_the_maximum_that_another_optimiser_finds() -> None:
    random = np.random.default_rng(7)
    differences = random.normal(30, 100, size=60)
    scores = random.choice([0.0, 0.5, 1.0], p=[0.2, 0.1, 0.7], size=60)
    best = best_fit(scores, np.tanh(differences / differences.std()))
    assert length_controlled(list(scores), list(differences)) == pytest.approx(best, abs=1e-6)


def best_fit(scores: np.ndarray, x: np.ndarray) -> float:
    def loss(w: np.ndarray) -> float:
        z = w[0] + w[1] * x
        likelihood = np.sum(scores * z - np.logaddexp(0, z))
        return float(-likelihood + np.sum(w**2 / (2 * np.array(PRIOR) ** 2)))

    best = minimize(loss, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12}).x
    return float(1 / (1 + np.exp(-best[0])))


def test_a_clean_sweep_is_finite() -> None:
    assert 0.97 < (length_controlled([1.0] * 20, [float(n) for n in range(20)]) or 0.0) < 1.0
    assert 0.0 < (length_controlled([0.0, 0.0], [10.0, -10.0]) or 0.0) < 0.5


def test_tables_have_a_row_a_set_and_one_over_all() -> None:
    rows = [*both("1", "a", "a"), *both("2", "b", "b", dataset="opposed"), judged("3", "a", None)]
    assert [(row.data, rate.pairs, rate.rate) for row, rate in win_rates(rows).items()] == [
        ("quest", 1, 1.0),
        ("opposed", 1, 0.0),
        ("all", 2, 0.5),
    ]
    data = judge_json(rows)
    assert (data["prompts"], data["rows"][0]["model"], data["rows"][0]["prompt"]) == (["h"], "m", "h")
    assert (data["failed"], data["models"], data["usage"]["calls"], data["usage"]["cost"]) == (1, ["m"], 5, 1.25)
    assert data["rows"][2]["data"] == "all"
    assert judge_rows(rows)[0] == (
        *("pgr", "mem0g", "m", "quest", "1", "100.0", "-", f"{100 * (length_controlled([1.0], [0.0]) or 0):.1f}", "-"),
        *("1", "0", "0", "100.0", "50.0"),
    )
    assert len(HEAD) == len(judge_rows(rows)[0])
    assert judge_rows([judged("3", "a", None)]) == []
    assert as_markdown([("a", "b"), ("1|2", "3")]) == "| a | b |\n| --- | --- |\n| 1\\|2 | 3 |"
    assert as_csv([("a",), ("=1+1",), (-1,), ("-",), ("-1",)]) == "a\n'=1+1\n-1\n-\n'-1\n"


def test_one_set_without_a_name_has_the_row_over_all_alone() -> None:
    rows = [*both("1", "a", "a", dataset=""), *both("2", "b", "b", dataset=""), *both("3", "a", "a", dataset="")]
    assert [row.data for row in win_rates(rows)] == ["all"]
    assert [row.data for row in win_rates(both("1", "a", "a"))] == ["quest"]
    assert [cell for cell in judge_rows(rows)[0] if " to " in cell] == [
        "0.0 to 100.0",
        "{:.1f} to {:.1f}".format(*(100 * end for end in win_rate(combine(rows)).controlled_interval or ())),
    ]


def test_every_judge_and_comparison_has_a_row_of_its_own() -> None:
    one = both("1", "a", "a")
    other = [replace(judgement, model="n", verdict="b") for judgement in one]
    anew = [replace(judgement, prompt="i", verdict="tie") for judgement in one]
    against = [replace(judgement, names=("pgr", "graph"), verdict="b") for judgement in one]
    for rows in ([*one, *other, *anew, *against], [*against, *anew, *other, *one]):
        assert {row[:3]: row[5] for row in judge_rows(rows)} == {
            ("pgr", "mem0g", "m, prompt h"): "100.0",
            ("pgr", "mem0g", "m, prompt i"): "50.0",
            ("pgr", "mem0g", "n"): "0.0",
            ("pgr", "graph", "m, prompt h"): "0.0",
        }
    for mixed in (other, anew):
        with pytest.raises(InputError, match="of two judges, 'm' with prompt h and"):
            verdicts_by_pair(combine([*one, *mixed]))
    with pytest.raises(InputError, match="'1' is a pair of pgr and mem0g and of pgr and graph"):
        verdicts_by_pair(combine([*one, *against]))
    assert verdicts_by_pair(combine([*one, *both("2", "a", "b")])) == {"1": "a", "2": "tie"}
