"""Verdicts of people: kept, taken back, resumed, exported; blind and in everybody's own order."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from prospection.errors import InputError, StoreError
from prospection.evaluation.annotate.box import EXPORT, BallotBox, Choice
from prospection.evaluation.judge.pairs import Pair

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def pairs(count: int) -> list[Pair]:
    return [
        Pair(id=f"p{n}", dataset="d", user="u", query=f"q{n}", a=f"alpha {n}", b=f"beta {n}", names=("pgr", "mem0g"))
        for n in range(count)
    ]


def vote(box: BallotBox, name: str, choice: Choice) -> str:
    pair = box.screen(name).pair
    assert pair is not None
    box.vote(name, pair, choice, seconds=1.26, at=NOW)
    return pair


def test_everybody_sees_every_pair_once_in_an_order_and_on_sides_of_their_own(tmp_path: Path) -> None:
    box = BallotBox(pairs(12), tmp_path / "v.db")
    orders, lefts = [], []
    for name in ("ada", "bo"):
        order = []
        for _ in range(12):
            lefts.append(box.screen(name).left.split()[0])
            order.append(vote(box, name, "tie"))
        assert sorted(order) == sorted(one.id for one in pairs(12))
        assert box.screen(name).pair is None
        orders.append(order)
    assert orders[0] != orders[1]
    assert set(lefts) == {"alpha", "beta"}


def test_a_choice_of_a_side_is_a_verdict_on_the_answer_that_stood_there(tmp_path: Path) -> None:
    box = BallotBox(pairs(12), tmp_path / "v.db")
    for _ in range(12):
        screen = box.screen("ada")
        vote(box, "ada", "left" if screen.left.startswith("alpha") else "right")
    rows = box.rows()
    assert {row[2] for row in rows} == {"a"}
    assert {row[3] for row in rows} == {"a", "b"}
    assert dict(zip(EXPORT, rows[0], strict=True)) | {"pair": "", "left": ""} == {
        "annotator": "ada",
        "pair": "",
        "verdict": "a",
        "left": "",
        "seconds": 1.3,
        "at": "2026-03-01T12:00:00+00:00",
    }


def test_undo_brings_the_latest_pair_back_and_only_ones_own(tmp_path: Path) -> None:
    box = BallotBox(pairs(4), tmp_path / "v.db")
    vote(box, "bo", "left")
    first, second = vote(box, "ada", "left"), vote(box, "ada", "right")
    box.undo("ada")
    assert (box.screen("ada").pair, box.screen("ada").done) == (second, 1)
    box.undo("ada")
    box.undo("ada")
    assert (box.screen("ada").pair, box.screen("ada").done) == (first, 0)
    assert box.screen("bo").done == 1


def test_it_goes_on_after_a_restart_under_the_same_key(tmp_path: Path) -> None:
    box = BallotBox(pairs(3), tmp_path / "v.db")
    vote(box, "ada", "tie")
    again = BallotBox(pairs(3), tmp_path / "v.db")
    assert again.key == box.key
    assert len(box.key) >= 16
    assert again.screen("  ada ").done == 1
    assert again.rows("bo") == []


def test_what_cannot_be_used_is_refused(tmp_path: Path) -> None:
    box = BallotBox(pairs(2), tmp_path / "v.db")
    with pytest.raises(InputError, match="verdicts on other pairs"):
        BallotBox(pairs(3), tmp_path / "v.db")
    with pytest.raises(InputError, match="no pairs"):
        BallotBox([], tmp_path / "v.db")
    for name in ("", "  ", "x" * 61, "a\x00b"):
        with pytest.raises(InputError, match="no name"):
            box.screen(name)
    with pytest.raises(InputError, match="no pair 'zz'"):
        box.vote("ada", "zz", "tie", seconds=1, at=NOW)
    (tmp_path / "text").write_text("not a database, although it is long enough to be one" * 40)
    with pytest.raises(StoreError, match="cannot be used"):
        BallotBox(pairs(1), tmp_path / "text")
