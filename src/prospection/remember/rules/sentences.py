"""A text into its sentences.

In goes any text, in any script; out come `Sentence` values whose text stands in the original at `start:end`. A line
break always ends a sentence, and list bullets belong to none. Boundaries are never set inside a short quotation, after
an abbreviation or an initial, or between a day and its month ("14. Oktober"). In doubt two sentences stay one: an
overlong sentence can still be read, a torn one cannot.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Sentence", "split_sentences"]

_BULLET = re.compile(r"\s*(?:[-*+•–>#]+|\d{1,2}[.)])\s+")
# A full stop of Latin scripts counts only before white space; those of Chinese, Japanese, Hindi or Arabic always do.
_END = re.compile(r"[.!?…]+[\"'”’»)\]]*(?=\s|$)|[。！？｡۔؟।]+[”’」』）]*")
_QUOTATION = re.compile(r'"[^"\n]{1,240}"|“[^”\n]{1,240}”|„[^“”\n]{1,240}[“”]|«[^»\n]{1,240}»|「[^」\n]{1,240}」')
_LETTERS = re.compile(r"(?:\b(?:[A-Za-z]\.)+[A-Za-z]|\b[A-HJ-Z])$")  # e.g., p.m., B.B., J.
_TITLE = re.compile(
    r"\b(?:dr|mr|mrs|ms|st|jr|prof|vs|bzw|evtl|bsp|hr|fr|mme|mlle|sr|sra|srta|ud|uds|mt)$", re.IGNORECASE
)
_BEFORE_NUMBER = re.compile(
    r"\b(?:no|nr|ca|approx|inkl|tel|fig|vol|art|abs|min|max|pág|núm|p|pp|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)$",
    re.IGNORECASE,
)
_MONTH = re.compile(r"\s+(?:jan|feb|mär|mar|apr|ma[iy]|jun|jul|aug|sep|okt|oct|nov|de[zc])\w*", re.IGNORECASE)
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """One sentence, without surrounding white space; `text` is the original's `[start:end]`."""

    text: str
    start: int
    end: int


def split_sentences(text: str) -> list[Sentence]:
    """Split a text into sentences, in order; code between triple backquotes is left out. Empty text gives `[]`."""
    found: list[Sentence] = []
    begin = 0
    for fence in _CODE.finditer(text):
        found += _prose(text, begin, fence.start())
        begin = fence.end()
    return found + _prose(text, begin, len(text))


def _prose(text: str, begin: int, end: int) -> list[Sentence]:
    found: list[Sentence] = []
    at = begin
    for line in text[begin:end].splitlines(keepends=True):
        found += _line(text, at, at + len(line))
        at += len(line)
    return found


def _line(text: str, begin: int, end: int) -> list[Sentence]:
    if bullet := _BULLET.match(text, begin, end):
        begin = bullet.end()
    quotations = [match.span() for match in _QUOTATION.finditer(text, begin, end)]
    found: list[Sentence] = []
    start = begin
    for mark in _END.finditer(text, begin, end):
        inside = any(low < mark.start() and mark.end() < high for low, high in quotations)
        if inside or not _ends_here(text, start, mark):
            continue
        found.append(_trimmed(text, start, mark.end()))
        start = mark.end()
    found.append(_trimmed(text, start, end))
    return [sentence for sentence in found if sentence.text]


def _ends_here(text: str, start: int, mark: re.Match[str]) -> bool:
    rest = text[mark.end() :].lstrip(" \t")
    if rest[:1].islower():
        return False
    if mark.group() != ".":
        return True
    before = text[start : mark.start()]
    if _LETTERS.search(before) and not _closes_anyway(before, rest):
        return False
    if _TITLE.search(before) or (rest[:1].isdigit() and _BEFORE_NUMBER.search(before)):
        return False
    return not (re.search(r"(?:^|\D)\d{1,2}$", before) and _MONTH.match(text, mark.end()))


def _closes_anyway(before: str, rest: str) -> bool:
    """Tell whether "7 p.m." closes its sentence: at the end of a line, or before a word that begins one."""
    return bool(
        re.search(r"\b[ap]\.m$", before, re.IGNORECASE)
        and re.match(r"\n|$|(?:I|I'm|I've|My|We|The|It|He|She|They|And|But|So|Then|That|This)\b", rest)
    )


def _trimmed(text: str, start: int, end: int) -> Sentence:
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    piece = piece.strip()
    return Sentence(text=piece, start=start, end=start + len(piece))
