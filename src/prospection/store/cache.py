"""The indexes of the users searched last, kept in memory.

A user and a connection go in, the user's index comes out, in step with what the connection sees. Bounded by the number
of users. Threads may ask at the same time: they load one user's index once, and different users' side by side.
"""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from dataclasses import dataclass, field
from threading import Lock

from prospection.store.index import UserIndex, in_step
from prospection.store.rows import User
from prospection.store.vectors import Encoder

__all__ = ["IndexCache"]


@dataclass(slots=True)
class _Place:
    lock: Lock = field(default_factory=Lock)
    index: UserIndex | None = None


class IndexCache:
    """At most `size` users' indexes, least recently used out first."""

    def __init__(self, size: int, encoder: Encoder | None) -> None:
        self._size = size
        self._encoder = encoder
        self._lock = Lock()
        self._places: OrderedDict[int, _Place] = OrderedDict()

    def get(self, connection: sqlite3.Connection, user: User) -> UserIndex | None:
        """Return the user's index; None when another thread already saw a later state than this connection."""
        with self._lock:
            place = self._places.setdefault(user.uid, _Place())
            self._places.move_to_end(user.uid)
            while len(self._places) > self._size:
                self._places.popitem(last=False)
        with place.lock:
            if place.index is not None and place.index.user.revision > user.revision:
                return None
            place.index = in_step(connection, place.index, user, self._encoder)
            return place.index

    def drop(self, uid: int) -> None:
        """Let go of a user's index."""
        with self._lock:
            self._places.pop(uid, None)
