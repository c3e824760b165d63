"""What SQLite and the disk report, as prospection's own errors.

In goes an exception from a block that used the database; out comes a StoreError that says what to do.
Never swallows one.
"""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from prospection.errors import InputError, StorageFullError, StoreError

__all__ = ["explained"]


@contextmanager
def explained(path: str, busy_timeout: float) -> Iterator[None]:
    """Turn failures inside the block into errors about the store at `path`.

    Raises:
        StorageFullError: No space is left.
        InputError: A text cannot be written as Unicode.
        StoreError: Anything else that SQLite or the file system reports.
    """
    try:
        yield
    except sqlite3.Error as error:
        raise _explain(error, path, busy_timeout) from error
    except UnicodeEncodeError as error:
        raise InputError(
            f"a text holds half a character ({error.object[error.start : error.end]!r}) and cannot be stored; "
            "decode it again from its source, or replace that character"
        ) from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _full(path) from error
        raise StoreError(f"the store {path!r} cannot be used: {error}; check the path and its permissions") from error


def _explain(error: sqlite3.Error, path: str, busy_timeout: float) -> StoreError:
    code = getattr(error, "sqlite_errorcode", None)
    primary = code & 0xFF if code is not None else None
    if primary == sqlite3.SQLITE_FULL:
        return _full(path)
    if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreError(
            f"another process kept the store {path!r} busy for {busy_timeout:g} seconds and nothing was written; "
            "try again, or raise the busy timeout"
        )
    advice = {
        sqlite3.SQLITE_CANTOPEN: "check that the folder exists and may be written to",
        sqlite3.SQLITE_READONLY: "make the file and its folder writable",
        sqlite3.SQLITE_PERM: "make the file and its folder writable",
        sqlite3.SQLITE_NOTADB: "it is not an SQLite database: choose another path",
        sqlite3.SQLITE_CORRUPT: "the file is damaged: restore it from a backup",
        sqlite3.SQLITE_IOERR: "check the disk and its free space",
    }.get(primary or 0, "this is unexpected: please report it")
    return StoreError(f"the store {path!r} failed: {error}; {advice}")


def _full(path: str) -> StorageFullError:
    return StorageFullError(
        f"no space is left for the store {path!r}; the write was refused whole and everything before it is kept: "
        "free space and try again"
    )
