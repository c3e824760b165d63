"""Files of a data set: JSON and JSONL in, validated pydantic values out.

Keys that a model does not name are passed over, because published sets carry many. Nothing here knows a layout.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from prospection.errors import InputError

__all__ = ["Instant", "Record", "read_json", "read_jsonl"]

RecordT = TypeVar("RecordT", bound="Record")


def _utc(instant: datetime) -> datetime:
    return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)


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
    return _parse(_read(path), kind, where=str(path))


def read_jsonl(path: Path, kind: type[RecordT]) -> list[RecordT]:
    """Read a file that holds one object a line; blank lines are passed over, and a file of none gives [].

    Raises:
        InputError: It cannot be read, or a line is not JSON or not of this kind.
    """
    lines = _read(path).split(b"\n")
    return [_parse(line, kind, where=f"{path}, line {n}") for n, line in enumerate(lines, 1) if line.strip()]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(
            f"{str(path)!r} cannot be read: {error.strerror}; check the path and its permissions"
        ) from error


def _parse(text: bytes, kind: type[RecordT], *, where: str) -> RecordT:
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        what = f"{place}: {first['msg']}" if place else first["msg"]
        raise InputError(f"{where}: {what}; correct the file or remove it from the folder") from error
