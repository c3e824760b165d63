"""Vectors of another encoder, made beside those in use, and the moment at which they take over.

Functions over a connection that is in a transaction; the caller commits. What is still to do is always read from the
data: the texts that have no vector yet. So work that was cut short goes on where it stood, and facts that come in
meanwhile are found. Never embeds anything, and never touches the vectors in use before the others are complete.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from prospection.errors import ConflictError
from prospection.store.vectors import Encoder, active_encoder, encoder_number, pack
from prospection.types import Unembedded, Vectors

__all__ = ["cut_over", "drop_unused", "prepare", "put_vectors", "unembedded"]

_BEGINNING = (0, -1)

# All that has to have a vector: facts, also those that were replaced, and cues. (?1, ?2) is the place to go on after.
_MISSING = """
    FROM (
        SELECT id, uid, fact, 0 AS cue, info AS text FROM facts WHERE id >= ?1
        UNION ALL
        SELECT f.id, f.uid, f.fact, c.cue, c.text FROM facts f JOIN cues c ON c.uid = f.uid AND c.fact = f.fact
        WHERE f.id >= ?1) t
    WHERE (t.id, t.cue) > (?1, ?2) AND NOT EXISTS (SELECT 1 FROM vectors v
        WHERE v.uid = t.uid AND v.encoder = ?3 AND v.fact = t.fact AND v.cue = t.cue)
"""


def prepare(connection: sqlite3.Connection, encoder: Encoder) -> int:
    """Make room for an encoder's vectors beside those in use; another one that was on its way gives up its place.

    Returns:
        How many texts have no vector of it yet.
    """
    key = (encoder.name, encoder.dims)
    connection.execute("UPDATE encoders SET state = 'leaving' WHERE state = 'coming' AND (name, dims) != (?, ?)", key)
    if encoder_number(connection, encoder) is None:
        connection.execute("INSERT INTO encoders (name, dims, state) VALUES (?, ?, 'coming')", key)
    # One that is still leaving turns back: its vectors are as good as they were.
    connection.execute("UPDATE encoders SET state = 'coming' WHERE state = 'leaving' AND (name, dims) = (?, ?)", key)
    (missing,) = connection.execute(
        "SELECT count(*)" + _MISSING, (*_BEGINNING, encoder_number(connection, encoder))
    ).fetchone()
    return int(missing)


def unembedded(
    connection: sqlite3.Connection, encoder: Encoder, after: tuple[int, int] | None, limit: int
) -> list[Unembedded]:
    """Return a page of the texts that have no vector of the encoder yet, in the order of arrival."""
    rows = connection.execute(
        "SELECT t.id, t.cue, t.text" + _MISSING + "ORDER BY t.id, t.cue LIMIT ?4",
        (*(after or _BEGINNING), encoder_number(connection, encoder), limit),
    )
    return [Unembedded(place=(row, cue), text=text) for row, cue, text in rows]


def put_vectors(
    connection: sqlite3.Connection, encoder: Encoder, texts: Sequence[Unembedded], vectors: Vectors
) -> None:
    """Keep vectors of an encoder that was prepared; a text that is not there any more gets none.

    Raises:
        ConflictError: Another encoder was prepared since.
        StoreError: Not one vector of the encoder's width for each text.
    """
    coming = connection.execute(
        "SELECT encoder FROM encoders WHERE name = ? AND dims = ? AND state != 'leaving'", (encoder.name, encoder.dims)
    ).fetchone()
    if coming is None:
        raise ConflictError(
            f"the vectors of encoder {encoder.name!r} are not wanted any more: another re-embedding has begun since; "
            "let that one end, or run this one again"
        )
    blobs = pack(vectors, encoder, f"{len(texts)} texts")
    connection.executemany(
        # The text is compared: it may have been forgotten, or its cues written anew, while it was being embedded.
        "INSERT INTO vectors (uid, encoder, fact, cue, vector)"
        " SELECT f.uid, ?1, f.fact, ?3, ?5 FROM facts f LEFT JOIN cues c ON c.uid = f.uid AND c.fact = f.fact"
        " AND c.cue = ?3 WHERE f.id = ?2 AND iif(?3, c.text, f.info) = ?4 ON CONFLICT DO NOTHING",
        [(coming[0], *text.place, text.text, blob) for text, blob in zip(texts, blobs, strict=True)],
    )


def cut_over(connection: sqlite3.Connection, encoder: Encoder) -> bool:
    """Put the encoder in use if every text has a vector of it; every cache then starts afresh.

    Returns:
        Whether it is in use; False when vectors are missing.
    """
    if active_encoder(connection) == encoder:
        return True
    if unembedded(connection, encoder, None, 1):
        return False
    connection.execute("UPDATE encoders SET state = 'leaving' WHERE state = 'active'")
    connection.execute("UPDATE encoders SET state = 'active' WHERE encoder = ?", (encoder_number(connection, encoder),))
    connection.execute("UPDATE users SET revision = revision + 1, generation = revision + 1")
    return True


def drop_unused(connection: sqlite3.Connection, start: int, size: int) -> tuple[int, int | None]:
    """Remove vectors of encoders that are neither in use nor on their way, one stretch of the table at a time.

    Args:
        start: Where the last stretch ended; 0 to begin.
        size: Rows of the stretch.

    Returns:
        How many were removed, and where the next stretch begins; None after the last.
    """
    removed = connection.execute(
        "DELETE FROM vectors WHERE rowid > ? AND rowid <= ?"
        " AND encoder IN (SELECT encoder FROM encoders WHERE state = 'leaving')",
        (start, start + size),
    ).rowcount
    (last,) = connection.execute("SELECT coalesce(max(rowid), 0) FROM vectors").fetchone()
    if start + size < last:
        return removed, start + size
    # Only now may the number be given away again.
    connection.execute(
        "DELETE FROM encoders WHERE state = 'leaving'"
        " AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.encoder = encoders.encoder)"
    )
    return removed, None
