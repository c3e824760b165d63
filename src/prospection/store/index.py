"""One user's facts as arrays, in step with the database.

A connection and what is already loaded go in; out comes an index that is exactly the state the connection sees. Loading
reads only what changed since. An index is never changed in place, so searches in other threads keep theirs. Never
writes to the database.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from prospection.search.matrix import Matrix
from prospection.store.rows import User, microseconds, number
from prospection.store.vectors import Encoder, encoder_number, unpack
from prospection.types import Fact, FactType, SearchFilter

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["UserIndex", "Vectored", "allowed", "in_step"]

_OPEN = int(np.iinfo(np.int64).max)  # the end of an interval that has none
_TYPES = {str(kind): place for place, kind in enumerate(FactType)}


@dataclass(frozen=True, slots=True)
class Vectored:
    """Vectors of facts, or of their cues.

    Attributes:
        matrix: m unit rows, those of a fact next to each other, in the order of facts.
        owner: (m,) place of the fact each belongs to.
        weights: (m,) float32, 1 for facts.
        starts: (g,) first row of each fact that has any.
    """

    matrix: Matrix
    owner: NDArray[Any]
    weights: NDArray[Any]
    starts: NDArray[Any]


@dataclass(frozen=True, slots=True)
class UserIndex:
    """A user's facts, n of them, in the order of numbers.

    Attributes:
        columns: (7, n) int64: row id, number, kind, said_at, valid_from, valid_until, number of words.
        facts: Their vectors; None in a store without encoder.
        cues: The vectors of their cues.
        loaded: Facts that hits have needed so far, by place; a cache.
    """

    user: User
    columns: NDArray[Any]
    facts: Vectored | None
    cues: Vectored | None
    loaded: dict[int, Fact] = field(default_factory=dict)

    @property
    def ids(self) -> NDArray[Any]:
        """(n,) int64: row ids, which the index of words knows facts by."""
        ids: NDArray[Any] = self.columns[0]
        return ids

    @property
    def numbers(self) -> NDArray[Any]:
        """(n,) int64: numbers of the facts."""
        numbers: NDArray[Any] = self.columns[1]
        return numbers

    @property
    def lengths(self) -> NDArray[Any]:
        """(n,) int64: numbers of words."""
        lengths: NDArray[Any] = self.columns[-1]
        return lengths


def in_step(connection: sqlite3.Connection, held: UserIndex | None, user: User, encoder: Encoder | None) -> UserIndex:
    """Return the index of the state that `connection` sees.

    Args:
        connection: Inside the read transaction in which `user` was read.
        held: An index of an earlier state; None to load everything.
        user: The row as it stands.
        encoder: Whose vectors to load; None for none.
    """
    if held is None or held.user.uid != user.uid or held.user.revision < user.generation:
        held = _empty(user, encoder)
    if held.user.revision == user.revision:
        return held
    rows = connection.execute(
        "SELECT id, fact, type, said_at, valid_from, coalesce(valid_until, ?), words FROM facts"
        " WHERE uid = ? AND revision > ? ORDER BY fact",
        (_OPEN, user.uid, held.user.revision),
    ).fetchall()
    table = np.array([(i, n, _TYPES[kind], *rest) for i, n, kind, *rest in rows], dtype=np.int64).reshape(-1, 7).T
    known = held.columns.shape[1]
    last = int(held.columns[1, -1]) if known else 0
    old = table[1] <= last
    columns = np.concatenate([held.columns, table[:, ~old]], axis=1)
    places = np.searchsorted(columns[1], table[1, old])
    columns[:, places] = table[:, old]
    stale = set(places.tolist())
    facts, cues = _with_new_vectors(connection, held, columns[1], last, encoder)
    return UserIndex(
        user=user,
        columns=columns,
        facts=facts,
        cues=cues,
        loaded={place: fact for place, fact in held.loaded.items() if place not in stale},
    )


def allowed(index: UserIndex, where: SearchFilter) -> NDArray[Any]:
    """Return (n,) bool: which facts a filter lets be found."""
    _, numbers, kinds, said, since, until, _ = index.columns
    mask: NDArray[Any]
    if where.at is None:
        mask = until == _OPEN
    else:
        at = microseconds(where.at)
        mask = (since <= at) & (at < until)
    if where.types is not None:
        mask &= np.isin(kinds, [_TYPES[kind] for kind in where.types])
    if where.said_from is not None:
        mask &= said >= microseconds(where.said_from)
    if where.said_until is not None:
        mask &= said < microseconds(where.said_until)
    if where.exclude:
        excluded = [fact for fact in map(number, where.exclude) if fact is not None]
        mask &= ~np.isin(numbers, np.array(excluded, dtype=np.int64))
    return mask


def _empty(user: User, encoder: Encoder | None) -> UserIndex:
    nothing = None
    if encoder is not None:
        places = np.empty(0, dtype=np.int64)
        nothing = Vectored(Matrix(encoder.dims), places, np.empty(0, dtype=np.float32), places)
    # Revision -1: everything the database holds is newer.
    return UserIndex(replace(user, revision=-1), np.empty((7, 0), dtype=np.int64), nothing, nothing)


def _with_new_vectors(
    connection: sqlite3.Connection, held: UserIndex, numbers: NDArray[Any], last: int, encoder: Encoder | None
) -> tuple[Vectored | None, Vectored | None]:
    if encoder is None or held.facts is None or held.cues is None:
        return None, None
    rows = connection.execute(
        "SELECT v.fact, v.cue, coalesce(c.weight, 1.0), v.vector FROM vectors v"
        " LEFT JOIN cues c ON c.uid = v.uid AND c.fact = v.fact AND c.cue = v.cue"
        " WHERE v.uid = ? AND v.encoder = ? AND v.fact > ? ORDER BY v.fact, v.cue",
        (held.user.uid, encoder_number(connection, encoder), last),
    ).fetchall()
    of_facts = [row for row in rows if row[1] == 0]
    of_cues = [row for row in rows if row[1] > 0]
    return (
        _extended(held.facts, of_facts, numbers, encoder.dims),
        _extended(held.cues, of_cues, numbers, encoder.dims),
    )


def _extended(held: Vectored, rows: list[tuple[Any, ...]], numbers: NDArray[Any], dims: int) -> Vectored:
    if not rows:
        return held
    owner = np.searchsorted(numbers, np.array([row[0] for row in rows], dtype=np.int64))
    firsts = np.flatnonzero(np.diff(owner, prepend=-1))
    return Vectored(
        matrix=held.matrix.extended(unpack([row[3] for row in rows], dims)),
        owner=np.concatenate([held.owner, owner]),
        weights=np.concatenate([held.weights, np.array([row[2] for row in rows], dtype=np.float32)]),
        starts=np.concatenate([held.starts, firsts + len(held.owner)]),
    )
