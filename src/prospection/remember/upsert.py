"""From candidates to what the store is asked to do.

In go candidates and their vectors; out come operations. Here only repeats within one session are joined; a repeat of
what is stored already is the store's to notice (an `Add` of the same normalised text reinforces). Whether a candidate
revises a stored fact is a question for a model, and this is the place for it. Pure.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import replace

from prospection.types import Add, Candidate, Operation, Source, Vectors

__all__ = ["distinct", "propose", "texts_of"]


def distinct(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Join candidates that say the same, letter case, punctuation at the end and white space apart.

    The first one stays, in its place, with the sources of all.
    """
    kept: dict[str, Candidate] = {}
    for candidate in candidates:
        key = " ".join(unicodedata.normalize("NFKC", candidate.info).casefold().split()).rstrip(" .!…。！")
        first = kept.get(key)
        kept[key] = candidate if first is None else replace(first, provenance=_joined(first, candidate))
    return list(kept.values())


def texts_of(candidates: Sequence[Candidate]) -> list[str]:
    """Return what has to be embedded, as one batch: all statements, then all cues."""
    return [candidate.info for candidate in candidates] + [cue.text for each in candidates for cue in each.cues]


def propose(candidates: Sequence[Candidate], vectors: Vectors) -> list[Operation]:
    """Propose to store every candidate.

    Args:
        candidates: Without repeats.
        vectors: (n, d) float32 unit rows of `texts_of(candidates)`, in that order.

    Returns:
        One operation for each candidate, in order.
    """
    operations: list[Operation] = []
    cue = len(candidates)
    for row, candidate in enumerate(candidates):
        end = cue + len(candidate.cues)
        operations.append(Add(candidate=candidate, vector=vectors[row], cue_vectors=vectors[cue:end]))
        cue = end
    return operations


def _joined(first: Candidate, second: Candidate) -> tuple[Source, ...]:
    return tuple(dict.fromkeys([*first.provenance, *second.provenance]))
