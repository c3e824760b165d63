"""Instants: aware, and in UTC."""

from __future__ import annotations

from datetime import UTC, datetime

from prospection.errors import InputError, NaiveTimeError

__all__ = ["aware_utc"]


def aware_utc(instant: datetime, what: str = "time") -> datetime:
    """Return the same instant in UTC.

    Raises:
        InputError: It is no datetime, or in UTC it lies outside of the years 1 to 9999.
        NaiveTimeError: The datetime carries no zone.
    """
    if not isinstance(instant, datetime):
        raise InputError(
            f"{what} is {instant!r}; pass an aware datetime, for example datetime(2025, 3, 1, 9, 30, tzinfo=UTC)"
        )
    if instant.tzinfo is None or instant.utcoffset() is None:
        raise NaiveTimeError(
            f"{what} {instant.isoformat()!r} has no zone; pass an aware datetime, "
            "for example datetime(2025, 3, 1, 9, 30, tzinfo=ZoneInfo('Europe/Berlin'))"
        )
    try:
        return instant.astimezone(UTC)
    except OverflowError as error:
        raise InputError(f"{what} {instant.isoformat()!r} lies outside of the years 1 to 9999 in UTC") from error
