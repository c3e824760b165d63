"""Which parts of a message the person did not say, but pasted: an article, a letter, somebody's post.

In goes a message; out come the stretches that are somebody else's text. Told by how such a text comes into a
conversation: lines marked as quoted, a long quotation, an introduction ("Here is an article:"), a request to work on it
("Summarise this"), or what web pages carry along. Who "I" is inside of it does not matter. What stands before and
after it stays the person's own, and so does a text of which nothing tells, or which they call theirs ("my letter").
"""

from __future__ import annotations

import re
from functools import lru_cache

from prospection.remember.rules.wordlists import read_words

__all__ = ["own_text", "pasted_parts"]

LONG = 500
"""Characters from which on what follows an introduction, or looks like a web page, counts as a text."""
ARTICLE = 1500
"""Characters from which on a text may stand before the request that it is for."""
SHORT = 200
"""Longest introduction, request and closing paragraph, in characters."""

_QUOTED_LINES = re.compile(r"^[ \t]*>.*(?:\n[ \t]*>.*)*", re.MULTILINE)
_QUOTATION = re.compile(r'"""[^"]{240,}?"""|“[^“”]{240,}”|„[^„“”]{240,}[“”]|«[^«»]{240,}»')
_COLON = re.compile(r":(?=\s)")
_BOUNDARIES = ("\n", ". ", "! ", "? ", ": ")
_PARAGRAPH = re.compile(r"\n[ \t]*\n")
_BYLINE = re.compile(r"^(?:By|BY|Von|Por|Par) [A-Z]\w+(?: [A-Z][\w.-]+){1,3}\b", re.MULTILINE)
_TITLE = re.compile(r"\A\s*(?:# )?[^\n.!?:]{10,120}\n")
_SIGNS = 2
"""Signs of a web page that make a message one."""


def pasted_parts(message: str) -> list[tuple[int, int]]:
    """Return [start, end) of each pasted stretch, in no order; they may overlap. `[]` when all is the person's own."""
    found = [match.span() for pattern in (_QUOTED_LINES, _QUOTATION) for match in pattern.finditer(message)]
    if len(message) > LONG and _is_page(message):
        return [(0, len(message))]
    end = _end(message)
    start = _introduced(message, end)
    if start is not None:
        found.append((start, end))
    elif ARTICLE < end < len(message) and _is_request(message[end:].strip(), "text"):
        found.append((0, end))
    return found


def own_text(message: str) -> str:
    """Return what the person said of a message, the pasted stretches left out."""
    own, at = [], 0
    for start, end in sorted(pasted_parts(message)):
        own.append(message[at : max(at, start)])
        at = max(at, end)
    return "".join([*own, message[at:]])


def _introduced(message: str, end: int) -> int | None:
    """Return where an introduction begins, which announces a text up to `end`; None when there is none."""
    head = len(message) - len(message.lstrip())
    line = message.find("\n", head)
    last = _sentence_start(message, max(line - 1, head))
    if head < line <= end - LONG and (
        _is_request(message[last:line], "this") or _is_request(message[last:line], "text")
    ):
        return last
    for colon in _COLON.finditer(message, 0, max(end - LONG, 0)):
        start = _sentence_start(message, colon.start())
        if _announces(message[start : colon.end()]):
            return start
    return None


def _sentence_start(message: str, place: int) -> int:
    """Return where the sentence that holds a place begins, at most `SHORT` characters before it."""
    begin = max(0, place - SHORT)
    found = ((message.rfind(mark, begin, place), len(mark)) for mark in _BOUNDARIES)
    start = max([begin, *(at + length for at, length in found if at >= 0)])
    return start + len(message[start:place]) - len(message[start:place].lstrip())


def _announces(lead: str) -> bool:
    """Tell whether words that end in a colon announce a text: "Here is an article:", "Email from my landlord:"."""
    words = _patterns()
    if words["own"].search(lead):
        return False
    if words["text"].search(lead) and (words["this"].search(lead) or words["in front"].match(lead)):
        return True
    return _is_request(lead, "this") or _is_request(lead, "text")


def _is_request(said: str, about: str) -> bool:
    """Tell whether something is to be done with a text: "Summarise this", "Translate the article"."""
    words = _patterns()
    return bool(words["request"].match(said) and words[about].search(said) and not words["own"].search(said))


def _end(message: str) -> int:
    """Return where a last short paragraph begins that asks something; the end of the message when there is none."""
    breaks = [match.end() for match in _PARAGRAPH.finditer(message)]
    last = message[breaks[-1] :].strip() if breaks else ""
    asks = "?" in last or bool(_patterns()["request"].match(last))
    return breaks[-1] if asks and len(last) <= SHORT else len(message)


def _is_page(message: str) -> bool:
    found = {match.group().lower() for match in _patterns()["published"].finditer(message)}
    return len(found) + bool(_BYLINE.search(message)) + bool(_TITLE.match(message)) >= _SIGNS


@lru_cache(maxsize=1)
def _patterns() -> dict[str, re.Pattern[str]]:
    words = dict(read_words("pasted"))
    words["in front"] = rf"(?:an?|the|ein\w*|der|die|das|una?|el|la|le|une?) (?:{words['text']})|(?:{words['text']})"
    words["request"] = rf"(?:(?:{words['polite']})[\s,]+)*(?:{words['work']})"
    flags = re.IGNORECASE | re.MULTILINE
    return {name: re.compile(rf"(?<!\w)(?:{alternatives})(?!\w)", flags) for name, alternatives in words.items()}
