"""Instants as people and programs write them.

In goes an ISO date, a date and time, or seconds since 1970; out comes an aware instant in UTC. No clock is read and no
zone is guessed: what carries none is refused, unless the caller names the zone it was written down in.
"""

from __future__ import annotations

from datetime import UTC, datetime, time, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from prospection.errors import ConversationError, InputError, UnknownNameError
from prospection.types import aware_utc

__all__ = ["parse_instant", "zone_name", "zone_named"]

_NOON = time(12)
_MILLISECONDS_FROM = 1e11
"""Larger numbers count milliseconds, as JavaScript does: as seconds they would lie past the year 5000."""


def parse_instant(stamp: object, what: str, zone: tzinfo | None = None) -> datetime:
    """Read an instant.

    Args:
        stamp: ISO text, a datetime, or seconds (or milliseconds) since 1970. A bare day stands for its noon.
        what: What it is the time of, for messages: "the time of message 3".
        zone: Where times without a zone were written down; None refuses them.

    Raises:
        ConversationError: It is none of these.
        NaiveTimeError: It has no zone and none is named.
    """
    if isinstance(stamp, int | float) and not isinstance(stamp, bool):
        return _from_epoch(stamp, what)
    if isinstance(stamp, datetime):
        parsed = stamp
    elif isinstance(stamp, str):
        parsed = _from_text(stamp.strip(), what)
    else:
        raise ConversationError(f"{what} is {stamp!r}; write it as 2025-03-01T09:30+01:00")
    if parsed.tzinfo is None and zone is not None:
        parsed = parsed.replace(tzinfo=zone)
    return aware_utc(parsed, what)


def zone_named(name: str) -> ZoneInfo:
    """Return the time zone of an IANA name.

    Raises:
        InputError: It is no name.
        UnknownNameError: There is no such zone.
    """
    if not isinstance(name, str):
        raise InputError(f"the time zone is {name!r}; pass its IANA name as text, for example 'Europe/Zurich' or 'UTC'")
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise UnknownNameError("time zone", name, available_timezones()) from error


def zone_name(zone: tzinfo) -> str | None:
    """Return the IANA name of a time zone; None for one that has none, such as UTC or a fixed offset."""
    return zone.key if isinstance(zone, ZoneInfo) else None


def _from_text(text: str, what: str) -> datetime:
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError as error:
        raise ConversationError(f"{what} is {text!r}; write it as 2025-03-01 or 2025-03-01T09:30+01:00") from error
    # Noon falls on the same day in nearly every zone.
    return datetime.combine(parsed.date(), _NOON) if len(text) <= len("2025-03-01") else parsed


def _from_epoch(stamp: float, what: str) -> datetime:
    try:
        return datetime.fromtimestamp(stamp / 1000 if abs(stamp) > _MILLISECONDS_FROM else stamp, tz=UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise ConversationError(f"{what} is {stamp!r}, which is no instant; give seconds since 1970") from error
