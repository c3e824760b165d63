"""Chat logs as Markdown or plain text, where a line says who speaks: `## User`, `**User:** ...` or `User: ...`.

A file is one conversation. Of the three styles the one with most such lines is taken and the others are text; lines in
code blocks never count. Speakers are recognised by the words below, and the person also by the name that the caller
gives. The file's name and its first message make the id, so that a log that grows stays the same conversation.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from prospection.exchange.conversations import Conversation, Found, Importer, Opening, Reading, Skipped, spoken
from prospection.types import Message, Role, aware_utc

__all__ = ["IMPORTER"]

_WORDS: dict[Role, str] = {
    "user": "user human you me prompt question nutzer benutzer du ich mensch utilisateur vous toi moi usuario tú yo "
    "用户 我 المستخدم أنا ユーザー 私",
    "assistant": "assistant chatgpt gpt gpt-4 gpt-4o claude gemini copilot bot ai model response answer assistent ki "
    "réponse ia asistente 助手 助理 المساعد アシスタント",
    "system": "system",
    "tool": "tool function",
}
_ROLES = {word: role for role, words in _WORDS.items() for word in words.split()}
_SAID = re.compile(r"\s+(?:said|wrote|says)$")
_FENCE = re.compile(r"^\s{0,3}(?:```|~~~)")
_RULE = re.compile(r"^\s*(?:-{3,}|\*{3,}|_{3,})\s*$")
_DAY = re.compile(r"\b(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(?::\d{2})?)?")

_STYLES = (
    re.compile(r"^#{1,6}\s+\W*(?P<label>[^:(\[|–—\n]{1,40}?)\W*(?:[:(\[|–—-]\s*(?P<when>[^\n]*))?$"),
    re.compile(r"^(?:\*\*|__)\W{0,3}(?P<label>[^*:\n]{1,40}?)\s*(?::(?:\*\*|__)|(?:\*\*|__)\s*:)\s*(?P<text>.*)$"),
    re.compile(r"^(?P<label>[^\s:#>*|`-][^:\n]{0,39}?)\s*[:：](?:\s+(?P<text>.*))?$"),
)


@dataclass(frozen=True, slots=True)
class _Mark:
    """A line that says who speaks. `label` is folded for comparison, `name` as written."""

    line: int
    label: str
    name: str
    text: str
    when: str


def _claims(opening: Opening) -> bool:
    return not opening.values and bool(_turns(opening.text.splitlines(), None))


def _read(text: str, reading: Reading) -> Iterator[Found]:
    lines = text.removeprefix("\ufeff").splitlines()
    turns = _turns(lines, reading.speaker)
    if not turns:
        yield Skipped(what=reading.name, reason="no line says that the person speaks")
        return
    ends = [mark.line for mark, _ in turns[1:]] + [len(lines)]
    messages = [
        found
        for (mark, role), end in zip(turns, ends, strict=True)
        for found in _message(mark, role, lines[mark.line + 1 : end], reading)
    ]
    if not messages:
        yield Skipped(what=reading.name, reason="no message with words")
        return
    at = next((message.at for message in messages if message.at), None)
    written = next(filter(None, (_instant(line, reading) for line in lines[: turns[0][0].line])), None)
    digest = hashlib.sha256(messages[0].content.encode()).hexdigest()[:8]
    yield Conversation(id=f"{reading.name}#{digest}", at=written or at, messages=tuple(messages))


def _turns(lines: Sequence[str], speaker: str | None) -> list[tuple[_Mark, Role]]:
    """Return the marks of the most frequent style with the roles they stand for; `[]` when the person never speaks."""
    best: list[tuple[_Mark, Role]] = []
    for style in _STYLES:
        marks = _marks(lines, style)
        often = Counter(mark.label for mark in marks)
        found = [(mark, role) for mark in marks if (role := _role(mark.label, speaker, often[mark.label]))]
        if any(role == "user" for _, role in found) and len(found) > len(best):
            best = found
    return best


def _marks(lines: Sequence[str], style: re.Pattern[str]) -> list[_Mark]:
    found: list[_Mark] = []
    fenced = False
    for number, line in enumerate(lines):
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and (match := style.match(line)):
            said = match.groupdict()
            name = match["label"].strip()
            label = _SAID.sub("", name.casefold().strip(" *_"))
            found.append(_Mark(number, label, name, said.get("text") or "", said.get("when") or ""))
    return found


def _role(label: str, speaker: str | None, often: int) -> Role | None:
    if speaker and label == speaker.casefold():
        return "user"
    known = _ROLES.get(label)
    if speaker and known is None and often > 1:  # between two named people the other one answers
        return "assistant"
    return known


def _message(mark: _Mark, role: Role, lines: Sequence[str], reading: Reading) -> Iterator[Message]:
    text = "\n".join([mark.text, *lines]).strip()
    while _RULE.match(text.rpartition("\n")[2]):  # a line across the page that ends the turn
        text = text.rpartition("\n")[0].rstrip()
    if text:
        named = _ROLES.get(mark.label) is None
        yield spoken(role, text, _instant(mark.when, reading), mark.name if named else None)


def _instant(text: str, reading: Reading) -> datetime | None:
    match = _DAY.search(text)
    if match is None:
        return None
    try:  # noon falls on the same day in nearly every zone
        parsed = datetime.fromisoformat(f"{match[1]}T{match[2] or '12:00'}")
    except ValueError:
        return None
    return aware_utc(parsed.replace(tzinfo=reading.zone))


IMPORTER = Importer(name="markdown", title="Markdown chat log", claims=_claims, read=_read, whole=True)
