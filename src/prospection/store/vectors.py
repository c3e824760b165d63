"""Vectors as they lie in the database: float16, with the encoder that made them.

Half precision halves the file and moves a cosine by less than a thousandth; rows are brought back to length 1.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from prospection.errors import EncoderMismatchError, StoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = [
    "Encoder",
    "active_encoder",
    "check_encoder",
    "encoder_number",
    "load_vectors",
    "pack",
    "register_encoder",
    "unpack",
]


@dataclass(frozen=True, slots=True)
class Encoder:
    """Which encoder made a vector, and its width."""

    name: str
    dims: int


def active_encoder(connection: sqlite3.Connection) -> Encoder | None:
    """Return the encoder whose vectors are searched; None in a store that never held any."""
    row = connection.execute("SELECT name, dims FROM encoders WHERE state = 'active'").fetchone()
    return Encoder(*row) if row else None


def check_encoder(connection: sqlite3.Connection, encoder: Encoder) -> None:
    """Refuse an encoder other than the one whose vectors are searched.

    Raises:
        EncoderMismatchError: There are vectors, and another encoder made them.
    """
    active = active_encoder(connection)
    if active in (None, encoder) or not connection.execute("SELECT 1 FROM vectors LIMIT 1").fetchone():
        return
    assert active is not None  # noqa: S101 - see above
    raise EncoderMismatchError(
        f"the store's vectors were made by encoder {active.name!r} ({active.dims} dimensions) and cannot be compared "
        f"with those of {encoder.name!r} ({encoder.dims} dimensions); open it with encoder {active.name!r}, or have "
        "all vectors made anew by the other one: prospection reembed --encoder NAME"
    )


def encoder_number(connection: sqlite3.Connection, encoder: Encoder) -> int | None:
    """Return the encoder's number in this database; None while it has made no vector here."""
    row = connection.execute(
        "SELECT encoder FROM encoders WHERE name = ? AND dims = ?", (encoder.name, encoder.dims)
    ).fetchone()
    return int(row[0]) if row else None


def register_encoder(connection: sqlite3.Connection, encoder: Encoder) -> int:
    """Return the encoder's number before it makes a vector to be searched, recording it before the first.

    Raises:
        EncoderMismatchError: There are vectors, and another encoder made them.
    """
    if active_encoder(connection) != encoder:
        check_encoder(connection, encoder)
        connection.execute("DELETE FROM encoders")  # of encoders none of whose vectors is left
        connection.execute("INSERT INTO encoders (name, dims) VALUES (?, ?)", (encoder.name, encoder.dims))
    known = encoder_number(connection, encoder)
    if known is None:  # pragma: no cover - just written
        raise StoreError(f"encoder {encoder.name!r} could not be recorded")
    return known


def load_vectors(
    connection: sqlite3.Connection, uid: int, encoder: Encoder, facts: Sequence[int | None]
) -> NDArray[Any]:
    """Return the vectors of a user's facts by number: (n, d) float32 unit rows, in the order asked.

    Raises:
        EncoderMismatchError: Another encoder has been put in use.
        StoreError: A fact is not there.
    """
    check_encoder(connection, encoder)
    rows = connection.execute(
        "SELECT fact, vector FROM vectors WHERE uid = ? AND encoder = ? AND cue = 0"
        " AND fact IN (SELECT value FROM json_each(?))",
        (uid, encoder_number(connection, encoder), json.dumps([fact for fact in facts if fact is not None])),
    )
    held = dict(rows.fetchall())
    missing = [fact for fact in facts if fact not in held]
    if missing:
        raise StoreError(f"fact f{missing[0]} has no vector here; it was forgotten meanwhile, so recall again")
    return unpack([held[fact] for fact in facts], encoder.dims)


def pack(vectors: NDArray[Any], encoder: Encoder, what: str) -> list[bytes]:
    """Return (n, d) float32 rows as n blobs.

    Raises:
        StoreError: Not n rows of the encoder's width, or not finite.
    """
    rows = np.asarray(vectors)
    if rows.size and (rows.ndim != 2 or rows.shape[1] != encoder.dims):
        raise StoreError(
            f"the vectors of {what} have shape {rows.shape}; encoder {encoder.name!r} makes {encoder.dims} dimensions"
        )
    if not np.isfinite(rows).all():
        raise StoreError(f"a vector of {what} is not finite; the encoder {encoder.name!r} failed on that text")
    return [row.tobytes() for row in rows.astype("<f2")]


def unpack(blobs: Sequence[bytes], dims: int) -> NDArray[Any]:
    """Return n blobs as (n, d) float32 rows of length 1."""
    rows = np.frombuffer(b"".join(blobs), dtype="<f2").reshape(len(blobs), dims).astype(np.float32)
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    np.divide(rows, lengths, out=rows, where=lengths > 0)
    return rows
