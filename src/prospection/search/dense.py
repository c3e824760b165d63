"""Exact nearest vectors by cosine.

Unit vectors go in, for each probe the best rows and their similarities come out. One pass over the matrix serves all
probes. Never approximates: up to about a hundred thousand rows a plain product is faster than any index over them.
Use one BLAS thread for these sizes (`OPENBLAS_NUM_THREADS=1`): more of them mostly wait for each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from prospection.search.matrix import Matrix

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["best_rows", "top_groups", "top_rows"]

_BLOCK = 256  # how many scores share a maximum


def top_rows(
    probes: NDArray[Any], matrix: Matrix, *, k: int, threshold: float = -1.0, mask: NDArray[Any] | None = None
) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    """Find the k rows most similar to each probe.

    Args:
        probes: (p, d) float32 unit rows.
        matrix: n unit rows; `Matrix.of` lays an (n, d) array out.
        k: At most this many rows a probe.
        threshold: Rows below this cosine do not count; the bound itself does.
        mask: (n,) bool, the rows that may be found; None for all.

    Returns:
        For each probe (rows (h,) int64, similarities (h,) float32 in [-1, 1]), best first, ties in the order of rows;
        empty arrays where nothing is found.
    """
    found = []
    for scores in matrix.scores(probes):
        rows = best_rows(scores, k, threshold=threshold, mask=mask)
        found.append((rows, np.clip(scores[rows], -1.0, 1.0)))
    return found


def top_groups(
    probes: NDArray[Any],
    matrix: Matrix,
    *,
    starts: NDArray[Any],
    weights: NDArray[Any],
    k: int,
    threshold: float = -1.0,
    mask: NDArray[Any] | None = None,
) -> list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]:
    """Find the k groups of rows whose best row is most similar to each probe.

    Args:
        probes: (p, d) float32 unit rows.
        matrix: m unit rows, the rows of a group next to each other.
        starts: (g,) int64, first row of each group, rising from 0; no group is empty.
        weights: (m,) float32 in (0, 1], scale each row's cosine before rows are compared.
        k: At most this many groups a probe.
        threshold: Groups whose best weighted cosine is below do not count; the bound itself does.
        mask: (g,) bool, the groups that may be found; None for all.

    Returns:
        For each probe (groups (h,) int64, similarities (h,) float32, the best row of each (h,) int64), best first,
        ties in the order of groups, within a group in the order of rows.
    """
    ends = np.append(starts[1:], len(matrix))
    found = []
    for scores in matrix.scores(probes):
        weighted = scores * weights
        best = np.maximum.reduceat(weighted, starts) if len(starts) else weighted[:0]
        groups = best_rows(best, k, threshold=threshold, mask=mask)
        rows = [starts[g] + np.argmax(weighted[starts[g] : ends[g]]) for g in groups]
        found.append((groups, np.clip(best[groups], -1.0, 1.0), np.asarray(rows, dtype=np.int64)))
    return found


def best_rows(
    scores: NDArray[Any], k: int, *, threshold: float = -np.inf, mask: NDArray[Any] | None = None
) -> NDArray[Any]:
    """Return the places of the k highest of (n,) scores, best first, ties in the order of places.

    Scores below `threshold` and places outside `mask` do not count; the threshold itself does.
    """
    if k <= 0 or not len(scores):
        return np.empty(0, dtype=np.int64)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    rows = np.flatnonzero(scores >= np.maximum(threshold, _floor(scores, k)).astype(scores.dtype))
    if mask is not None:
        rows = rows[mask[rows]]
    if len(rows) > k:
        values = scores[rows]
        rows = rows[values >= np.partition(values, len(rows) - k)[len(rows) - k]]
    order = np.argsort(-scores[rows], kind="stable")[:k]  # rows rise, so a stable sort leaves ties in their order
    return rows[order]


def _floor(scores: NDArray[Any], k: int) -> float:
    """A lower bound of the k-th highest score that costs one pass: the k-th highest of the maxima of blocks."""
    blocks = len(scores) // _BLOCK
    if blocks <= k:
        return -np.inf
    maxima = scores[: blocks * _BLOCK].reshape(blocks, _BLOCK).max(axis=1)
    return float(np.partition(maxima, blocks - k)[blocks - k])
