"""Conversations beside the facts that they should give.

```
DATA/userN.json              the gold facts, session by session: see `evaluation.datasets.quest`
DATA/dialogues/userN.json    {user_id, sessions: [{session_id, date, time, messages: [{role, content}]}]}
```

In goes the folder; out come the people who have both. No file is ever written.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from zoneinfo import ZoneInfo

from prospection.errors import ConversationError, InputError
from prospection.evaluation.cases import EvalFact, EvalUser
from prospection.evaluation.datasets.quest import load_quest
from prospection.remember.conversation import parse_file
from prospection.types import Session

__all__ = ["Person", "read_people"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody's conversations, and what they should give.

    Attributes:
        sessions: Those that gold facts are listed for, in the order of the file.
        gold: The facts of these sessions.
        needed: Ids of the facts that some query needs.
    """

    id: str
    sessions: tuple[Session, ...]
    gold: tuple[EvalFact, ...]
    needed: frozenset[str]


def read_people(folder: Path, zone: str) -> list[Person]:
    """Read everybody who has conversations in the folder, at least one person.

    Args:
        zone: IANA name of the zone that the conversations' times are in.

    Raises:
        InputError: A file cannot be read, or nobody has both gold facts and conversations of the same sessions.
    """
    dataset = load_quest(folder)
    needed: dict[str, set[str]] = {}
    for query in dataset.queries:
        needed.setdefault(query.user, set()).update(*query.references)
    people = []
    for user in dataset.users:
        file = folder / "dialogues" / f"{user.id}.json"
        if file.is_file():
            people.append(_person(user, file, needed.get(user.id, set()), zone))
    if not people:
        raise InputError(
            f"{str(folder)!r} has conversations of nobody; put user88.json with the gold facts into it and "
            "dialogues/user88.json with the same sessions"
        )
    return people


def _person(user: EvalUser, file: Path, needed: set[str], zone: str) -> Person:
    try:
        transcripts = parse_file(file.read_text(encoding="utf-8"), zone=ZoneInfo(zone))
    except (OSError, UnicodeDecodeError, ConversationError) as error:
        raise InputError(f"{str(file)!r} cannot be used: {error}; write it as {{'sessions': [...]}}") from error
    listed = {fact.session for fact in user.facts}
    sessions = tuple(
        Session(id=transcript.id, at=transcript.at, messages=transcript.messages, zone=zone)
        for transcript in transcripts
        if transcript.at is not None and transcript.id in listed
    )
    told = {session.id for session in sessions}
    if not told:
        raise InputError(f"{str(file)!r} has no dated session that gold facts are listed for; compare the session ids")
    return Person(
        id=user.id,
        sessions=sessions,
        gold=tuple(fact for fact in user.facts if fact.session in told),
        needed=frozenset(needed),
    )
