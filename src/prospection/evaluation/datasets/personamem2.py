"""PersonaMem v2 (Jiang et al., 2025): requests whose right reply respects a preference that was only shown in passing.

```
benchmark/text/benchmark.csv   persona_id, user_query, correct_answer, pref_type, related_conversation_snippet,
                               chat_history_32k_link, ...
data/chat_history_32k/*.json   {metadata, chat_history: [{role, content}]}; links are from the set's root
```

`user_query` and the snippet are JSON or Python literals. The snippet's turns stand in the history word for word; the
reference is found by any of the person's turns among them. The persona, which heads the history as a system message,
is not memory.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from prospection.errors import InputError
from prospection.evaluation.cases import Dataset
from prospection.evaluation.datasets.conversations import Person, Question, Reference, Talk, Turn, assemble
from prospection.evaluation.datasets.published import first_holding, parse, read_any_json, read_csv
from prospection.evaluation.files import Record

__all__ = ["find_personamem2", "load_personamem2"]


class _Row(Record):
    persona_id: str
    user_query: str
    chat_history_32k_link: str
    related_conversation_snippet: str
    pref_type: str | None = None
    correct_answer: str | None = None


class _Message(Record):
    role: str
    content: str


def find_personamem2(path: Path) -> Path | None:
    """Return the file of questions at or under a path."""
    return first_holding(path, ".csv", {"chat_history_32k_link", "related_conversation_snippet"}.issubset)


def load_personamem2(questions: Path) -> Dataset:
    """Load a file of questions and the histories that it links.

    Raises:
        InputError: They cannot be read, or no history is there.
    """
    rows: list[_Row] = parse(list[_Row], list(read_csv(questions)), where=questions)
    histories: dict[str, list[_Message]] = {}
    for link in dict.fromkeys(row.chat_history_32k_link for row in rows):
        if (file := _linked(questions, link)) is not None:
            histories[link] = _history(file)
    if not histories:
        raise InputError(f"{questions} links chat histories, and none of them is there; download data/chat_history_32k")
    covered = [(place, row) for place, row in enumerate(rows) if row.chat_history_32k_link in histories]
    missing = len(rows) - len(covered)
    return assemble(
        questions.stem,
        [_person(link, history) for link, history in histories.items()],
        [_question(place, row, histories[row.chat_history_32k_link], questions) for place, row in covered],
        notes=(f"{missing} of {len(rows)} questions link histories that are not there.",) if missing else (),
    )


def _linked(questions: Path, link: str) -> Path | None:
    # The root of the set is one of the folders above the file of questions.
    return next((root / link for root in questions.resolve().parents if (root / link).is_file()), None)


def _history(file: Path) -> list[_Message]:
    data = read_any_json(file)
    messages: list[_Message] = parse(
        list[_Message], data.get("chat_history") if isinstance(data, dict) else data, where=file
    )
    return messages


def _person(link: str, history: list[_Message]) -> Person:
    turns = [
        Turn(turn_id=str(place), text=message.content)
        for place, message in enumerate(history)
        if message.role != "system"
    ]
    return Person(user_id=link, sessions=[Talk(session_id="history", turns=turns)])


def _question(place: int, row: _Row, history: list[_Message], file: Path) -> Question:
    snippet: list[_Message] = parse(
        list[_Message],
        _literal(row.related_conversation_snippet, file),
        where=file,
        place=[place, "related_conversation_snippet"],
    )
    shown = {message.content.strip() for message in snippet if message.role == "user"}
    turns = [str(n) for n, message in enumerate(history) if message.role == "user" and message.content.strip() in shown]
    query = row.user_query
    if query.lstrip().startswith("{"):
        query = parse(_Message, _literal(query, file), where=file, place=[place, "user_query"]).content
    return Question(
        query_id=f"q{place}",
        user_id=row.chat_history_32k_link,
        query=query,
        references=[Reference(turn_ids=turns)],
        category=row.pref_type,
        answer=row.correct_answer,
        person=f"persona{row.persona_id}",
    )


def _literal(text: str, file: Path) -> Any:  # noqa: ANN401 - JSON data
    try:
        return from_json(text)
    except ValueError:
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError) as error:
            raise InputError(f"{file}: {text[:80]!r} is neither JSON nor a literal; download the file again") from error
