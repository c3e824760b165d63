"""Times as a model writes them."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prospection.remember.event_times import interval
from prospection.types import EventTime, Precision

SAID = datetime(2025, 6, 7, 8, 50, tzinfo=UTC)
ZURICH = ZoneInfo("Europe/Zurich")


def read(start: str, end: str | None = None, precision: Precision | None = None) -> tuple[str, str, Precision] | None:
    found = interval(start, end, said=SAID, zone=ZURICH, precision=precision)
    if found is None:
        return None
    local = [instant.astimezone(ZURICH).strftime("%Y-%m-%dT%H:%M") for instant in (found.start, found.end)]
    return local[0], local[1], found.precision


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        (("2025-10-14",), ("2025-10-14T00:00", "2025-10-15T00:00", Precision.DAY)),
        (("2025-10-14T09:00",), ("2025-10-14T09:00", "2025-10-14T09:01", Precision.MINUTE)),
        (("2025-10-14T07:00:30Z",), ("2025-10-14T09:00", "2025-10-14T09:01", Precision.MINUTE)),
        (("2025-12",), ("2025-12-01T00:00", "2026-01-01T00:00", Precision.MONTH)),
        (("2019",), ("2019-01-01T00:00", "2020-01-01T00:00", Precision.YEAR)),
        (("2025-08-02", "2025-08-24"), ("2025-08-02T00:00", "2025-08-25T00:00", Precision.RANGE)),
        (("2025-08-02", "2025-08-02"), ("2025-08-02T00:00", "2025-08-03T00:00", Precision.DAY)),
        (("2025-11-04", "2026-03"), ("2025-11-04T00:00", "2026-04-01T00:00", Precision.RANGE)),
        (("2025-10-01", None, Precision.MONTH), ("2025-10-01T00:00", "2025-11-01T00:00", Precision.MONTH)),
        (("2025", None, Precision.DAY), ("2025-01-01T00:00", "2026-01-01T00:00", Precision.YEAR)),
        (("2025-10-26",), ("2025-10-26T00:00", "2025-10-27T00:00", Precision.DAY)),  # 25 hours long
    ],
)
def test_times_of_any_exactness(given_: tuple[str], expected: tuple[str, str, Precision]) -> None:
    assert read(*given_) == expected


@pytest.mark.parametrize(
    "given_",
    [
        ("soon",),
        ("",),
        ("14.10.2025",),
        ("2025-02-30",),
        ("0001-01-01",),
        ("1700",),
        ("2999-01-01",),
        ("2025-08-24", "2025-08-02"),
        ("2025-08-24", "never"),
        ("9999",),
    ],
)
def test_what_is_not_believed(given_: tuple[str]) -> None:
    assert read(*given_) is None


@given(st.text() | st.from_regex(r"\d{4}(-\d\d){0,2}(T\d\d:\d\d)?", fullmatch=True), st.none() | st.just("2026"))
def test_an_interval_is_never_empty(start: str, end: str | None) -> None:
    found = interval(start, end, said=SAID, zone=ZURICH)
    assert found is None or (isinstance(found, EventTime) and found.start < found.end)
