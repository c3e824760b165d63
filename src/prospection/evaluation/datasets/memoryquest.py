"""MemoryQuest (the paper, section 4): planning requests with 3-5 dated references far from the request's words.

```
data/user{id}.json   demographics, domain_summaries, sessions of conversations, dated queries with their references
```

The names of the inner fields were not known when this was written, so that every field is looked for under the names
that such files use, and the notes of the data set say under which name each was found, and what was not. Memory is made
of a user's extracted facts where the file has some, else of the turns. A reference is found, first that applies, by its
fact id; by the turns of its session that hold the largest share of its words, at least half; by anything of its
session. A reference without an address is looked for in the sessions of its date, then in all, by its words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prospection.errors import InputError
from prospection.evaluation.cases import Dataset
from prospection.evaluation.datasets.conversations import (
    TURNS,
    Person,
    Question,
    ReadyFact,
    Reference,
    Talk,
    Turn,
    assemble,
)
from prospection.evaluation.datasets.published import read_any_json, starts_with
from prospection.evaluation.datasets.words import content_words, where_said

__all__ = ["find_memoryquest", "load_memoryquest"]

NAMES = {
    "user": ("user_id", "user", "id", "persona_id"),
    "sessions": ("sessions", "conversations", "dialogues", "conversation_history", "history", "timeline", "events"),
    "session id": ("session_id", "conversation_id", "dialogue_id", "event_id", "id"),
    "session date": ("date", "session_date", "timestamp", "datetime", "start_date", "time"),
    "turns": ("turns", "messages", "dialogue", "dialog", "conversation", "exchanges", "utterances"),
    "turn text": ("content", "text", "utterance", "message", "value"),
    "facts": ("facts", "memory_facts", "extracted_facts", "memories", "memory"),
    "fact id": ("fact_id", "fid", "id"),
    "fact text": ("info", "fact", "text", "content", "memory"),
    "queries": ("queries", "evaluation_queries", "questions", "query_list", "eval_queries"),
    "query id": ("query_id", "question_id", "qid", "id"),
    "query text": ("query", "question", "text", "prompt"),
    "query date": ("query_date", "date", "question_date", "timestamp", "datetime"),
    "references": (
        "references",
        "reference_facts",
        "required_references",
        "required_facts",
        "ground_truth_facts",
        "ground_truth",
        "gold_facts",
        "evidence",
        "reference",
    ),
    "reference text": ("fact", "text", "info", "reference", "content", "statement", "memory"),
    "reference session": ("session_id", "session", "conversation_id", "source_session", "dialogue_id", "event_id"),
    "reference date": ("date", "reference_date", "session_date", "timestamp"),
}
"""For each field the names it is looked for under, the likeliest first."""

_MARKS = (r'"domain_summaries"\s*:',)


def find_memoryquest(path: Path) -> Path | None:
    """Return the folder that holds the user files."""
    return next((folder for folder in (path, path / "data") if _user_files(folder)), None)


def _user_files(folder: Path) -> list[Path]:
    files = [file for file in folder.glob("user*.json") if any(starts_with(file, mark) for mark in _MARKS)]
    return sorted(files, key=lambda file: (len(file.stem), file.stem))


def load_memoryquest(folder: Path) -> Dataset:
    """Load all user files of a folder.

    Raises:
        InputError: A file is not JSON, or has no sessions or no queries under any known name.
    """
    seen = _Seen()
    people, facts, questions = [], [], []
    for file in _user_files(folder):
        user = _User(file, seen)
        people.append(user.person)
        facts += user.facts
        questions += user.questions
    name = folder.resolve().parent.name if folder.name == "data" else folder.resolve().name
    return assemble(name, people, questions, facts or None, notes=[*seen.notes(), *([] if facts else [TURNS])])


class _Seen:
    """Under which names fields were found, and how references were resolved."""

    def __init__(self) -> None:
        self._names: dict[str, Counter[str]] = {}
        self._missed: Counter[str] = Counter()
        self.resolved: Counter[str] = Counter()

    def get(self, data: Mapping[str, Any], field: str) -> Any:  # noqa: ANN401 - JSON data
        """Return a field's value under the first of its names that has one; None when there is none."""
        for name in NAMES[field]:
            if data.get(name) not in (None, "", [], {}):
                self._names.setdefault(field, Counter())[name] += 1
                return data[name]
        self._missed[field] += 1
        return None

    def notes(self) -> list[str]:
        """Say what was found and what was missed."""
        found = ", ".join(f"{field} in {'/'.join(map(repr, names))}" for field, names in self._names.items())
        notes = [f"Read from fields whose names are guessed: {found}."]
        if never := [field for field in self._missed if field not in self._names]:
            notes.append(f"Not found under any known name: {', '.join(never)}.")
        if self.resolved:
            ways = ", ".join(f"{count} {way}" for way, count in self.resolved.most_common())
            notes.append(f"References by how they were found in memory: {ways}.")
        return notes


class _User:
    """One file."""

    def __init__(self, file: Path, seen: _Seen) -> None:
        data = read_any_json(file)
        if not isinstance(data, dict):
            raise InputError(f"{file} holds no object of one user; download it again")
        self._seen = seen
        self._id = str(seen.get(data, "user") or file.stem)
        sessions, queries = seen.get(data, "sessions"), seen.get(data, "queries")
        for what, value in (("sessions", sessions), ("queries", queries)):
            if value is None:
                raise InputError(
                    f"{file} has no {what} under {', '.join(map(repr, NAMES[what]))}; it has {sorted(data)}. Rename "
                    "the field, or convert the file to the common layout (users.jsonl, queries.jsonl)"
                )
        found = [self._talk(number, key, session) for number, (key, session) in enumerate(_items(sessions))]
        self.person = Person(user_id=self._id, sessions=[talk for talk, _ in found])
        self.facts = [fact for _, own in found for fact in own] + self._facts(seen.get(data, "facts"), "unknown")
        self._index()
        self.questions = [self._question(place, query) for place, (_, query) in enumerate(_items(queries))]

    def _talk(self, number: int, key: str | None, session: Any) -> tuple[Talk, list[ReadyFact]]:  # noqa: ANN401 - JSON
        if isinstance(session, list):
            session = {"turns": session}
        get = self._seen.get
        name = str(get(session, "session id") or key or f"s{number}")
        texts = _texts(get(session, "turns") or [], self._seen)
        turns = [Turn(turn_id=f"{name}:{place}", text=text) for place, text in enumerate(texts)]
        # Where sessions are keyed by their date, the key is the date.
        date = _date(get(session, "session date")) or _date(key)
        return Talk(session_id=name, date=date, turns=turns), self._facts(get(session, "facts"), name)

    def _facts(self, facts: Any, session: str) -> list[ReadyFact]:  # noqa: ANN401 - JSON data
        get = self._seen.get
        return [
            ReadyFact(user_id=self._id, fact_id=f"{session}/{place}", text=fact, session_id=session)
            if isinstance(fact, str)
            else ReadyFact(
                user_id=self._id,
                fact_id=str(get(fact, "fact id") or f"{session}/{place}"),
                text=str(get(fact, "fact text") or ""),
                session_id=str(get(fact, "reference session") or session),
            )
            for place, (_, fact) in enumerate(_items(facts or []))
        ]

    def _index(self) -> None:
        """Gather what references may be matched with: (session, date, id, words) of every fact or turn."""
        dates = {talk.session_id: talk.date for talk in self.person.sessions}
        units = [(fact.session_id, fact.fact_id, fact.text) for fact in self.facts] or [
            (talk.session_id, turn.turn_id, turn.text) for talk in self.person.sessions for turn in talk.turns
        ]
        self._units = [(name, dates.get(name), unit, content_words(text)) for name, unit, text in units]

    def _question(self, place: int, query: Any) -> Question:  # noqa: ANN401 - JSON data
        get = self._seen.get
        references = get(query, "references") or []
        if isinstance(references, (str, dict)):
            references = [references] if isinstance(references, str) else list(references.values())
        return Question(
            query_id=f"{self._id}-{get(query, 'query id') or f'q{place + 1}'}",
            user_id=self._id,
            query=str(get(query, "query text") or ""),
            query_date=_date(get(query, "query date")),
            references=[self._reference(reference) for reference in references],
        )

    def _reference(self, reference: Any) -> Reference:  # noqa: ANN401 - JSON data
        if not isinstance(reference, dict):
            reference = {"text": str(reference)}
        get, resolved = self._seen.get, self._seen.resolved
        text, session = str(get(reference, "reference text") or ""), get(reference, "reference session")
        fact, date = reference.get("fact_id", reference.get("fid")), _date(get(reference, "reference date"))
        known = {unit for _, _, unit, _ in self._units}
        for name in (fact, text):  # a reference may be no more than an id
            if self.facts and str(name) in known:
                resolved["by fact id"] += 1
                return Reference(fact_id=str(name))
        if session is not None:
            resolved["by session"] += 1
            return self._by_words(text, [unit for unit in self._units if unit[0] == str(session)], str(session))
        same_day = [unit for unit in self._units if date is not None and unit[1] and unit[1].date() == date.date()]
        for way, units in (("by date and words", same_day), ("by words", self._units)):
            found = self._by_words(text, units, None)
            if found.turn_ids or found.fact_id:
                resolved[way] += 1
                return found
        resolved["not at all"] += 1
        return Reference()

    def _by_words(
        self, text: str, units: Sequence[tuple[str, Any, str, frozenset[str]]], session: str | None
    ) -> Reference:
        places = where_said(text, [words for *_, words in units])
        ids = [units[place][2] for place in places]
        if self.facts:
            return Reference(fact_id=ids[0]) if ids else Reference(session_id=session)
        return Reference(session_id=session, turn_ids=ids)


def _items(data: Any) -> Iterator[tuple[str | None, Any]]:  # noqa: ANN401 - JSON data
    """Go through a list, or through an object of items or of lists of items (sessions by domain)."""
    if isinstance(data, dict):
        for key, value in data.items():
            lists = isinstance(value, list) and value and isinstance(value[0], dict) and "role" not in value[0]
            yield from ((str(key), item) for item in (value if lists else [value]))
    else:
        yield from ((None, item) for item in data)


def _texts(turns: Any, seen: _Seen) -> Iterator[str]:  # noqa: ANN401 - JSON data
    """Return what was said in turn: turns may be texts, messages, or exchanges of a user and an assistant."""
    if isinstance(turns, str):
        yield from (line for line in turns.split("\n") if line.strip())
        return
    for turn in turns:
        if isinstance(turn, str):
            yield turn
        elif "user" in turn or "assistant" in turn:
            yield from (str(turn[who]) for who in ("user", "assistant") if turn.get(who))
        else:
            yield str(seen.get(turn, "turn text") or "")


def _date(value: object) -> datetime | None:
    if not isinstance(value, str):
        return None
    text = value.strip().replace("/", "-")
    for form in (None, "%Y-%m-%d", "%B %d, %Y", "%d %B %Y", "%b %d, %Y", "%m-%d-%Y"):
        try:
            found = datetime.fromisoformat(text) if form is None else datetime.strptime(text, form)  # noqa: DTZ007
        except ValueError:
            continue
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    return None
