"""Pairs of answers to the same request: two files of answers in, pairs out, and pairs to and from a file.

A file of answers is JSONL, one answer a line: `{"id", "query", "answer"}`, and perhaps `"dataset"` and `"user"`.
Citations such as [f12] are taken out: they mean nothing to who judges, and can tell systems apart.

A pair's id ends in a hash of what is compared, so that a verdict is never taken for one on other systems or answers;
it tells who judges nothing.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from prospection.errors import InputError
from prospection.evaluation.files import Record, read_jsonl
from prospection.serial import from_text, to_text

__all__ = [
    "Pair",
    "Pairing",
    "Side",
    "chance",
    "pair_answers",
    "read_pairs",
    "request_of",
    "sample_pairs",
    "write_pairs",
]

Side = Literal["a", "b", "tie"]
"""Who is meant by a verdict: "a", "b" or "tie"."""

_CITATION = re.compile(r"\s*\[(?:f\d+)(?:\s*[,;]\s*f\d+)*\]")

_BEFORE_MARK = "~"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two answers to one request.

    Attributes:
        id: Unique within a file: data set, the query's id, and `mark`.
        user: Whose request it is; the pair's id where that is not known.
        names: What the systems behind `a` and `b` are called. Never shown to who judges.
    """

    id: str
    dataset: str
    user: str
    query: str
    a: str
    b: str
    names: tuple[str, str]

    @property
    def mark(self) -> str:
        """Short hash of what is compared: systems, request and answers."""
        return _digest(*self.names, self.query, self.a, self.b).hex()[:8]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """What two files of answers have in common, and what they have not.

    Attributes:
        pairs: In the order of the first file.
        only_a: Requests that the first file alone answers, and the second likewise: data set and the query's id.
    """

    pairs: list[Pair]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]


class _Answer(Record):
    id: str
    query: str
    answer: str
    dataset: str = ""
    user: str | None = None

    @property
    def key(self) -> str:
        return f"{self.dataset}:{self.id}" if self.dataset else self.id


def pair_answers(a: Path, b: Path, *, names: tuple[str, str] | None = None) -> Pairing:
    """Pair the answers of two systems to the requests that both have answered.

    Args:
        names: What the systems are called; None: the names of the files.

    Raises:
        InputError: A file cannot be read or holds an answer twice; both ask different things under one id, or have
            no request in common; or both systems have the same name.
    """
    called = names or (a.stem, b.stem)
    if called[0] == called[1]:
        raise InputError(f"both systems would be called {called[0]!r}; tell them apart with --names")
    ours, theirs = _by_key(a), _by_key(b)
    common = [key for key in ours if key in theirs]
    if not common:
        raise InputError(f"{str(a)!r} and {str(b)!r} have no request in common; name answers to the same requests")
    for key in common:
        if theirs[key].query != ours[key].query:
            raise InputError(
                f"{key!r} asks {ours[key].query!r} in one file and {theirs[key].query!r} in the other; "
                "name answers to the same requests"
            )
    return Pairing(
        pairs=[_pair(key, ours[key], theirs[key], called) for key in common],
        only_a=tuple(key for key in ours if key not in theirs),
        only_b=tuple(key for key in theirs if key not in ours),
    )


def sample_pairs(pairs: Sequence[Pair], share: float, *, seed: int = 0) -> list[Pair]:
    """Return a share of each data set's pairs, at least one, in their order.

    The same seed gives the same requests, whoever answered them and however.

    Args:
        share: In (0, 1]; the paper gave people 4 %, 5 % and 2 % of its three sets.
    """
    kept: set[str] = set()
    for dataset in {pair.dataset for pair in pairs}:
        own = [pair for pair in pairs if pair.dataset == dataset]
        own.sort(key=lambda pair: chance(str(seed), request_of(pair.id, pair.mark)))
        kept.update(pair.id for pair in own[: max(1, round(share * len(own)))])
    return [pair for pair in pairs if pair.id in kept]


def chance(*parts: str) -> float:
    """Return a number in [0, 1) that looks random and is always the same for the same parts."""
    return int.from_bytes(_digest(*parts)[:7], "big") / 2**56


def request_of(pair: str, mark: str) -> str:
    """Return a pair's id without its mark: the same for all systems that answered the request."""
    return pair.removesuffix(f"{_BEFORE_MARK}{mark}") if mark else pair


def read_pairs(path: Path) -> list[Pair]:
    """Read what `write_pairs` wrote.

    Raises:
        InputError: It cannot be read, a line is not a pair, or a pair is there twice.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{str(path)!r} cannot be read: {error}; check the path") from error
    pairs = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            pair = from_text(Pair, line)
        except ValidationError as error:
            raise InputError(
                f"line {number} of {str(path)!r} is not a pair; make the file with `prospection judge pairs`"
            ) from error
        if pair.id in pairs:
            raise InputError(f"{str(path)!r} has the pair {pair.id!r} twice; remove one")
        pairs[pair.id] = pair
    return list(pairs.values())


def write_pairs(pairs: Sequence[Pair], path: Path) -> None:
    """Write pairs, one a line.

    Raises:
        InputError: The file is there already, or cannot be written.
    """
    try:
        with path.open("x", encoding="utf-8") as file:
            file.writelines(to_text(pair) + "\n" for pair in pairs)
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be written: {error.strerror}; name another file") from error


def _pair(key: str, one: _Answer, other: _Answer, names: tuple[str, str]) -> Pair:
    pair = Pair(
        id=key,
        dataset=one.dataset,
        user=one.user or key,
        query=one.query,
        a=_CITATION.sub("", one.answer).strip(),
        b=_CITATION.sub("", other.answer).strip(),
        names=names,
    )
    return replace(pair, id=f"{key}{_BEFORE_MARK}{pair.mark}")


def _digest(*parts: str) -> bytes:
    return hashlib.sha256("\x1f".join(parts).encode()).digest()


def _by_key(path: Path) -> dict[str, _Answer]:
    answers: dict[str, _Answer] = {}
    for answer in read_jsonl(path, _Answer):
        if answer.key in answers:
            raise InputError(f"{str(path)!r} answers {answer.key!r} twice; keep one answer to each request")
        answers[answer.key] = answer
    return answers
