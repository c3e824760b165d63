"""Connections to a prospection database file.

A path goes in, a connection set up for durable writes and real erasure comes out. Never creates tables: see migrations.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from prospection.errors import StoreError

__all__ = ["MEMORY", "check_path", "connect", "transaction"]

MEMORY = ":memory:"

_SETTINGS = (
    "PRAGMA page_size = 16384",  # holds only before the first table; vectors fit a page
    "PRAGMA synchronous = FULL",  # what was acknowledged survives a power cut
    "PRAGMA secure_delete = ON",  # deleted content is overwritten
    "PRAGMA cache_size = -16384",
)


def check_path(path: str) -> None:
    """Refuse a path at which no database can be.

    Raises:
        StoreError: It is a folder, or its folder does not exist.
    """
    if path == MEMORY:
        return
    place = Path(path)
    if place.is_dir():
        raise StoreError(f"the store {path!r} is a folder; name a file in it, for example {str(place / 'memory.db')!r}")
    if not place.parent.is_dir():
        raise StoreError(
            f"the store {path!r} cannot be created: the folder {str(place.parent)!r} is missing; create it"
        )


def connect(path: str, busy_timeout: float) -> sqlite3.Connection:
    """Open a connection that any thread may use, one at a time. In a folder that is read-only it only reads.

    Raises:
        sqlite3.Error: The file cannot be opened or is no database.
    """
    as_it_lies = _has_no_place_for_a_log(path)
    connection = sqlite3.connect(
        f"{Path(path).absolute().as_uri()}?mode=ro&immutable=1" if as_it_lies else path,
        uri=as_it_lies,
        timeout=busy_timeout,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        for setting in _SETTINGS:
            connection.execute(setting)
        if not as_it_lies:
            _use_wal(connection, busy_timeout)
    except BaseException:
        connection.close()
        raise
    return connection


def _has_no_place_for_a_log(path: str) -> bool:
    # Even to read, SQLite makes the files of its log beside a database in WAL mode. Where it cannot, and where nobody
    # else who may write has made them, the file is whole and is read as it lies.
    if path == MEMORY:
        return False
    return Path(path).is_file() and not os.access(Path(path).parent, os.W_OK) and not Path(f"{path}-wal").exists()


def _use_wal(connection: sqlite3.Connection, busy_timeout: float) -> None:
    # SQLite does not call its busy handler while the journal mode changes, so two processes that open a new file at
    # the same time have to take turns here.
    give_up = time.monotonic() + busy_timeout
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > give_up:
                raise
            time.sleep(0.01)
        else:
            return


@contextmanager
def transaction(
    connection: sqlite3.Connection, mode: Literal["IMMEDIATE", "DEFERRED"] = "IMMEDIATE"
) -> Iterator[sqlite3.Connection]:
    """Run the block in one transaction: all of it is kept, or after an exception none of it.

    IMMEDIATE is for writing: it waits for its turn at the start, so nothing read inside can be outdated by its end.
    DEFERRED is for reading: all reads see one state.
    """
    connection.execute("BEGIN " + mode)
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
