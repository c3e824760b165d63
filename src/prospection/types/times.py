"""Instants: aware, and in UTC."""

from __future__ import annotations

from datetime import UTC, datetime

from prospection.errors import NaiveTimeError

__all__ = ["aware_utc"]


def aware_utc(instant: datetime, what: str = "time") -> datetime:
    """Return the same instant in UTC.

    Raises:
        NaiveTimeError: The datetime carries no zone.
    """
    if instant.tzinfo is None or instant.utcoffset() is None:
        raise NaiveTimeError(
            f"{what} {instant.isoformat()!r} has no zone; pass an aware datetime, "
            "for example datetime(2025, 3, 1, 9, 30, tzinfo=ZoneInfo('Europe/Berlin'))"
        )
    return instant.astimezone(UTC)
