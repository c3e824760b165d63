"""The files of an export: one file, a folder, or a .zip.

In goes a path; out come `Part`s that can be read from any place, as often as need be. Members of an archive are
unpacked into files without a name, which vanish with the process however it ends. Nothing is written beside them.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from prospection.errors import InputError

__all__ = ["Part", "open_parts"]

_ACCOUNT = re.compile(r"conversations(-\d+)?\.json")
"""What account exports call the file, or in large exports the files, that hold the conversations."""
_READABLE = frozenset({".json", ".jsonl", ".md", ".markdown", ".txt"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A file of an export.

    Attributes:
        name: With the folders below the one that was named.
        size: Bytes.
        modified: When the file was last written.
        open: Opens it for reading, at its beginning.
    """

    name: str
    size: int
    modified: datetime
    open: Callable[[], AbstractContextManager[BinaryIO]]


@contextmanager
def open_parts(path: Path) -> Iterator[list[Part]]:
    """Give the files of an export that can hold conversations, in the order of names.

    Where there are account exports' files among them, only these.

    Raises:
        InputError: Nothing is at the path, nothing in it can hold conversations, or the archive is damaged.
    """
    try:
        if path.is_dir():
            yield _of_folder(path)
        elif zipfile.is_zipfile(path):
            with ExitStack() as stack:
                yield _of_archive(path, stack)
        else:
            yield [_of_file(path, path.name)]
    except FileNotFoundError as error:
        raise InputError(f"there is no file {str(path)!r}; check the path") from error
    except zipfile.BadZipFile as error:
        raise InputError(f"the archive {str(path)!r} is damaged ({error}); download it again") from error
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be read: {error}; check the file and its permissions") from error


def _of_folder(folder: Path) -> list[Part]:
    files = {file.relative_to(folder).as_posix(): file for file in folder.rglob("*") if file.is_file()}
    return [_of_file(files[name], name) for name in _chosen(files, str(folder))]


def _of_file(file: Path, name: str) -> Part:
    about = file.stat()
    modified = datetime.fromtimestamp(about.st_mtime, tz=UTC)
    return Part(name=name, size=about.st_size, modified=modified, open=lambda: file.open("rb"))


def _of_archive(path: Path, stack: ExitStack) -> list[Part]:
    archive = stack.enter_context(zipfile.ZipFile(path))
    members = {member.filename: member for member in archive.infolist() if not member.is_dir()}
    return [_unpacked(archive, members[name], stack) for name in _chosen(members, str(path))]


def _unpacked(archive: zipfile.ZipFile, member: zipfile.ZipInfo, stack: ExitStack) -> Part:
    file = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - closed by the stack
    try:
        with archive.open(member) as packed:
            shutil.copyfileobj(packed, file, 1 << 20)
    except (RuntimeError, NotImplementedError) as error:  # a password, an unknown compression
        raise InputError(f"{member.filename!r} cannot be unpacked: {error}; unpack the archive yourself") from error

    @contextmanager
    def again() -> Iterator[BinaryIO]:
        file.seek(0)
        yield file

    modified = datetime(*member.date_time, tzinfo=UTC)
    return Part(name=member.filename, size=member.file_size, modified=modified, open=again)


def _chosen(names: Iterable[str], where: str) -> list[str]:
    visible = sorted(
        name
        for name in names
        # What systems put beside the files: __MACOSX/, ._name, .DS_Store
        if not any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(name).parts)
    )
    account = [name for name in visible if _ACCOUNT.fullmatch(PurePosixPath(name).name)]
    chosen = account or [name for name in visible if PurePosixPath(name).suffix.lower() in _READABLE]
    if not chosen:
        raise InputError(
            f"{where!r} holds no conversations.json and no other JSON, JSONL, Markdown or text file; "
            "name the folder or archive that does"
        )
    return chosen
