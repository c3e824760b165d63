"""Files that survive a kill: lines that are appended, files that appear whole; and folders that one process holds.

A kill leaves at most one line cut short at the end, which readers pass over and `mend` takes off.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from prospection.errors import InputError

__all__ = ["append_line", "held", "mend", "write_whole"]


def append_line(path: Path, line: str) -> None:
    """Append a line; when this returns it survives the process.

    Raises:
        InputError: The file cannot be written.
    """
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be written: {error}; free space and resume") from error


def mend(path: Path) -> None:
    """Take off a last line that a kill cut short, so that the next one does not grow onto it.

    Raises:
        InputError: The file cannot be read or written.
    """
    try:
        if path.is_file() and (data := path.read_bytes()) and not data.endswith(b"\n"):
            with path.open("r+b") as file:
                file.truncate(data.rfind(b"\n") + 1)
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be written: {error}; check its permissions") from error


def write_whole(path: Path, text: str) -> Path:
    """Write a file in place of one that is there, whole or not at all; its folder is made when it is missing.

    Raises:
        InputError: It cannot be written.
    """
    half = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        half.write_text(text, encoding="utf-8")
        half.replace(path)
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be written: {error}; name another folder") from error
    return path


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold a folder against other processes while the block runs; it is made when it is missing.

    The hold is a transaction on a database file "lock" in it: every system has that, and it ends with the process.

    Raises:
        InputError: Another process holds it, or it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = sqlite3.connect(folder / "lock", timeout=0.0, isolation_level=None)
    except (OSError, sqlite3.Error) as error:
        raise InputError(f"{str(folder)!r} cannot be written: {error}; name another folder") from error
    with closing(lock):
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            raise InputError(
                f"another process works in {str(folder)!r} ({error}); wait until it ends, or name another folder"
            ) from error
        yield
