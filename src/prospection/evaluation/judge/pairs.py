"""Pairs of answers to the same request: two files of answers in, pairs out, and pairs to and from a file.

A file of answers is JSONL, one answer a line: `{"id", "query", "answer"}`, and perhaps `"dataset"` and `"user"`.
Citations such as [f12] are taken out: they mean nothing to who judges, and can tell systems apart.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from prospection.errors import InputError
from prospection.evaluation.files import Record, read_jsonl
from prospection.serial import from_text, to_text

__all__ = ["Pair", "Side", "chance", "pair_answers", "read_pairs", "sample_pairs", "write_pairs"]

Side = Literal["a", "b", "tie"]
"""Who is meant by a verdict: "a", "b" or "tie"."""

_CITATION = re.compile(r"\s*\[(?:f\d+)(?:\s*[,;]\s*f\d+)*\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two answers to one request.

    Attributes:
        id: Unique within a file: data set and the query's id.
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


class _Answer(Record):
    id: str
    query: str
    answer: str
    dataset: str = ""
    user: str | None = None

    @property
    def key(self) -> str:
        return f"{self.dataset}:{self.id}" if self.dataset else self.id


def pair_answers(a: Path, b: Path, *, names: tuple[str, str] | None = None) -> list[Pair]:
    """Pair the answers of two systems, in the order of the first file.

    Args:
        names: What the systems are called; None: the names of the files.

    Raises:
        InputError: A file cannot be read, holds an answer twice, lacks one that the other has, or asks something else.
    """
    ours, theirs = _by_key(a), _by_key(b)
    if missing := ours.keys() ^ theirs.keys():
        where = b if next(iter(sorted(missing))) in ours else a
        raise InputError(
            f"{len(missing)} answers are in one file only, for example {min(missing)!r}, which {str(where)!r} lacks; "
            "compare answers to the same requests"
        )
    for key, answer in ours.items():
        if theirs[key].query != answer.query:
            raise InputError(f"{key!r} asks {answer.query!r} in one file and {theirs[key].query!r} in the other")
    return [
        Pair(
            id=key,
            dataset=one.dataset,
            user=one.user or key,
            query=one.query,
            a=_CITATION.sub("", one.answer).strip(),
            b=_CITATION.sub("", theirs[key].answer).strip(),
            names=names or (a.stem, b.stem),
        )
        for key, one in ours.items()
    ]


def sample_pairs(pairs: Sequence[Pair], share: float, *, seed: int = 0) -> list[Pair]:
    """Return a share of each data set's pairs, at least one, in their order; the same seed gives the same pairs.

    Args:
        share: In (0, 1]; the paper gave people 4 %, 5 % and 2 % of its three sets.
    """
    kept: set[str] = set()
    for dataset in {pair.dataset for pair in pairs}:
        own = sorted((pair.id for pair in pairs if pair.dataset == dataset), key=lambda one: chance(str(seed), one))
        kept.update(own[: max(1, round(share * len(own)))])
    return [pair for pair in pairs if pair.id in kept]


def chance(*parts: str) -> float:
    """Return a number in [0, 1) that looks random and is always the same for the same parts."""
    digest = hashlib.sha256("\x1f".join(parts).encode()).digest()
    return int.from_bytes(digest[:7], "big") / 2**56


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


def _by_key(path: Path) -> dict[str, _Answer]:
    answers: dict[str, _Answer] = {}
    for answer in read_jsonl(path, _Answer):
        if answer.key in answers:
            raise InputError(f"{str(path)!r} answers {answer.key!r} twice; keep one answer to each request")
        answers[answer.key] = answer
    return answers
