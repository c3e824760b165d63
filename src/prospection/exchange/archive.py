"""Everything of a user as a file, and back: JSON, one record a line.

The first line names the layout: `{"prospection": "memory", "version": 1}`. Then come lines of one key each:

- `user`: `facts`, the number given to a fact last, and `consolidated`, that of the last one looked at for merging;
- `session`: a `SessionRecord`: messages as they were said, state, how many of them have been extracted;
- `fact`: a `Fact`, whether current or not, with id, times, versions, cues, sources; where it inherited sources from
  facts that it replaced, `own` beside it lists its own;
- `trace`: a `Trace`;

and as the last line `end`, with the number of lines of each kind: a file without it was cut off. Sessions and facts
stand in the order of arrival, traces oldest first. Instants are ISO 8601 in UTC. Vectors are left out: they are made
again from the texts, by whichever encoder the receiving memory has. This module opens no file.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, BinaryIO

from prospection.errors import InputError
from prospection.memory import AsyncMemory
from prospection.serial import from_json, to_json
from prospection.types import Fact, FactRecord, Record, SessionRecord, Source, Trace, UserRecord

__all__ = ["is_archive", "read_archive", "restore_archive", "write_archive"]

_HEAD = {"prospection": "memory", "version": 1}
_PAGE = 200


async def write_archive(memory: AsyncMemory, *, user: str) -> AsyncIterator[str]:
    """Give the lines of a user's archive, each with its end of line.

    A user who has nothing gives an archive that holds nothing. What is written meanwhile may be in it or not.

    Raises:
        StoreError: The store failed.
    """
    yield _line(_HEAD)
    counts: Counter[str] = Counter()
    async for record in _records(memory, user):
        counts[_key(record)[0]] += 1
        yield _line(_fields(record))
    yield _line({"end": dict(counts)})


def is_archive(file: BinaryIO) -> bool:
    """Tell whether a file begins as an archive does; it is left at its beginning."""
    head = file.readline(1 << 12)
    file.seek(0)
    try:
        data = json.loads(head)
    except ValueError:  # also bytes that are no text
        return False
    return isinstance(data, dict) and data.get("prospection") == _HEAD["prospection"]


def read_archive(lines: Iterable[bytes]) -> Iterator[Record]:
    """Read the records of an archive.

    Raises:
        InputError: It is none, of a newer version, damaged, or cut off.
    """
    counts: Counter[str] = Counter()
    for number, line in enumerate(lines, start=1):
        try:
            data = json.loads(line)
            if number == 1:
                _check_head(data)
            elif "end" in data:
                if data["end"] != counts:
                    raise InputError(f"the archive holds {dict(counts)} and says {data['end']}; export it again")
                return
            else:
                counts[next(iter(data))] += 1
                yield _record(data)
        except (ValueError, TypeError, KeyError, StopIteration) as error:
            raise InputError(f"line {number} of the archive is damaged ({error}); export it again") from error
    raise InputError(f"the archive ends after {sum(counts.values())} records, before its end: export it again")


async def restore_archive(memory: AsyncMemory, file: BinaryIO, *, user: str) -> Mapping[str, int]:
    """Restore a user from an archive, which may have been another one's.

    The whole file is checked before anything is written. What was cut short can be done again from the beginning.

    Returns:
        How many records of each kind the archive holds.

    Raises:
        InputError: The archive cannot be used, or the user has something that it does not hold; nothing was written.
        ConflictError: What the user has is not what the archive holds.
        StoreError: The store failed.
    """
    held = {_key(record) async for record in _records(memory, user)}
    counts: Counter[str] = Counter()
    for record in read_archive(file):
        kind, name = _key(record)
        counts[kind] += 1
        held.discard((kind, name))
    if held:
        kind, name = min(held)
        raise InputError(
            f"user {user!r} already has memory of their own, such as {kind} {name!r}, and ids would clash; restore to "
            f"another user, or forget {user!r} first"
        )
    file.seek(0)
    page: list[Record] = []
    for record in read_archive(file):
        page.append(replace(record, user=user) if isinstance(record, Trace) else record)
        if len(page) == _PAGE:
            await memory.restore(page, user=user)
            page = []
    if page:
        await memory.restore(page, user=user)
    return counts


async def _records(memory: AsyncMemory, user: str) -> AsyncIterator[Record]:
    after: Record | None = None
    while page := await memory.dump(user=user, after=after, limit=_PAGE):
        for record in page:
            yield record
        after = page[-1]


def _key(record: Record) -> tuple[str, str]:
    match record:
        case UserRecord():
            return "user", ""
        case SessionRecord():
            return "session", record.session.id
        case FactRecord():
            return "fact", record.fact.fid
        case Trace():
            return "trace", record.id


def _fields(record: Record) -> dict[str, Any]:
    match record:
        case FactRecord():
            own = {} if record.own == record.fact.provenance else {"own": [to_json(source) for source in record.own]}
            return {"fact": to_json(record.fact), **own}
        case UserRecord() | SessionRecord() | Trace():
            return {_key(record)[0]: to_json(record)}


def _record(data: Mapping[str, Any]) -> Record:
    kind = next(iter(data))
    if kind == "fact":
        fact = from_json(Fact, data["fact"])
        own = tuple(from_json(Source, source) for source in data["own"]) if "own" in data else fact.provenance
        return FactRecord(fact=fact, own=own)
    kinds: dict[str, type[UserRecord | SessionRecord | Trace]] = {
        "user": UserRecord,
        "session": SessionRecord,
        "trace": Trace,
    }
    return from_json(kinds[kind], data[kind])


def _check_head(data: object) -> None:
    if not isinstance(data, dict) or data.get("prospection") != _HEAD["prospection"]:
        raise InputError("this is no archive of a memory: its first line has to be " + json.dumps(_HEAD))
    if data.get("version") != _HEAD["version"]:
        raise InputError(
            f"the archive is of version {data.get('version')!r} and this version of prospection reads "
            f"{_HEAD['version']}; upgrade: pip install --upgrade prospection"
        )


def _line(data: object) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n"
