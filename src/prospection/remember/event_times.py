"""When something happens, from the way a model writes it to an interval.

In go ISO texts of any exactness; out comes the half-open interval they mean in the person's time zone, or None when
they mean none or an implausible one. Pure: no clock is read.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo

from prospection.remember.instants import zone_name
from prospection.types import EventTime, Precision

__all__ = ["interval"]

_ISO = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ](\d\d):(\d\d)(?::\d\d(?:\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?)?)?")
_EARLIEST_YEAR = 1850
_LATEST_AHEAD = timedelta(days=366 * 60)
"""People plan a pension ahead, not further."""
_COARSER = (Precision.MINUTE, Precision.DAY, Precision.MONTH, Precision.YEAR)

_Span = tuple[datetime, datetime, Precision]


def interval(
    start: str, end: str | None, *, said: datetime, zone: tzinfo, precision: Precision | None = None
) -> EventTime | None:
    """Read a time as a model gives it.

    Args:
        start: "2025-10-14T09:00", "2025-10-14", "2025-10" or "2025", in the person's own time unless it names a zone.
        end: The last minute, day, month or year of a span, itself included; None for a single one.
        said: When the conversation took place; times more than sixty years later are not believed.
        zone: The person's time zone.
        precision: How exactly the model says it is known; makes the interval wider, never narrower.
    """
    first = _read(start, zone, precision)
    last = _read(end, zone, precision) if end else first
    if first is None or last is None or last[1] <= first[0]:
        return None
    if first[0].year < _EARLIEST_YEAR or first[0] - said > _LATEST_AHEAD or last[1] - said > _LATEST_AHEAD:
        return None
    same = last[:2] == first[:2]
    return EventTime(
        start=first[0].astimezone(UTC),
        end=last[1].astimezone(UTC),
        precision=first[2] if same else Precision.RANGE,
        zone=zone_name(zone),
    )


def _read(text: str, zone: tzinfo, precision: Precision | None) -> _Span | None:
    match = _ISO.fullmatch(text.strip())
    if not match:
        return None
    year, month, day, hour, minute, offset = match.groups()
    known = Precision.MINUTE if hour else Precision.DAY if day else Precision.MONTH if month else Precision.YEAR
    if precision in _COARSER:
        known = max(known, precision, key=_COARSER.index)
    try:
        begin = datetime(int(year), int(month or 1), int(day or 1), int(hour or 0), int(minute or 0), tzinfo=zone)
        if offset:
            begin = datetime.fromisoformat(text.strip()).astimezone(zone)
        return _widened(begin, known)
    except (ValueError, OverflowError):
        return None


def _widened(begin: datetime, known: Precision) -> _Span:
    """Return the minute, day, month or year that an instant lies in; days are those of its zone."""
    if known is Precision.MINUTE:
        begin = begin.replace(second=0, microsecond=0)
        return begin, (begin.astimezone(UTC) + timedelta(minutes=1)).astimezone(begin.tzinfo), known
    begin = begin.replace(hour=0, minute=0, second=0, microsecond=0)
    if known is Precision.DAY:
        return begin, begin + timedelta(days=1), known
    begin = begin.replace(day=1)
    if known is Precision.MONTH:
        return begin, begin.replace(year=begin.year + begin.month // 12, month=begin.month % 12 + 1), known
    begin = begin.replace(month=1)
    return begin, begin.replace(year=begin.year + 1), known
