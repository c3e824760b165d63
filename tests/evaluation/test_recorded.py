"""Recorded probes as data."""

from __future__ import annotations

from pathlib import Path

import pytest

from prospection.errors import InputError
from prospection.evaluation.cases import RecordedProspection
from prospection.evaluation.recorded import read_recorded
from prospection.types import Step

SAMPLE = Path(__file__).parents[1] / "data" / "evaluation" / "quest" / "probes"


def test_all_three_kinds_are_joined_by_query() -> None:
    recorded = read_recorded(SAMPLE)
    assert recorded == {
        "user10-q1": RecordedProspection(imagined_facts=("User lives on the fourth floor",)),
        "user2-q1": RecordedProspection(
            steps=(
                Step(sid="s0.1", text="Check that the passport is valid", theme="Papers"),
                Step(sid="s0.2", text="Apply for a visa", theme="Papers"),
                Step(sid="s0.3", text="Find somebody for the hives", theme="Home"),
            ),
            imagined_facts=("User cares for a relative",),
            rewrites=("What ties the user to home?", "Is the passport valid?"),
        ),
    }


def test_nothing_recorded_is_no_error(tmp_path: Path) -> None:
    assert read_recorded(tmp_path / "probes") == {}


def test_a_recording_of_another_shape_is_refused(tmp_path: Path) -> None:
    (tmp_path / "steps.jsonl").write_text('{"id": "user1-q1", "steps": ["Pack"]}')
    with pytest.raises(InputError, match=r"steps\.jsonl, line 1: branches: Field required"):
        read_recorded(tmp_path)
