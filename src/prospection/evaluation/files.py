"""Files of a data set: text, JSON and JSONL in, validated pydantic values out.

Keys that a model does not name are passed over, because published sets carry many. Nothing here knows a layout.
"""

from __future__ import annotations

import codecs
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from prospection.errors import InputError

__all__ = ["Instant", "Record", "read_json", "read_jsonl", "read_text"]

RecordT = TypeVar("RecordT", bound="Record")


_OTHER_TEXT = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def _utc(instant: datetime) -> datetime:
    try:
        return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("Input should be a date that stands in the calendar everywhere") from error


Instant = Annotated[datetime, AfterValidator(_utc)]
"""A date or time in ISO form. Benchmarks carry no zones: without one it is read as UTC."""


class Record(BaseModel):
    """One object of a data file."""

    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)


def read_json(path: Path, kind: type[RecordT]) -> RecordT:
    """Read a file that holds one object.

    Raises:
        InputError: It cannot be read, is not JSON, or is not of this kind.
    """
    return _parse(read_text(path), kind, where=str(path))


def read_jsonl(path: Path, kind: type[RecordT]) -> list[RecordT]:
    """Read a file that holds one object a line; blank lines are passed over, and a file of none gives [].

    Raises:
        InputError: It cannot be read, or a line is not JSON or not of this kind.
    """
    lines = read_text(path, may_be_empty=True).split("\n")
    return [_parse(line, kind, where=f"{path}, line {n}") for n, line in enumerate(lines, 1) if line.strip()]


def read_text(path: Path, *, may_be_empty: bool = False) -> str:
    """Read a file of UTF-8 text, with or without a byte order mark.

    Raises:
        InputError: It cannot be read, is in another encoding, or says nothing and may not be empty.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"{str(path)!r} cannot be read: {error.strerror}; check the path and its permissions"
        ) from error
    if data.startswith(_OTHER_TEXT):
        raise InputError(f"{str(path)!r} is UTF-16 text; save it as UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{str(path)!r} is not UTF-8 text, at byte {error.start}; save it as UTF-8") from error
    if not may_be_empty and not text.strip():
        raise InputError(f"{str(path)!r} is empty; download or write it again")
    return text


def _parse(text: str, kind: type[RecordT], *, where: str) -> RecordT:
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        what = f"{place}: {first['msg']}" if place else first["msg"]
        raise InputError(f"{where}: {what}; correct the file or remove it from the folder") from error
