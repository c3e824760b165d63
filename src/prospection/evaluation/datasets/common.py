"""The common JSONL layout of public benchmarks.

```
DATA/users.jsonl      {user_id, sessions: [{session_id, date|null, turns: [{turn_id, role, speaker?, text}]}]}
DATA/queries.jsonl    {query_id, user_id, query, query_date|null, category?, answer?,
                       references: [{session_id, turn_ids?, fact_id?}]}
DATA/facts.jsonl      {user_id, fact_id, text, session_id, turn_ids}          optional
```

In goes the folder, out comes a `Dataset`. No file is ever written.
"""

from __future__ import annotations

from pathlib import Path

from prospection.evaluation.cases import Dataset
from prospection.evaluation.datasets.conversations import Person, Question, ReadyFact, assemble
from prospection.evaluation.datasets.published import once
from prospection.evaluation.files import read_jsonl

__all__ = ["find_common", "load_common"]

FILES = ("users.jsonl", "queries.jsonl")
"""The files by which a folder of this layout is known."""


def find_common(path: Path) -> Path | None:
    """Return the folder when it is of this layout."""
    return path if all((path / name).is_file() for name in FILES) else None


def load_common(folder: Path) -> Dataset:
    """Load a folder of this layout.

    A reference counts by its fact id when the set has facts, else by any of its turns, else by anything of its
    session.

    Raises:
        InputError: A file cannot be read, or an id occurs twice in it.
    """
    users, queries, facts = (folder / name for name in (*FILES, "facts.jsonl"))
    people, questions = read_jsonl(users, Person), read_jsonl(queries, Question)
    ready = read_jsonl(facts, ReadyFact) if facts.is_file() else None
    once([person.user_id for person in people], "user", users)
    for person in people:
        once([talk.session_id for talk in person.sessions], f"session of user {person.user_id!r}", users)
        own = [turn.turn_id for talk in person.sessions for turn in talk.turns]
        once(own, f"turn of user {person.user_id!r}", users)
        once(
            [fact.fact_id for fact in ready or () if fact.user_id == person.user_id],
            f"fact of user {person.user_id!r}",
            facts,
        )
    once([question.query_id for question in questions], "query", queries)
    return assemble(folder.resolve().name, people, questions, ready)
