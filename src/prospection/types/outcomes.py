"""What remembering, tending and forgetting came to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from prospection.types.conversations import SessionRecord
from prospection.types.facts import Fact, Source
from prospection.types.usage import Usage

__all__ = [
    "Consolidation",
    "CueBackfill",
    "Erased",
    "Failed",
    "Merge",
    "Nothing",
    "Outcome",
    "Queued",
    "Review",
    "Reviewed",
    "Stored",
    "Work",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """Several facts that became one, or could have.

    Attributes:
        sources: The facts, in the order of ids, as they were before.
        statement: What would say all of it; None where no model was asked yet.
        fact: The merged fact as it stands; None where it was not carried out.
        refused: Why it was not carried out, or in a preview would not be, in one sentence; None where it was or would.
    """

    sources: tuple[Fact, ...]
    statement: str | None = None
    fact: Fact | None = None
    refused: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidation:
    """What a consolidation did, or in a preview would look at.

    Attributes:
        facts: Current facts that were compared.
        new: Those of them that no earlier consolidation had looked at.
        merges: Groups of facts and what became of each.
        preview: Nothing was asked or changed.
        partial: Why not all groups were dealt with; the rest is for the next run.
    """

    facts: int
    new: int
    merges: tuple[Merge, ...]
    usage: Usage
    preview: bool = False
    partial: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CueBackfill:
    """What came of writing cues for facts that had none.

    Attributes:
        facts: Facts that have cues now.
        left: Facts that still have none.
        partial: Why it ended early; run it again to go on.
    """

    facts: int
    left: int
    usage: Usage
    partial: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """Facts came out of the session.

    Attributes:
        facts: The new, the reinforced and the revised ones as they then stood.
        consolidated: What the consolidation did that followed; None where none was due.
    """

    session: str
    facts: tuple[Fact, ...]
    usage: Usage
    consolidated: Consolidation | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Nothing:
    """The session was understood and holds nothing worth keeping, or nothing that was not already extracted."""

    session: str
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Queued:
    """The session is safely stored and waits for extraction.

    Attributes:
        session: Its id, which is also that of the operation: `AsyncMemory.operation` says how far it is.
    """

    session: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """Extraction failed; the session is kept whole and can be retried."""

    session: str
    reason: str
    usage: Usage


Outcome: TypeAlias = Stored | Nothing | Queued | Failed
"""What became of a session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a run of the worker did.

    Attributes:
        sessions: Sessions that are done now.
        facts: Facts that they added, reinforced or revised.
        failed: Attempts that failed. Those sessions are kept and tried again.
        usage: Of all attempts.
        stopped: Why it ended before the queue was empty, in a sentence; None when it was.
    """

    sessions: int = 0
    facts: int = 0
    failed: int = 0
    usage: Usage = Usage()
    stopped: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewed:
    """What a conversation did to one fact.

    Attributes:
        fact: As it stands.
        change: It was new, had been said before, or took the place of others.
        sources: Where in the conversation it was said.
        replaced: The facts whose place it took.
        now: The fact that has taken its place since, at the end of the chain; None while it is current or removed.
    """

    fact: Fact
    change: Literal["added", "reinforced", "revised"]
    sources: tuple[Source, ...]
    replaced: tuple[Fact, ...] = ()
    now: Fact | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """What a conversation came to.

    Attributes:
        session: The conversation and where it stands.
        facts: What it did, in the order of ids.
    """

    session: SessionRecord
    facts: tuple[Reviewed, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """How much `forget` erased."""

    sessions: int = 0
    messages: int = 0
    facts: int = 0
    cues: int = 0
    vectors: int = 0
    traces: int = 0
