"""The layout of a quest: planning requests over people whose facts are ready.

```
DATA/userN.json              {user_id, sessions: [{session_id, date, facts: [{fact_id, info, type, entities}]}],
                              queries: [{query_id, date, query, references: [fact_id]}]}
DATA/cues/userN.jsonl        {id: fact_id, cues: [text]}                      optional
DATA/probes/*.jsonl          keyed "userN-qM", see `evaluation.recorded`      optional
```

In goes the folder, out comes a `Dataset`; a folder with nothing but user files will do. No file is ever written.
"""

from __future__ import annotations

from collections.abc import Set
from pathlib import Path

from pydantic import Field

from prospection.errors import InputError
from prospection.evaluation.cases import Dataset, EvalFact, EvalQuery, EvalUser, RecordedProspection
from prospection.evaluation.datasets.published import once
from prospection.evaluation.datasets.references import each_once, empty_facts, keep_findable
from prospection.evaluation.files import Instant, Record, read_json, read_jsonl
from prospection.evaluation.recorded import read_recorded
from prospection.types import Cue, FactType

__all__ = ["find_quest", "is_quest", "load_quest", "user_files"]


class _Fact(Record):
    fact_id: str
    info: str
    type: str | None = None
    entities: list[str] = Field(default_factory=list)


class _Session(Record):
    session_id: str
    date: Instant
    facts: list[_Fact]


class _Query(Record):
    query_id: str
    date: Instant
    query: str
    references: list[str]


class _User(Record):
    user_id: str
    sessions: list[_Session]
    queries: list[_Query] = Field(default_factory=list)


class _CuesLine(Record):
    id: str
    cues: list[str]


def user_files(folder: Path) -> list[Path]:
    """The user files of a folder, user3 before user12; empty when it is not of this layout."""
    return sorted(folder.glob("user*.json"), key=lambda path: (len(path.stem), path.stem))


def is_quest(keys: Set[str]) -> bool:
    """Return whether a user file with these keys is of this layout."""
    return {"sessions[].session_id", "sessions[].date", "sessions[].facts[].fact_id", "sessions[].facts[].info"} <= keys


def find_quest(path: Path) -> Path | None:
    """Return the folder when it holds user files."""
    return path if user_files(path) else None


def load_quest(folder: Path) -> Dataset:
    """Load a folder of this layout.

    Raises:
        InputError: A file cannot be read, or a user occurs twice.
    """
    recorded = read_recorded(folder / "probes")
    users: list[EvalUser] = []
    asked: list[tuple[_Query, str, set[str]]] = []
    files: dict[str, Path] = {}
    texts: list[str] = []
    for path in user_files(folder):
        user = read_json(path, _User)
        if user.user_id in files:
            raise InputError(f"{path}: user {user.user_id!r} stands in {files[user.user_id]} as well; keep one of them")
        files[user.user_id] = path
        cues_file = folder / "cues" / f"{path.stem}.jsonl"
        cues = {line.id: line.cues for line in read_jsonl(cues_file, _CuesLine)} if cues_file.is_file() else {}
        dated = [(fact, session) for session in user.sessions for fact in session.facts]
        once([fact.fact_id for fact, _ in dated], "fact", path)
        once([query.query_id for query in user.queries], "query", path)
        texts += [fact.info for fact, _ in dated]
        facts = tuple(_fact(fact, session, cues.get(fact.fact_id, [])) for fact, session in dated if fact.info.strip())
        users.append(EvalUser(id=user.user_id, facts=facts))
        known = {fact.id for fact in facts}
        asked += ((query, user.user_id, known) for query in user.queries)
    references, repeats = each_once([query.references for query, _, _ in asked])
    kept, notes = keep_findable(
        [_query(*one, own, recorded) for one, own in zip(asked, references, strict=True)],
    )
    return Dataset(
        name=folder.resolve().name,
        users=tuple(users),
        queries=kept,
        notes=(*empty_facts(texts), *repeats, *notes, *_coverage(users, kept)),
    )


def _fact(fact: _Fact, session: _Session, cues: list[str]) -> EvalFact:
    return EvalFact(
        id=fact.fact_id,
        text=fact.info,
        session=session.session_id,
        at=session.date,
        # Other sets of this layout may sort facts differently; no figure depends on the kind.
        type=FactType(fact.type) if fact.type in set(FactType) else None,
        entities=tuple(fact.entities),
        cues=tuple(Cue(text=cue) for cue in cues),
    )


def _query(
    query: _Query, user: str, known: set[str], references: list[str], recorded: dict[str, RecordedProspection]
) -> EvalQuery:
    name = f"{user}-{query.query_id}"
    return EvalQuery(
        id=name,
        user=user,
        text=query.query,
        at=query.date,
        references=tuple(frozenset({reference} & known) for reference in references),
        recorded=recorded.get(name),
    )


def _coverage(users: list[EvalUser], queries: tuple[EvalQuery, ...]) -> list[str]:
    # Only what is incomplete is worth a sentence: a system without its recordings or cues is not comparable.
    facts = [fact for user in users for fact in user.facts]
    with_cues = sum(bool(fact.cues) for fact in facts)
    with_steps = sum(query.recorded is not None for query in queries)
    notes = []
    if 0 < with_cues < len(facts):
        notes.append(f"Only {with_cues} of {len(facts)} facts have cues.")
    if 0 < with_steps < len(queries):
        notes.append(f"Only {with_steps} of {len(queries)} queries have recorded probes.")
    return notes
