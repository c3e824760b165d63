"""Dates in a text: what is resolved, and above all what is not."""

from __future__ import annotations

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest

from prospection.remember.rules.dates import event_time
from prospection.types import Precision

FRIDAY = date(2024, 1, 12)


def days(text: str, said: date = FRIDAY) -> tuple[date, date, Precision] | None:
    found = event_time(text, said, UTC)
    return None if found is None else (found.start.date(), found.end.date(), found.precision)


def day(year: int, month: int, number: int) -> tuple[date, date, Precision]:
    start = date(year, month, number)
    return start, date.fromordinal(start.toordinal() + 1), Precision.DAY


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It was on 22 December 2023.", day(2023, 12, 22)),
        ("It was on December 22, 2023.", day(2023, 12, 22)),
        ("It was the 22nd of December.", day(2023, 12, 22)),
        ("We meet on 3 March at nine.", day(2024, 3, 3)),
        ("The court sits on 2024-02-29.", day(2024, 2, 29)),
        ("I signed on yesterday.", day(2024, 1, 11)),
        ("Tomorrow I fly.", day(2024, 1, 13)),
        ("On Friday the 22nd I left.", day(2023, 12, 22)),
        ("Last Sunday, the 7th, it rained.", day(2024, 1, 7)),
        ("I saw her last Sunday.", day(2024, 1, 7)),
        ("I go next Tuesday.", day(2024, 1, 16)),
        ("Ich fliege am 3. März.", day(2024, 3, 3)),
        ("Gestern war ich krank.", day(2024, 1, 11)),
        ("Le 14 février 2024, je pars.", day(2024, 2, 14)),
        ("El 14 de febrero de 2024 salgo.", day(2024, 2, 14)),
        ("Closed from 2 to 24 August 2024.", (date(2024, 8, 2), date(2024, 8, 25), Precision.RANGE)),
        ("Tickets for 15 and 16 March.", (date(2024, 3, 15), date(2024, 3, 17), Precision.RANGE)),
        ("We marry in June 2026.", (date(2026, 6, 1), date(2026, 7, 1), Precision.MONTH)),
        ("It ended in December 2023.", (date(2023, 12, 1), date(2024, 1, 1), Precision.MONTH)),
        ("In 2019 I fell ill.", (date(2019, 1, 1), date(2020, 1, 1), Precision.YEAR)),
    ],
)
def test_what_is_certain_is_resolved(text: str, expected: tuple[date, date, Precision]) -> None:
    assert days(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "I have a cat.",
        "On Thursday I slept through it.",  # which Thursday?
        "I saw him last Wednesday.",  # said on a Friday: two days ago, or nine?
        "On 5 July I was born.",  # half a year away in both directions
        "It is deaf since 2022.",
        "It lasts until 28 February 2024.",
        "From 4 November until March I sit in class.",
        "First on 3 March, then on 5 April 2024.",
        "It may rain, I march on.",
        "On 31 February 2024 never.",
        "I paid 2024 francs for 14 cups.",
    ],
)
def test_what_is_not_certain_is_left_alone(text: str) -> None:
    assert days(text) is None


def test_february_and_march_share_their_weekdays() -> None:
    assert days("On Tuesday, the 4th, he died.", date(2025, 3, 8)) == day(2025, 3, 4)


def test_a_day_is_a_day_of_the_persons_zone() -> None:
    found = event_time("Yesterday.", date(2024, 7, 2), ZoneInfo("Europe/Zurich"))
    assert found is not None
    assert found.start == datetime(2024, 6, 30, 22, tzinfo=UTC)
    assert found.end == datetime(2024, 7, 1, 22, tzinfo=UTC)


@pytest.mark.parametrize("said", [date.min, date.max])
@pytest.mark.parametrize("text", ["Yesterday.", "Today.", "Tomorrow.", "Next Monday.", "On Monday the 4th."])
def test_at_the_ends_of_the_calendar_nothing_is_certain(text: str, said: date) -> None:
    assert event_time(text, said, UTC) is None
