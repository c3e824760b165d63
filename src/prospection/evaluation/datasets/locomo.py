"""LoCoMo (Maharana et al., 2024): ten long conversations between two people, and questions with evidence turns.

```
locomo10.json  [{sample_id, conversation: {speaker_a, speaker_b, session_1: [{speaker, dia_id, text, blip_caption?}],
                 session_1_date_time, ...}, observation: {session_1_observation: {speaker: [[text, dia_id]]}},
                 qa: [{question, answer, evidence: [dia_id], category}]}]
```

Memory is made of the authors' observations, which are facts with the turns they stand on; files without them give
turns. Every evidence turn is needed; an observation counts as the turns it stands on. Adversarial questions (category
5) ask for what was never said and are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from prospection.errors import InputError
from prospection.evaluation.cases import Dataset
from prospection.evaluation.datasets.conversations import (
    Person,
    Question,
    ReadyFact,
    Reference,
    Talk,
    Turn,
    assemble,
)
from prospection.evaluation.datasets.published import first_holding, parse, read_items
from prospection.evaluation.files import Record

__all__ = ["Conversation", "find_locomo", "is_locomo", "load_locomo", "read_conversations", "talks"]

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_SESSION = re.compile(r"session_(\d+)")
_TURN = re.compile(r"D(\d+):(\d+)")


class _Line(Record):
    dia_id: str
    speaker: str
    text: str = ""
    blip_caption: str | None = None


def _listed(evidence: object) -> object:
    return [] if evidence is None else [evidence] if isinstance(evidence, str) else evidence


_Evidence = Annotated[list[str], BeforeValidator(_listed)]


class _Asked(Record):
    question: str
    evidence: _Evidence = Field(default_factory=list)
    category: int
    answer: str | None = None


class Conversation(Record):
    """One conversation with its questions, as published."""

    sample_id: str
    conversation: dict[str, Any]
    observation: dict[str, dict[str, list[tuple[str, _Evidence]]]] = Field(default_factory=dict)
    qa: list[_Asked] = Field(default_factory=list)


def find_locomo(path: Path) -> Path | None:
    """Return the file of this layout at or under a path."""
    return first_holding(path, ".json", is_locomo)


def is_locomo(keys: Set[str]) -> bool:
    """Return whether an item with these keys is a conversation of this layout."""
    return not keys.isdisjoint({"conversation.speaker_a", "qa[].evidence"})


def load_locomo(file: Path) -> Dataset:
    """Load a file of this layout.

    Raises:
        InputError: It cannot be read.
    """
    conversations = read_conversations(file)
    people = [Person(user_id=one.sample_id, sessions=talks(one, file)) for one in conversations]
    facts = [fact for one in conversations for fact in _observations(one)]
    asked = [(one.sample_id, place, qa) for one in conversations for place, qa in enumerate(one.qa)]
    fair = [item for item in asked if CATEGORIES.get(item[2].category) != "adversarial"]
    notes = [f"{len(asked) - len(fair)} of {len(asked)} queries are adversarial and are left out."]
    questions = [_question(user, place, qa) for user, place, qa in fair]
    return assemble(file.stem, people, questions, facts or None, notes=notes if len(fair) < len(asked) else ())


def read_conversations(file: Path) -> list[Conversation]:
    """Read the conversations of a file.

    Raises:
        InputError: It cannot be read.
    """
    found: list[Conversation] = parse(list[Conversation], read_items(file), where=file)
    return found


def talks(one: Conversation, file: Path) -> list[Talk]:
    """Return the sessions of a conversation in order.

    Raises:
        InputError: A session's lines or date are not as published.
    """
    found = {int(name[1]): key for key in one.conversation if (name := _SESSION.fullmatch(key))}
    return [
        Talk(
            session_id=f"session_{number}",
            date=_date(one.conversation.get(f"session_{number}_date_time"), file),
            turns=[
                Turn(turn_id=line.dia_id, speaker=line.speaker, text=_said(line))
                for line in parse(list[_Line], one.conversation[key], where=file, place=[one.sample_id, key])
            ],
        )
        for number, key in sorted(found.items())
    ]


def _said(line: _Line) -> str:
    return f"{line.text} [shared image: {line.blip_caption}]" if line.blip_caption else line.text


def _date(text: object, file: Path) -> datetime | None:
    if text is None:
        return None
    try:
        return datetime.strptime(str(text).strip(), "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
    except ValueError as error:
        raise InputError(f"{file}: date {text!r} is not like '1:56 pm on 8 May, 2023'; correct the file") from error


def _observations(one: Conversation) -> Iterator[ReadyFact]:
    number = 0
    for key, by_speaker in one.observation.items():
        session = _SESSION.match(key)
        for statements in by_speaker.values():
            for text, turns in statements:
                yield ReadyFact(
                    user_id=one.sample_id,
                    fact_id=f"f{number}",
                    text=text,
                    session_id=session[0] if session else "unknown",
                    turn_ids=_turns(turns),
                )
                number += 1


def _turns(evidence: list[str]) -> list[str]:
    """Read turn ids out of lists such as ["D8:6; D9:17"], each once, in order."""
    return list(dict.fromkeys(f"D{session}:{turn}" for text in evidence for session, turn in _TURN.findall(text)))


def _question(user: str, place: int, qa: _Asked) -> Question:
    return Question(
        query_id=f"{user}-q{place}",
        user_id=user,
        query=qa.question,
        references=[Reference(turn_ids=[turn]) for turn in _turns(qa.evidence)],
        category=CATEGORIES.get(qa.category, str(qa.category)),
        answer=qa.answer,
    )
