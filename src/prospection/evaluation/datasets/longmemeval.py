"""LongMemEval (Wu et al., 2024): 500 questions, each with a haystack of dated sessions of its own.

```
longmemeval_{s,m,oracle}*.json  [{question_id, question_type, question, answer, question_date, haystack_dates,
                                  haystack_session_ids, haystack_sessions: [[{role, content, has_answer?}]],
                                  answer_session_ids}]
```

Every answer session is needed. It counts as found by a turn marked `has_answer`, or by any of its turns where none is
marked. Questions whose answer was never said (ids ending in `_abs`) have nothing to find and are left out, as in the
authors' own retrieval figures. Files that ask several `questions` of one haystack, with lists of answers and of answer
sessions, load as well.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, model_validator

from prospection.evaluation.cases import Dataset
from prospection.evaluation.datasets.conversations import Person, Question, Reference, Talk, Turn, assemble
from prospection.evaluation.datasets.published import first_holding, parse, read_items
from prospection.evaluation.files import Instant, Record

__all__ = ["find_longmemeval", "load_longmemeval"]

_DATE = re.compile(r"(\d{4})/(\d\d)/(\d\d)(?:\s*\(\w+\))?\s*(\d\d):(\d\d)")


def _read_date(text: object) -> object:
    found = _DATE.fullmatch(text.strip()) if isinstance(text, str) else None
    if found is None:
        return text
    year, month, day, hour, minute = map(int, found.groups())
    return datetime(year, month, day, hour, minute, tzinfo=UTC)


_Date = Annotated[Instant, BeforeValidator(_read_date)]


class _Message(Record):
    role: str
    content: str
    has_answer: bool = False


class _Item(Record):
    question_id: str
    question_type: str
    question: str | None = None
    questions: list[str] = Field(default_factory=list)
    answer: str | None = None
    answers: list[str] = Field(default_factory=list)
    question_date: _Date
    haystack_dates: list[_Date]
    haystack_session_ids: list[str]
    haystack_sessions: list[list[_Message]]
    answer_session_ids: list[str] | list[list[str]] = Field(default_factory=list)

    @model_validator(mode="after")
    def _hold_together(self) -> Self:
        if not len(self.haystack_dates) == len(self.haystack_session_ids) == len(self.haystack_sessions):
            raise ValueError("haystack_dates, haystack_session_ids and haystack_sessions differ in length")
        if self.question is None and not len(self.questions) == len(self.answers) == len(self.answer_session_ids):
            raise ValueError("questions, answers and answer_session_ids differ in length")
        return self

    def asked(self) -> list[tuple[str, str | None, list[str]]]:
        """Return question, answer and answer sessions of each question."""
        if self.question is not None:
            return [(self.question, self.answer, [one for one in self.answer_session_ids if isinstance(one, str)])]
        sessions = [[one] if isinstance(one, str) else one for one in self.answer_session_ids]
        return list(zip(self.questions, self.answers, sessions, strict=True))


def find_longmemeval(path: Path) -> Path | None:
    """Return the file of this layout at or under a path."""
    return first_holding(path, ".json", lambda keys: any(key.startswith("haystack_") for key in keys))


def load_longmemeval(file: Path) -> Dataset:
    """Load a file of this layout.

    Raises:
        InputError: It cannot be read.
    """
    items: list[_Item] = parse(list[_Item], read_items(file), where=file)
    answerable = [item for item in items if not item.question_id.endswith("_abs")]
    left_out = len(items) - len(answerable)
    note = f"{left_out} of {len(items)} questions ask for what was never said and are left out."
    return assemble(
        file.stem,
        [_person(item) for item in answerable],
        [question for item in answerable for question in _questions(item)],
        notes=(note,) if left_out else (),
    )


def _person(item: _Item) -> Person:
    talks: dict[str, Talk] = {}
    for session, date, messages in zip(
        item.haystack_session_ids, item.haystack_dates, item.haystack_sessions, strict=True
    ):
        # A filler session can stand in a haystack twice; it is the same conversation.
        talks.setdefault(
            session,
            Talk(
                session_id=session,
                date=date,
                turns=[
                    Turn(turn_id=f"{session}:{place}", text=message.content) for place, message in enumerate(messages)
                ],
            ),
        )
    return Person(user_id=item.question_id, sessions=list(talks.values()))


def _questions(item: _Item) -> list[Question]:
    messages = dict(zip(item.haystack_session_ids, item.haystack_sessions, strict=True))
    marked = {
        session: [f"{session}:{place}" for place, message in enumerate(own) if message.has_answer]
        for session, own in messages.items()
    }
    asked = item.asked()
    return [
        Question(
            query_id=item.question_id if len(asked) == 1 else f"{item.question_id}-{number}",
            user_id=item.question_id,
            query=text,
            query_date=item.question_date,
            references=[Reference(session_id=session, turn_ids=marked.get(session, [])) for session in sessions],
            category=item.question_type,
            answer=answer,
        )
        for number, (text, answer, sessions) in enumerate(asked)
    ]
