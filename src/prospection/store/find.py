"""Searching one user's facts with a batch of probes.

Probes and a filter go in, hits come out. Dense probes share a pass over the matrix for each side they look at; words
are looked up once however many probes hold them. Filters act before the limit. Runs inside a read transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from prospection.errors import StoreError
from prospection.search.dense import best_rows, top_groups, top_rows
from prospection.search.lexical import bm25, query_terms
from prospection.store.index import UserIndex, Vectored, allowed
from prospection.store.rows import load_facts
from prospection.types import Fact, Hit, SearchFilter, SearchProbe

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["check_probes", "find"]

_LOADED_AT_MOST = 4096  # facts that an index keeps at hand

_Found = tuple[int, float, int | None]  # place of a fact, similarity, and which of its cues


@dataclass(frozen=True, slots=True)
class _Bounds:
    k: int
    threshold: float
    mask: NDArray[Any]


def check_probes(probes: Sequence[SearchProbe], dims: int | None) -> None:
    """Refuse probes that the store cannot compare.

    Raises:
        StoreError: A dense probe without a (d,) vector, or a store without an encoder.
    """
    for probe in probes:
        if probe.over == "text":
            continue
        if dims is None:
            raise StoreError(
                f"searching {probe.over} needs an encoder and this store was opened without one; "
                "open it with the encoder its vectors were made with, or search text"
            )
        shape = None if probe.vector is None else np.shape(probe.vector)
        if shape != (dims,):
            raise StoreError(f"probe {probe.text!r} has a vector of shape {shape}; the store holds ({dims},)")


def find(
    connection: sqlite3.Connection,
    index: UserIndex,
    probes: Sequence[SearchProbe],
    *,
    k: int,
    min_similarity: float,
    where: SearchFilter,
) -> list[list[Hit]]:
    """Return for each probe its hits, best first, ties in the order of ids."""
    bounds = _Bounds(k, min_similarity, allowed(index, where))
    found: dict[int, list[_Found]] = {}
    for over, search in (("facts", _over_facts), ("cues", _over_cues)):
        chosen = [place for place, probe in enumerate(probes) if probe.over == over]
        if chosen:
            vectors = np.stack([np.asarray(probes[place].vector, dtype=np.float32) for place in chosen])
            found.update(zip(chosen, search(index, vectors, bounds), strict=True))
    chosen = [place for place, probe in enumerate(probes) if probe.over == "text"]
    texts = [probes[place].text for place in chosen]
    found.update(zip(chosen, _over_text(connection, index, texts, bounds), strict=True))
    facts = _facts(connection, index, {place for hits in found.values() for place, _, _ in hits})
    return [
        [
            Hit(fact=facts[place], similarity=similarity, cue=None if cue is None else facts[place].cues[cue].text)
            for place, similarity, cue in found[position]
        ]
        for position in range(len(probes))
    ]


def _over_facts(index: UserIndex, vectors: NDArray[Any], bounds: _Bounds) -> list[list[_Found]]:
    held = _vectored(index.facts)
    mask = bounds.mask[held.owner]
    return [
        [(int(held.owner[row]), float(value), None) for row, value in zip(rows, values, strict=True)]
        for rows, values in top_rows(vectors, held.matrix, k=bounds.k, threshold=bounds.threshold, mask=mask)
    ]


def _over_cues(index: UserIndex, vectors: NDArray[Any], bounds: _Bounds) -> list[list[_Found]]:
    held = _vectored(index.cues)
    hits = top_groups(
        vectors,
        held.matrix,
        starts=held.starts,
        weights=held.weights,
        k=bounds.k,
        threshold=bounds.threshold,
        mask=bounds.mask[held.owner[held.starts]],
    )
    return [
        [
            (int(held.owner[row]), float(value), int(row - held.starts[group]))
            for group, value, row in zip(groups, values, rows, strict=True)
        ]
        for groups, values, rows in hits
    ]


def _over_text(
    connection: sqlite3.Connection, index: UserIndex, texts: Sequence[str], bounds: _Bounds
) -> list[list[_Found]]:
    ids, lengths = index.ids, index.lengths
    postings: dict[str, NDArray[Any]] = {}
    found: list[list[_Found]] = []
    for text in texts:
        terms = list(dict.fromkeys(query_terms(text)))
        for term in terms:
            if term not in postings:
                postings[term] = np.searchsorted(ids, _row_ids(connection, f'"{index.user.uid}_{term}"'))
        scores = bm25([postings[term] for term in terms], lengths)
        best = best_rows(scores, bounds.k, mask=bounds.mask & (scores > 0))
        found.append([(int(place), float(scores[place]), None) for place in best])
    return found


def _row_ids(connection: sqlite3.Connection, match: str) -> NDArray[Any]:
    # One text instead of a Python object a row: a frequent word stands in tens of thousands of them.
    (joined,) = connection.execute("SELECT group_concat(rowid) FROM words WHERE words MATCH ?", (match,)).fetchone()
    return np.fromstring(joined, dtype=np.int64, sep=",") if joined else np.empty(0, dtype=np.int64)


def _facts(connection: sqlite3.Connection, index: UserIndex, places: set[int]) -> dict[int, Fact]:
    held = {place: fact for place in places if (fact := index.loaded.get(place)) is not None}
    missing = {int(index.numbers[place]): place for place in places if place not in held}
    if missing:
        new = {missing[n]: fact for n, fact in load_facts(connection, index.user.uid, list(missing)).items()}
        if len(index.loaded) + len(new) > _LOADED_AT_MOST:
            index.loaded.clear()
        index.loaded.update(new)
        held.update(new)
    return held


def _vectored(held: Vectored | None) -> Vectored:
    if held is None:  # pragma: no cover - check_probes has refused such probes
        raise StoreError("this store was opened without an encoder")
    return held
