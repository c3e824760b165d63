"""What is done to facts: proposed by a model, a rule or a person, carried out by the store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from prospection.types.facts import Candidate, Cue, Source, Vectors

__all__ = [
    "Add",
    "Close",
    "Consolidated",
    "Edit",
    "Operation",
    "Pin",
    "Recue",
    "Reinforce",
    "Revise",
    "Unmerge",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Add:
    """Store a new fact. If a current fact has the same normalised text, the store reinforces that one instead.

    Attributes:
        vector: (d,) float32 unit row of `candidate.info`.
        cue_vectors: (c, d) float32 unit rows, one for each of `candidate.cues`.
    """

    candidate: Candidate
    vector: Vectors
    cue_vectors: Vectors


@dataclass(frozen=True, slots=True, kw_only=True)
class Reinforce:
    """Say a stored fact once more: its frequency grows by one and the source is kept."""

    fid: str
    provenance: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Revise:
    """Replace stored facts by a new one. The old ones stay as history with their interval closed.

    One fact replaced is a revision, several are a merge: its statement stands on theirs. The new fact inherits the
    sources of the old ones. A pinned fact gives way only to a pinned one, which is how a model is kept from it.

    Attributes:
        parts: Statements made just now that went into the merge. They are stored as history of it, so that the merge
            can be undone, or one of its sources forgotten, and nothing else is lost.
    """

    fids: tuple[str, ...]
    candidate: Candidate
    vector: Vectors
    cue_vectors: Vectors
    parts: tuple[Add, ...] = ()


Operation: TypeAlias = Add | Reinforce | Revise
"""What a model or a rule proposes and the store carries out. None of them destroys anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Close:
    """End a fact's interval without a successor: it is not true any more, or never was. It stays as history."""

    fid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """Pin a current fact, or take the pin out."""

    fid: str
    pinned: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Recue:
    """Give a current fact other future cues.

    Attributes:
        cue_vectors: (c, d) float32 unit rows, one for each cue.
    """

    fid: str
    cues: tuple[Cue, ...]
    cue_vectors: Vectors


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmerge:
    """Take a merge back as if it had never been: the facts it was made of are current again, the merged one is gone.

    What was said again of the merged fact counts for those it was made of.
    """

    fid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidated:
    """Note that all facts up to this one have been looked at for merging."""

    fid: str


Edit: TypeAlias = Operation | Close | Pin | Recue | Unmerge | Consolidated
"""What changes facts outside of a conversation: a person's hand, consolidation, new cues."""
