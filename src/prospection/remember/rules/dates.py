"""Dates that a sentence names, resolved against the day it was said.

In goes a text and the local day of the conversation; out comes one `EventTime`, or None. It resolves only what is
certain: a written-out date, a weekday with its day of the month, yesterday, today, tomorrow, last and next weekday, a
month with its year, a year after "in". When a text names two different times, none is taken.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from prospection.remember.instants import zone_name
from prospection.types import EventTime, Precision

__all__ = ["event_time"]

_MONTH_NAMES = (
    "january|jan|januar|jänner|enero|janvier",
    "february|feb|februar|febrero|février",
    "march|mar|märz|marzo|mars",
    "april|apr|abril|avril",
    "may|mai|mayo",
    "june|jun|juni|junio|juin",
    "july|jul|juli|julio|juillet",
    "august|aug|agosto|août",
    "september|sept|sep|septiembre|septembre",
    "october|oct|oktober|okt|octubre|octobre",
    "november|nov|noviembre|novembre",
    "december|dec|dezember|dez|diciembre|décembre",
)
_WEEKDAY_NAMES = (
    "monday|montag|lunes|lundi",
    "tuesday|dienstag|martes|mardi",
    "wednesday|mittwoch|miércoles|mercredi",
    "thursday|donnerstag|jueves|jeudi",
    "friday|freitag|viernes|vendredi",
    "saturday|samstag|sonnabend|sábado|samedi",
    "sunday|sonntag|domingo|dimanche",
)
_MONTH = {name: number for number, names in enumerate(_MONTH_NAMES, 1) for name in names.split("|")}
_WEEKDAY = {name: number for number, names in enumerate(_WEEKDAY_NAMES) for name in names.split("|")}
_RELATIVE = {
    "yesterday": -1, "gestern": -1, "ayer": -1, "hier": -1,
    "today": 0, "heute": 0, "hoy": 0, "aujourd'hui": 0, "aujourd’hui": 0,
    "tomorrow": 1, "demain": 1,
}  # fmt: skip
_M = "|".join(sorted(_MONTH, key=len, reverse=True))
_W = "|".join(_WEEKDAY)
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th|er|\.)?"
_YEAR = r"(?:,?\s+(?:de\s+)?(?P<year>(?:19|20)\d\d))"

_RANGE = re.compile(
    rf"\b(?P<first>[0-3]?\d)(?:st|nd|rd|th|\.)?\s*(?:to|and|until|bis(?: zum)?|und|al|y|au|et|[-–])\s*{_DAY}"
    rf"\s+(?:of\s+|de\s+)?(?P<month>{_M})\b{_YEAR}?",
    re.IGNORECASE,
)
_ISO = re.compile(r"\b(?P<year>(?:19|20)\d\d)-(?P<month>\d\d)-(?P<day>\d\d)\b")
_DAY_MONTH = re.compile(rf"\b{_DAY}\s+(?:of\s+|de\s+)?(?P<month>{_M})\b\.?{_YEAR}?", re.IGNORECASE)
_MONTH_DAY = re.compile(
    rf"\b(?P<month>{_M})\.?\s+(?P<day>[0-3]?\d)(?:st|nd|rd|th)?\b(?!\s*[:%]){_YEAR}?", re.IGNORECASE
)
_WEEKDAY_DAY = re.compile(
    rf"\b(?P<weekday>{_W}),?\s+(?:the|den|dem|el|le)\s+(?P<day>[0-3]?\d)(?:st|nd|rd|th|\.)?(?!\d|\s+(?:{_M}))",
    re.IGNORECASE,
)
_WEEKDAY_TURN = re.compile(rf"\b(?P<turn>last|next|letzten|nächsten)\s+(?P<weekday>{_W})\b", re.IGNORECASE)
_DAY_WORD = re.compile(rf"(?<!\w)(?P<word>{'|'.join(_RELATIVE)})(?!\w)", re.IGNORECASE)
_MONTH_YEAR = re.compile(rf"\b(?P<month>{_M})\s+(?:de\s+)?(?P<year>(?:19|20)\d\d)\b", re.IGNORECASE)
_IN_YEAR = re.compile(r"\b(?:in|im jahr|en)\s+(?P<year>(?:19|20)\d\d)\b", re.IGNORECASE)
# "until 30 September", "since 2022": one end of a span is not when something happened.
_OPEN_ENDED = re.compile(
    r"\b(?:since|until|till|before|after|by|from|seit|bis(?: zum)?|vor dem|nach dem|ab|vom|desde|hasta|antes del?"
    r"|depuis|jusqu['’]au|avant|après|dès)\s+(?:(?:the|den|dem|le|el)\s+)?(?:\w+,?\s+(?:the\s+)?)?$",
    re.IGNORECASE,
)
_FAR_DAYS = 150
"""A date without a year is taken in the year that brings it nearest, if that is nearer than this."""

_NEAR_DAYS = 14

_Span = tuple[date, date, Precision]


def event_time(text: str, said: date, zone: tzinfo) -> EventTime | None:
    """Resolve the one time that a text names.

    Args:
        text: What was said.
        said: The person's local day of the conversation.
        zone: The person's time zone, in which days begin and end.

    Returns:
        The half-open interval in UTC, or None when the text names no time, several, or one that is not certain.
    """
    if not date.min.year < said.year < date.max.year:
        return None  # what programs write for "no date"; the days around it do not all exist
    spans = set(_spans(text, said))
    if len(spans) != 1:
        return None
    start, end, precision = spans.pop()
    return EventTime(start=_midnight(start, zone), end=_midnight(end, zone), precision=precision, zone=zone_name(zone))


def _spans(text: str, said: date) -> list[_Span]:
    """Return [first day, day after the last) of every time that is named, finer kinds before coarser ones."""
    found: list[_Span] = []
    uncertain = False
    for pattern, resolve in _KINDS:
        rest = text
        for match in pattern.finditer(text):
            rest = rest[: match.start()] + " " * len(match.group()) + rest[match.end() :]
            if pattern is not _RANGE and _OPEN_ENDED.search(text[: match.start()]):
                continue
            span = resolve(match, said)
            uncertain = uncertain or span is None
            found += [span] if span else []
        text = rest
    return [] if uncertain else found


def _range(match: re.Match[str], said: date) -> _Span | None:
    last = _dated(match, said)
    first = _safe(last[0].year, last[0].month, int(match["first"])) if last else None
    return (first, last[1], Precision.RANGE) if first and last and first < last[1] else None


def _dated(match: re.Match[str], said: date) -> _Span | None:
    month = _MONTH.get(match["month"].lower()) or int(match["month"])
    if match["year"]:
        return _one_day(_safe(int(match["year"]), month, int(match["day"])))
    days = [day for year in (said.year - 1, said.year, said.year + 1) if (day := _safe(year, month, int(match["day"])))]
    nearest = min(days, key=lambda day: abs(day - said), default=None)
    return _one_day(nearest) if nearest and abs(nearest - said).days <= _FAR_DAYS else None


def _weekday_and_day(match: re.Match[str], said: date) -> _Span | None:
    weekday, number = _WEEKDAY[match["weekday"].lower()], int(match["day"])
    near = [said + timedelta(days=offset) for offset in range(-45, 46)]
    fitting = [day for day in near if day.day == number and day.weekday() == weekday]
    # February to March the same pair comes twice; a fortnight off, only one of them is what a person would mean.
    fitting = [day for day in fitting if abs(day - said).days <= _NEAR_DAYS] or fitting
    return _one_day(fitting[0]) if len(fitting) == 1 else None


def _weekday_in_turn(match: re.Match[str], said: date) -> _Span | None:
    ahead = (_WEEKDAY[match["weekday"].lower()] - said.weekday()) % 7
    if match["turn"].lower() in ("last", "letzten"):
        back = (7 - ahead) % 7 or 7
        # On a Friday "last Wednesday" may be two days or nine days ago.
        return _one_day(said - timedelta(days=back)) if said.weekday() - back < 0 else None
    ahead = ahead or 7
    return _one_day(said + timedelta(days=ahead)) if said.weekday() + ahead > 6 else None


def _day_word(match: re.Match[str], said: date) -> _Span | None:
    return _one_day(said + timedelta(days=_RELATIVE[match["word"].lower()]))


def _whole_month(match: re.Match[str], said: date) -> _Span | None:
    year, month = int(match["year"]), _MONTH[match["month"].lower()]
    return date(year, month, 1), date(year + month // 12, month % 12 + 1, 1), Precision.MONTH


def _whole_year(match: re.Match[str], said: date) -> _Span | None:
    year = int(match["year"])
    return date(year, 1, 1), date(year + 1, 1, 1), Precision.YEAR


_KINDS = (
    (_RANGE, _range),
    (_ISO, _dated),
    (_DAY_MONTH, _dated),
    (_MONTH_DAY, _dated),
    (_WEEKDAY_DAY, _weekday_and_day),
    (_WEEKDAY_TURN, _weekday_in_turn),
    (_DAY_WORD, _day_word),
    (_MONTH_YEAR, _whole_month),
    (_IN_YEAR, _whole_year),
)


def _one_day(day: date | None) -> _Span | None:
    return (day, day + timedelta(days=1), Precision.DAY) if day else None


def _safe(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _midnight(day: date, zone: tzinfo) -> datetime:
    return datetime.combine(day, time(), tzinfo=zone).astimezone(UTC)
