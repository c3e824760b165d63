"""MemoryQuest (the paper, section 4): planning requests with 3-5 dated references far from the request's words.

```
data/user{id}.json   demographics, domain_summaries, sessions of conversations, dated queries with their references
```

The names of the inner fields were not known when this was written, so that every field is looked for under the names
that such files use, and the notes of the data set say under which name each was found, what was not, and which keys
were there besides. Sessions may be listed, or keyed by their date, id or domain; turns may be texts, messages, or
exchanges of a user and an assistant; references may be texts, ids, objects, or keyed by their date.

Memory is made of a user's extracted facts where the file has some, else of the turns. A reference is found, first that
applies, by its fact id; by what holds the largest share of its words, at least half, in its session, in the sessions of
its date, or in all. One that is no more than a session counts by anything of it, as does one whose words stand in no
turn of its session. Where memory is facts, one whose words no fact of its session has is not covered: the extraction
missed it, and another fact of the session says something else.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Set
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
from prospection.evaluation.datasets.guessed import Guessed
from prospection.evaluation.datasets.places import Places
from prospection.evaluation.datasets.published import once, read_any_json
from prospection.evaluation.datasets.quest import is_quest, user_files
from prospection.evaluation.datasets.shapes import keys_of

__all__ = ["find_memoryquest", "load_memoryquest", "named_memoryquest"]

_SESSION_IDS = ("session_id", "session", "conversation_id", "source_session", "dialogue_id", "event_id", "provenance")

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
    "fact session": _SESSION_IDS,
    "queries": ("queries", "evaluation_queries", "questions", "query_list", "eval_queries"),
    "query id": ("query_id", "question_id", "qid", "id"),
    "query text": ("query", "question", "text", "prompt"),
    "query date": ("query_date", "date", "question_date", "timestamp", "datetime"),
    "references": (
        "references",
        "reference_facts",
        "required_references",
        "required_facts",
        "ground_truth_references",
        "ground_truth_facts",
        "ground_truth",
        "gold_facts",
        "evidence",
        "reference",
    ),
    "reference text": ("fact", "text", "info", "reference", "content", "statement", "memory"),
    "reference fact": ("fact_id", "fid"),
    "reference session": _SESSION_IDS,
    "reference date": ("date", "reference_date", "session_date", "timestamp"),
}
"""For each field the names it is looked for under, the likeliest first."""

PASSED_OVER = ("demographics", "domain_summaries")
"""What the person is like, which no reference names."""

_DATED = re.compile(r"\W*(\d{4}-\d\d-\d\d)\W+(?=\w)")
_SPEAKERS = ("user", "assistant")
_MESSAGE = ("role", "speaker", *_SPEAKERS)


def find_memoryquest(path: Path) -> Path | None:
    """Return the folder that holds the user files, when one of them is not of the quest layout."""
    folder = named_memoryquest(path)
    return folder if folder and any(_is_known(keys_of(file)) for file in user_files(folder)) else None


def named_memoryquest(path: Path) -> Path | None:
    """Return the folder that holds user files, whatever stands in them."""
    return next((folder for folder in (path, path / "data") if user_files(folder)), None)


def _is_known(keys: Set[str]) -> bool:
    if "domain_summaries" in keys:
        return True
    if is_quest(keys):
        return False
    named = any(not keys.isdisjoint(NAMES[part][1:]) for part in ("sessions", "queries"))
    talked = {key.rpartition(".")[2] for key in keys if key.startswith("sessions")}
    return "demographics" in keys or named or not talked.isdisjoint((*NAMES["turns"], *_MESSAGE))


def load_memoryquest(folder: Path) -> Dataset:
    """Load all user files of a folder.

    Raises:
        InputError: A file is not JSON, or has no sessions or no queries under any known name, or a session, turn,
            query or reference is of no known shape.
    """
    guessed = Guessed(NAMES, PASSED_OVER)
    found: Counter[str] = Counter()
    people, facts, questions = [], [], []
    for file in user_files(folder):
        user = _User(file, guessed, found)
        people.append(user.person)
        facts += user.facts
        questions += user.questions
    notes = guessed.notes()
    if found:
        ways = ", ".join(f"{count} {way}" for way, count in found.most_common())
        notes.append(f"References by how they were found in memory: {ways}.")
    name = folder.resolve().parent.name if folder.name == "data" else folder.resolve().name
    if not facts:
        notes.append(TURNS)
    return assemble(name, people, questions, facts or None, notes=notes)


class _User:
    """One file.

    Args:
        found: Counts in which ways references were found in memory.
    """

    def __init__(self, file: Path, guessed: Guessed, found: Counter[str]) -> None:
        self._file, self._guessed, self._found = file, guessed, found
        data = read_any_json(file)
        if not isinstance(data, dict):
            raise InputError(f"{file} holds no object of one user; download it again")
        guessed.there(data)
        self._id = self._name(guessed.get(data, "user"), "user") or file.stem
        sessions, queries = (self._part(data, part) for part in ("sessions", "queries"))
        parsed = [self._talk(number, *item) for number, item in enumerate(self._sessions(sessions))]
        self.person = Person(user_id=self._id, sessions=[talk for talk, _ in parsed])
        self.facts = self._named_apart(
            [fact for _, own in parsed for fact in own] + self._facts(guessed.get(data, "facts"), "unknown")
        )
        once([talk.session_id for talk in self.person.sessions], "session", file)
        once([fact.fact_id for fact in self.facts], "fact", file)
        self._places = Places(self.person, self.facts)
        self.questions = [
            self._question(place, query) for place, (_, query) in enumerate(self._items(queries, "queries"))
        ]
        once([question.query_id for question in self.questions], "query", file)

    def _part(self, data: dict[str, Any], field: str) -> Any:  # noqa: ANN401 - JSON data
        found = self._guessed.get(data, field)
        if found is None:
            raise InputError(
                f"{self._file} has no {field} under {', '.join(map(repr, NAMES[field]))}; it has {sorted(data)}. "
                "Rename the field, or convert the file to the common layout (users.jsonl, queries.jsonl)"
            )
        return found

    def _wrong(self, place: str, value: object, wanted: str) -> InputError:
        kind = {dict: "an object", list: "a list", str: "a text", type(None): "null"}.get(type(value), "a number")
        return InputError(
            f"{self._file}: {place} is {kind}, not {wanted}; correct it, or convert the file to the common layout "
            "(users.jsonl, queries.jsonl)"
        )

    def _text(self, value: object, place: str) -> str:
        if isinstance(value, (dict, list)):
            raise self._wrong(place, value, "a text")
        return "" if value is None else str(value)

    def _name(self, value: object, place: str) -> str | None:
        """Read an id; 0 is one, and of several the first counts."""
        if isinstance(value, list) and value:
            value = value[0]
        return self._text(value, place) or None

    def _items(self, data: object, place: str) -> Iterator[tuple[str | None, Any]]:
        """Go through a list, or through an object of items or of lists of items."""
        if isinstance(data, dict):
            self._guessed.read(*data)
            for key, value in data.items():
                yield from ((str(key), item) for item in (value if isinstance(value, list) else [value]))
        elif isinstance(data, list):
            yield from ((None, item) for item in data)
        else:
            raise self._wrong(place, data, "a list")

    def _is_session(self, data: object) -> bool:
        return isinstance(data, list) or (
            isinstance(data, dict)
            and (not any(key in data for key in _MESSAGE) or any(self._key(data, part) for part in ("turns", "facts")))
        )

    def _key(self, data: dict[str, Any], field: str) -> str | None:
        return self._guessed.key_of(data, field)

    def _sessions(self, data: object) -> Iterator[tuple[str | None, str | None, Any]]:
        """Go through sessions as (the key it stands under, its id where it has none of its own, session)."""
        if isinstance(data, dict) and (self._key(data, "turns") or self._key(data, "facts")):
            yield None, None, data
        elif isinstance(data, dict):
            self._guessed.read(*data)
            for key, value in data.items():
                several = isinstance(value, list) and any(self._is_session(item) for item in value)
                own = value if several else [value]
                for place, session in enumerate(own):
                    yield key, key if len(own) == 1 else f"{key}/{place}", session
        elif isinstance(data, list) and data and all(isinstance(item, dict) for item in data):
            # One conversation without sessions, or a list of sessions.
            whole = not any(self._is_session(item) for item in data)
            yield from ((None, None, item) for item in ([data] if whole else data))
        else:
            yield from ((None, None, item) for _, item in self._items(data, "sessions"))

    def _talk(self, number: int, key: str | None, name: str | None, session: Any) -> tuple[Talk, list[ReadyFact]]:  # noqa: ANN401 - JSON data
        place = f"session {name or number}"
        if isinstance(session, (list, str)):
            session = {"turns": session}
        elif not isinstance(session, dict):
            raise self._wrong(place, session, "an object")
        get = self._guessed.get
        name = self._name(get(session, "session id"), f"the id of {place}") or name or f"s{number}"
        texts = self._texts(get(session, "turns"), f"{place}, turns")
        turns = [Turn(turn_id=f"{name}:{place}", text=text) for place, text in enumerate(texts)]
        # Where sessions are keyed by their date, the key is the date.
        date = _date(get(session, "session date")) or _date(key)
        return Talk(session_id=name, date=date, turns=turns), self._facts(get(session, "facts"), name)

    def _texts(self, turns: object, place: str) -> Iterator[str]:
        """Go through what was said in turn."""
        if turns is None:
            return
        if isinstance(turns, str):
            yield from (line for line in turns.split("\n") if line.strip())
        elif isinstance(turns, dict) and (inner := self._key(turns, "turns")):
            self._guessed.read(inner)
            yield from self._texts(turns[inner], f"{place}.{inner}")
        elif isinstance(turns, dict) and any(key in turns for key in _MESSAGE):
            yield from self._said(turns, place)
        else:
            for number, (_, turn) in enumerate(self._items(turns, place)):
                yield from self._said(turn, f"{place}.{number}")

    def _said(self, turn: object, place: str) -> Iterator[str]:
        if isinstance(turn, str):
            yield turn
            return
        if not isinstance(turn, dict):
            raise self._wrong(place, turn, "a message")
        self._guessed.read(*(key for key in _MESSAGE if key in turn))
        text = self._key(turn, "turn text")
        if text is None and any(who in turn for who in _SPEAKERS):
            yield from (self._text(turn[who], f"{place}.{who}") for who in _SPEAKERS if turn.get(who))
        else:
            yield self._text(self._guessed.get(turn, "turn text"), f"{place}.{text}")

    def _facts(self, facts: object, session: str) -> list[ReadyFact]:
        return [
            self._fact(fact, key or f"{session}/{number}", session, f"facts of {session}, {number}")
            for number, (key, fact) in enumerate(self._items(facts or [], f"facts of {session}"))
        ]

    def _fact(self, fact: object, name: str, session: str, place: str) -> ReadyFact:
        if isinstance(fact, str):
            return ReadyFact(user_id=self._id, fact_id=name, text=fact, session_id=session)
        if not isinstance(fact, dict):
            raise self._wrong(place, fact, "a fact")
        get = self._guessed.get
        return ReadyFact(
            user_id=self._id,
            fact_id=self._name(get(fact, "fact id"), f"{place}, id") or name,
            text=self._text(get(fact, "fact text"), f"{place}, text"),
            session_id=self._name(get(fact, "fact session"), f"{place}, session") or session,
        )

    def _named_apart(self, facts: list[ReadyFact]) -> list[ReadyFact]:
        """Put the session before ids that begin anew in every session."""
        if len({fact.fact_id for fact in facts}) == len(facts):
            return facts
        return [fact.model_copy(update={"fact_id": f"{fact.session_id}/{fact.fact_id}"}) for fact in facts]

    def _question(self, number: int, query: object) -> Question:
        place = f"query {number}"
        if not isinstance(query, dict):
            raise self._wrong(place, query, "an object with its references")
        get = self._guessed.get
        own = self._name(get(query, "query id"), f"{place}, id") or f"q{number + 1}"
        return Question(
            query_id=f"{self._id}-{own}",
            user_id=self._id,
            query=self._text(get(query, "query text"), f"{place}, text"),
            query_date=_date(get(query, "query date")),
            references=[
                self._reference(key, reference, f"{place}, references")
                for key, reference in self._references(get(query, "references"), f"{place}, references")
            ],
        )

    def _references(self, data: object, place: str) -> Iterator[tuple[str | None, Any]]:
        """Go through references as (the key it stands under, reference)."""
        if data is None:
            return
        if (
            isinstance(data, dict)
            and (inner := self._key(data, "references"))
            and isinstance(data[inner], (list, dict))
        ):
            self._guessed.read(inner)
            yield from self._references(data[inner], f"{place}.{inner}")
        elif isinstance(data, (str, int)) or (isinstance(data, dict) and self._is_reference(data)):
            yield None, data
        else:
            for key, item in self._items(data, place):
                if isinstance(item, dict) and item and all(self._is_address(name) for name in item):
                    yield from self._items(item, place)
                else:
                    yield key, item

    def _is_reference(self, data: dict[str, Any]) -> bool:
        return any(self._key(data, field) for field in ("reference text", "reference fact", "reference session"))

    def _is_address(self, key: str) -> bool:
        return key in self._places.facts or key in self._places.sessions or _date(key) is not None

    def _reference(self, key: str | None, reference: Any, place: str) -> Reference:  # noqa: ANN401 - JSON data
        fact: str | None
        session: str | None
        if isinstance(reference, (str, int)):
            fact, session = str(reference), str(reference)
            date, text = _dated(str(reference))
            if session in self._places.sessions:
                text = ""  # no more than a session
        elif isinstance(reference, dict):
            fact, session, date, text = self._address(reference, place)
        else:
            raise self._wrong(place, reference, "a text, an id or an object")
        if key is not None:
            date = date or _date(key)
            fact, session = (
                (key if key in self._places.facts else fact),
                (key if key in self._places.sessions else session),
            )
        found, way = self._places.find(fact, session, date, text)
        self._found[way] += 1
        return found

    def _address(self, reference: dict[str, Any], place: str) -> tuple[str | None, str | None, datetime | None, str]:
        get = self._guessed.get
        text = get(reference, "reference text")
        if isinstance(text, dict):  # the fact itself, as memory has it
            return self._address(
                {**{key: reference[key] for key in reference if reference[key] != text}, **text}, place
            )
        fact = self._name(get(reference, "reference fact"), f"{place}, fact id")
        return (
            fact or self._text(text, f"{place}, text"),  # a reference may be no more than an id
            self._name(get(reference, "reference session"), f"{place}, session"),
            _date(get(reference, "reference date")),
            self._text(text, f"{place}, text"),
        )


def _dated(text: str) -> tuple[datetime | None, str]:
    """Split "[2025-01-10] User flies." into date and statement."""
    found = _DATED.match(text)
    return (_date(found[1]), text[found.end() :]) if found else (None, text)


def _date(value: object) -> datetime | None:
    if not isinstance(value, str):
        return None
    text = value.strip().replace("/", "-")
    for form in (None, "%Y-%m-%d", "%B %d, %Y", "%d %B %Y", "%b %d, %Y", "%m-%d-%Y"):
        try:
            found = datetime.fromisoformat(text) if form is None else datetime.strptime(text, form)  # noqa: DTZ007
            return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
        except (ValueError, OverflowError):
            continue
    return None
