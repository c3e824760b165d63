"""Where people's verdicts are kept: a SQLite file beside the pairs.

In go an annotator, a pair and a verdict; out come what is left for an annotator and everybody's verdicts. Each
annotator sees the pairs in an order, and the answers on sides, of their own, drawn from their name, so that a habit of
place or a tired end falls on different pairs. Nothing here knows the names of systems.
"""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from prospection.errors import InputError, StoreError
from prospection.evaluation.judge.pairs import Pair, Side, chance
from prospection.serial import to_text

__all__ = ["EXPORT", "BallotBox", "Choice", "Screen"]

Choice = Literal["left", "right", "tie"]

EXPORT = ("annotator", "pair", "verdict", "left", "seconds", "at")
"""Columns of the export: who, which pair, a or b or tie, which of them stood left, how long it took, when (UTC)."""

LONGEST_NAME = 60

_SCHEMA = """
CREATE TABLE IF NOT EXISTS box (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS verdict (
    place INTEGER PRIMARY KEY AUTOINCREMENT,
    annotator TEXT NOT NULL, pair TEXT NOT NULL, verdict TEXT NOT NULL, shown_left TEXT NOT NULL,
    seconds REAL NOT NULL, at TEXT NOT NULL,
    UNIQUE (annotator, pair)
);
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """What an annotator sees: how far they are, and the next pair; None when they are through."""

    done: int
    total: int
    pair: str | None = None
    query: str = ""
    left: str = ""
    right: str = ""


class BallotBox:
    """Pairs and the verdicts on them. Every write is on the disk when the call returns."""

    def __init__(self, pairs: Sequence[Pair], path: Path) -> None:
        """Open or make the file.

        Raises:
            InputError: There is no pair, or the file holds verdicts on other pairs.
            StoreError: The file cannot be used.
        """
        if not pairs:
            raise InputError("there are no pairs to compare; make some with `prospection judge pairs`")
        self._pairs = {pair.id: pair for pair in pairs}
        self._path = path
        digest = hashlib.sha256("\n".join(to_text(pair) for pair in pairs).encode()).hexdigest()
        with self._connection() as connection:
            connection.executescript(_SCHEMA)
            connection.execute("INSERT OR IGNORE INTO box VALUES ('pairs', ?)", (digest,))
            connection.execute("INSERT OR IGNORE INTO box VALUES ('key', ?)", (secrets.token_urlsafe(12),))
            held = dict(connection.execute("SELECT key, value FROM box"))
        if held["pairs"] != digest:
            raise InputError(f"{str(path)!r} holds verdicts on other pairs; name another file with --db")
        self.key: str = held["key"]

    def screen(self, annotator: str) -> Screen:
        """Return where an annotator stands.

        Raises:
            InputError: The name is empty, too long, or holds what cannot be printed.
        """
        name = _name(annotator)
        with self._connection() as connection:
            done = {pair for (pair,) in connection.execute("SELECT pair FROM verdict WHERE annotator = ?", (name,))}
        left = [pair for pair in self._pairs.values() if pair.id not in done]
        if not left:
            return Screen(done=len(done), total=len(self._pairs))
        pair = min(left, key=lambda one: chance("order", name, one.id))
        first, second = (pair.b, pair.a) if _swapped(name, pair.id) else (pair.a, pair.b)
        return Screen(done=len(done), total=len(self._pairs), pair=pair.id, query=pair.query, left=first, right=second)

    def vote(self, annotator: str, pair: str, choice: Choice, *, seconds: float, at: datetime) -> None:
        """Keep a verdict; a second one on the same pair takes the place of the first.

        Raises:
            InputError: The name cannot be used, or there is no such pair.
        """
        name = _name(annotator)
        if pair not in self._pairs:
            raise InputError(f"there is no pair {pair!r} here; load the page again")
        left: Side = "b" if _swapped(name, pair) else "a"
        right: Side = "a" if left == "b" else "b"
        verdict: Side = "tie" if choice == "tie" else left if choice == "left" else right
        with self._connection() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO verdict (annotator, pair, verdict, shown_left, seconds, at) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (name, pair, verdict, left, round(seconds, 1), at.isoformat(timespec="seconds")),
            )

    def undo(self, annotator: str) -> None:
        """Take an annotator's latest verdict back; without any, do nothing.

        Raises:
            InputError: The name cannot be used.
        """
        with self._connection() as connection:
            connection.execute(
                "DELETE FROM verdict WHERE place = (SELECT max(place) FROM verdict WHERE annotator = ?)",
                (_name(annotator),),
            )

    def rows(self, annotator: str | None = None) -> list[tuple[str | float, ...]]:
        """Return verdicts in the columns of `EXPORT`, in the order in which they were given; of all annotators, or one.

        Raises:
            InputError: The name cannot be used.
        """
        chosen = None if annotator is None else _name(annotator)
        with self._connection() as connection:
            return connection.execute(
                "SELECT annotator, pair, verdict, shown_left, seconds, at FROM verdict "
                "WHERE ?1 IS NULL OR annotator = ?1 ORDER BY place",
                (chosen,),
            ).fetchall()

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self._path, timeout=30.0)) as connection, connection:
                yield connection
        except sqlite3.Error as error:
            raise StoreError(f"{str(self._path)!r} cannot be used: {error}; name another file with --db") from error


def _name(annotator: str) -> str:
    name = " ".join(annotator.split())
    if not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
        raise InputError(f"{annotator[:80]!r} is no name to annotate under; use 1 to {LONGEST_NAME} letters")
    return name


def _swapped(annotator: str, pair: str) -> bool:
    return chance("side", annotator, pair) < 0.5
