"""Whether a statement's event time agrees with the dates that a gold fact names.

In go an event time and the text of gold facts; out comes yes, no, or None where nothing can be compared. The reader of
gold dates is separate from the extractors' own on purpose, and smaller: English names of months, days and years.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, timedelta

from prospection.remember.instants import zone_named
from prospection.types import EventTime

__all__ = ["agrees", "names_date"]

_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_M = "|".join(_MONTHS)
_YEAR = r"(?:19|20)\d\d"
_DATE = re.compile(
    rf"\b(?:(?P<first>[0-3]?\d) to )?(?:(?P<day>[0-3]?\d) )?(?P<month>{_M})\b(?: (?P<year>{_YEAR}))?"
    rf"|\b(?P<alone>{_YEAR})\b"
)


def names_date(text: str) -> bool:
    """Tell whether a gold fact names a date, a month or a year."""
    return bool(_DATE.search(text))


def agrees(event: EventTime, gold: Iterable[str]) -> bool | None:
    """Tell whether an event time overlaps one of the dates that gold facts name.

    A date without a year is taken in the years of the event, so that a wrong year shows only where the gold names one.

    Returns:
        None where no gold fact names a date.
    """
    zone = zone_named(event.zone) if event.zone else UTC
    begin = event.start.astimezone(zone).date()
    # The end is exclusive; an event of minutes still takes up its day.
    end = max(event.end.astimezone(zone).date(), begin + timedelta(days=1))
    named = [match for text in gold for match in _DATE.finditer(text)]
    if not named:
        return None
    years = range(begin.year, end.year + 1)
    spans = [span for match in named for year in years if (span := _span(match, year))]
    return any(begin < last and first < end for first, last in spans)


def _span(match: re.Match[str], year: int) -> tuple[date, date] | None:
    """[first day, day after the last) of a named date; None for 30 February."""
    if match["alone"]:
        return date(int(match["alone"]), 1, 1), date(int(match["alone"]) + 1, 1, 1)
    year, month = int(match["year"] or year), _MONTHS.index(match["month"]) + 1
    if not match["day"]:
        return date(year, month, 1), date(year + month // 12, month % 12 + 1, 1)
    try:
        last = date(year, month, int(match["day"]))
        return date(year, month, int(match["first"] or match["day"])), last + timedelta(days=1)
    except ValueError:
        return None
