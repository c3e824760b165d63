"""PersonaMem v1 (Jiang et al., 2025): remarks put at some point of a long history; the right reply turns on it.

```
questions_32k.csv          persona_id, question_id, question_type, user_question_or_message, correct_answer,
                           shared_context_id, end_index_in_shared_context, distance_to_ref_proportion_in_context, ...
shared_contexts_32k.jsonl  {shared_context_id: [{role, content}]}, one a line or all in one object
```

The files do not say which turn a question refers to, but how far back it is, as a share of the characters of the
history: that place falls on the turn in question or on its neighbour (checked by hand on one context). A reference is
found by any turn of the person within one message of it. Each question's memory ends where it is asked; memories of
one person are cuts of the same history and belong together in intervals. The persona, which stands in the history as
system messages, is not memory.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from prospection.errors import InputError
from prospection.evaluation.cases import Dataset
from prospection.evaluation.datasets.conversations import TURNS, Person, Question, Reference, Talk, Turn, assemble
from prospection.evaluation.datasets.published import (
    files_of,
    first_holding,
    parse,
    read_csv,
    read_items,
)
from prospection.evaluation.datasets.shapes import keys_of
from prospection.evaluation.files import Record

__all__ = ["find_personamem", "load_personamem"]

_CONTEXT = re.compile(r"[0-9a-f]{32,}")


class _Row(Record):
    persona_id: str
    question_id: str
    question_type: str
    user_question_or_message: str
    correct_answer: str
    shared_context_id: str
    end_index_in_shared_context: int
    distance_to_ref_proportion_in_context: str

    @property
    def memory(self) -> str:
        return f"persona{self.persona_id}-{self.shared_context_id[:8]}-{self.end_index_in_shared_context}"


class _Message(Record):
    role: str
    content: str


def find_personamem(path: Path) -> Path | None:
    """Return the file of questions at or under a path."""
    return first_holding(path, ".csv", {"shared_context_id", "distance_to_ref_proportion_in_context"}.issubset)


def load_personamem(questions: Path) -> Dataset:
    """Load a file of questions and the contexts beside it.

    Raises:
        InputError: They cannot be read, or there are no contexts.
    """
    rows: list[_Row] = parse(list[_Row], list(read_csv(questions)), where=questions)
    contexts = _contexts(questions.parent, {row.shared_context_id for row in rows})
    if not contexts:
        raise InputError(f"{questions} asks about contexts that are not there; put shared_contexts_*.jsonl beside it")
    covered = [row for row in rows if row.shared_context_id in contexts]
    people: dict[str, Person] = {}
    asked = []
    for row in covered:
        messages = contexts[row.shared_context_id][: row.end_index_in_shared_context]
        if row.memory not in people:
            people[row.memory] = Person(user_id=row.memory, sessions=_talks(messages))
        asked.append(
            Question(
                query_id=row.question_id,
                user_id=row.memory,
                query=_plain(row.user_question_or_message),
                references=[Reference(turn_ids=_turns_near(messages, _share(row, questions)))],
                category=row.question_type,
                answer=row.correct_answer,
                person=f"persona{row.persona_id}",
            )
        )
    missing = len(rows) - len(covered)
    notes = [f"{missing} of {len(rows)} questions belong to contexts that are not there."] if missing else []
    notes += ["References are turns next to the published distance; the set names no turns.", TURNS]
    return assemble(questions.stem, list(people.values()), asked, notes=notes)


def _contexts(folder: Path, wanted: set[str]) -> dict[str, list[_Message]]:
    found: dict[str, list[_Message]] = {}
    for file in (*files_of(folder, ".jsonl", depth=1), *files_of(folder, ".json", depth=1)):
        if not any(_CONTEXT.fullmatch(key) for key in keys_of(file)):
            continue
        for part in parse(list[dict[str, Any]], read_items(file), where=file):
            kept = {key: messages for key, messages in part.items() if key in wanted}
            found |= parse(dict[str, list[_Message]], kept, where=file)
    return found


def _share(row: _Row, file: Path) -> float:
    try:
        return 1.0 - float(row.distance_to_ref_proportion_in_context.rstrip("%")) / 100.0
    except ValueError as error:
        raise InputError(
            f"{file}: question {row.question_id!r} gives its distance as "
            f"{row.distance_to_ref_proportion_in_context!r}, not like '92.67%'; correct it"
        ) from error


def _turns_near(messages: Sequence[_Message], share: float) -> list[str]:
    """Return the person's turns within one message of a share of all characters; they count as alternatives."""
    sums = list(accumulate(len(message.content) for message in messages))
    place = bisect_left(sums, share * sums[-1]) if sums else 0
    near = range(max(0, place - 1), min(len(messages), place + 2))
    return [str(place) for place in near if messages[place].role == "user"]


def _talks(messages: Sequence[_Message]) -> list[Talk]:
    """A system message, which repeats the persona, begins a session."""
    talks: list[Talk] = []
    for place, message in enumerate(messages):
        if message.role == "system" or not talks:
            talks.append(Talk(session_id=f"session_{len(talks)}"))
        if message.role != "system":
            talks[-1].turns.append(Turn(turn_id=str(place), text=_plain(message.content)))
    return talks


def _plain(text: str) -> str:
    return text.removeprefix("User:").removeprefix("Assistant:").strip()
