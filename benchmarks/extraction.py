"""How good are the facts that a conversation is turned into?

    python benchmarks/extraction.py DATA [--json] [--show]

DATA is a folder in the layout of a quest: `userN.json` with the gold facts of every session and, in `dialogues/`,
`userN.json` with the same sessions as conversations. Each session is extracted by rules and compared with its gold
facts, by meaning (cosine under the local encoder) and by words. No language model takes part.

- coverage: share of gold facts that some extracted statement of the same session matches
- precision: share of extracted statements that match some gold fact of their session. The rest is not all junk: it also
  holds true statements that the gold does not list.
- direct@k: the dense rank of the statement that stands for a needed fact, when searched with the query alone; beside it
  the same with the gold facts. It tells whether what was extracted can be found as well as clean facts.
- references: the needed facts of the queries that a statement matches
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import anyio
import numpy as np
from numpy.typing import NDArray

from prospection.models.local import LocalEncoder
from prospection.remember.conversation import parse_file
from prospection.remember.rules import extract_by_rules
from prospection.types import Session, Vectors

NEAR, NEAR_ENOUGH, SHARED = 0.55, 0.40, 0.40
"""A match: a cosine of `NEAR`, or one of `NEAR_ENOUGH` with `SHARED` of the gold fact's longer words."""
AT = (10, 20, 60)
_GOLD_WORDS = frozenset({"user", "that", "with", "from", "have", "this", "when", "they", "were", "been"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Gold:
    """A fact as the data has it."""

    fid: str
    session: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A statement as it was extracted."""

    session: str
    text: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """One person's gold facts and what was extracted, with their vectors, row by row."""

    name: str
    gold: Sequence[Gold]
    gold_vectors: Vectors
    found: Sequence[Found]
    found_vectors: Vectors
    queries: Sequence[tuple[Vectors, Sequence[str]]]
    seconds: float
    sessions: int

    def matches(self) -> NDArray[np.bool_]:
        """(gold, found) bool: which statement of the same session says what a gold fact says."""
        similarity = self.gold_vectors @ self.found_vectors.T
        table = np.zeros(similarity.shape, dtype=np.bool_)
        for row, gold in enumerate(self.gold):
            words = _words(gold.text)
            for column, found in enumerate(self.found):
                near = similarity[row, column]
                close = near >= NEAR_ENOUGH and len(words & _words(found.text)) >= SHARED * max(len(words), 1)
                table[row, column] = gold.session == found.session and (near >= NEAR or close)
        return table


def main() -> None:
    """Print the scores of every person in the folder."""
    parser = argparse.ArgumentParser(description="Score extraction by rules against gold facts.")
    parser.add_argument("data", type=Path, help="folder with userN.json and dialogues/userN.json")
    parser.add_argument("--zone", default="Europe/Zurich", help="time zone of the dialogues")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--show", action="store_true", help="list missed gold facts, unmatched statements, references")
    given = parser.parse_args()
    files = sorted((given.data / "dialogues").glob("*.json"))
    if not files:
        parser.error(f"{given.data / 'dialogues'} holds no conversations")
    people = [
        anyio.run(read_person, file.read_text("utf-8"), (given.data / file.name).read_text("utf-8"), given.zone)
        for file in files
    ]
    if given.json:
        print(json.dumps({person.name: score(person) for person in people}, indent=2))
        return
    for person in people:
        print(person.name)
        for name, value in score(person).items():
            print(f"  {name:<22} {value}")
        if given.show:
            print("\n".join(details(person)))


async def read_person(dialogues: str, user: str, zone: str) -> Person:
    """Extract every conversation of a person and embed what is compared; both arguments are the text of a file."""
    truth = json.loads(user)
    gold = [
        Gold(fid=fact["fact_id"], session=session["session_id"], text=fact["info"])
        for session in truth["sessions"]
        for fact in session["facts"]
    ]
    transcripts = parse_file(dialogues, zone=ZoneInfo(zone))
    began = time.perf_counter()
    found = [
        Found(session=transcript.id, text=candidate.info, kind=candidate.type.value)
        for transcript in transcripts
        if transcript.at is not None
        for candidate in extract_by_rules(
            Session(id=transcript.id, at=transcript.at, messages=transcript.messages, zone=zone), transcript.messages
        )
    ]
    seconds = time.perf_counter() - began
    encoder = LocalEncoder()
    asked = await encoder.embed([query["query"] for query in truth["queries"]], role="query")
    return Person(
        name=truth["user_id"],
        gold=gold,
        # The gold speaks of "User", the person of themselves.
        gold_vectors=await encoder.embed([_first_person(fact.text) for fact in gold]),
        found=found,
        found_vectors=await encoder.embed([statement.text for statement in found]),
        queries=[(asked[row], query["references"]) for row, query in enumerate(truth["queries"])],
        seconds=seconds,
        sessions=len(transcripts),
    )


def score(person: Person) -> dict[str, Any]:
    """Return the scores of one person, rounded for reading."""
    matched = person.matches()
    counts = [sum(statement.session == session for statement in person.found) for session in _sessions(person)]
    ranks, gold_ranks, covered = zip(*_ranks(person, matched), strict=True)
    return {
        "sessions": person.sessions,
        "gold facts": len(person.gold),
        "statements": len(person.found),
        "per session": f"{np.mean(counts):.2f} ({min(counts)} to {max(counts)})",
        "characters": round(float(np.mean([len(statement.text) for statement in person.found]))),
        "coverage": round(float(matched.any(axis=1).mean()), 3),
        "precision": round(float(matched.any(axis=0).mean()), 3),
        "references": f"{sum(covered)} of {len(covered)}",
        "direct": {str(k): round(float(np.mean(np.array(ranks) < k)), 3) for k in AT},
        "direct over gold": {str(k): round(float(np.mean(np.array(gold_ranks) < k)), 3) for k in AT},
        "ms per session": round(1000 * person.seconds / person.sessions, 2),
    }


def details(person: Person) -> Iterator[str]:
    """Yield what to read: gold facts that were missed, statements that match none, and each needed fact."""
    matched = person.matches()
    yield "--- missed"
    known = [bool(row.any()) for row in matched]
    yield from (f"{it.session}  {it.text}" for it, hit in zip(person.gold, known, strict=True) if not hit)
    yield "--- matching no gold fact"
    useful = [bool(column.any()) for column in matched.T]
    yield from (f"{it.session}  {it.text}" for it, hit in zip(person.found, useful, strict=True) if not hit)
    yield "--- needed facts"
    rows = {gold.fid: row for row, gold in enumerate(person.gold)}
    for fid in dict.fromkeys(fid for _, references in person.queries for fid in references):
        stands = _standing_for(person, rows[fid])
        yield f"{fid}  {person.gold[rows[fid]].text}"
        yield f"       {'(nothing)' if stands is None else person.found[stands].text}"


def _ranks(person: Person, matched: NDArray[np.bool_]) -> Iterator[tuple[int, int, bool]]:
    """Yield (rank of the statement standing for it, rank of the gold fact itself, matched) of each needed fact."""
    rows: Mapping[str, int] = {gold.fid: row for row, gold in enumerate(person.gold)}
    for vector, references in person.queries:
        found_order = np.argsort(-(person.found_vectors @ vector), kind="stable").tolist()
        gold_order = np.argsort(-(person.gold_vectors @ vector), kind="stable").tolist()
        for row in (rows[fid] for fid in references):
            stands = _standing_for(person, row)
            rank = len(found_order) if stands is None else found_order.index(stands)
            yield rank, gold_order.index(row), bool(matched[row].any())


def _standing_for(person: Person, row: int) -> int | None:
    """The statement of the same session nearest in meaning; None when nothing was extracted there."""
    near = person.found_vectors @ person.gold_vectors[row]
    same = [place for place, it in enumerate(person.found) if it.session == person.gold[row].session]
    return max(same, key=lambda place: float(near[place]), default=None)


def _sessions(person: Person) -> list[str]:
    return list(dict.fromkeys(gold.session for gold in person.gold))


def _first_person(text: str) -> str:
    return text.replace("User's", "My").replace("User", "I")


def _words(text: str) -> set[str]:
    return {word for word in re.findall(r"\w{4,}", text.lower()) if word not in _GOLD_WORDS}


if __name__ == "__main__":
    main()
