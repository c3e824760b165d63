"""A matrix of unit vectors laid out for scoring.

Rows go in, (p, n) cosines come out. The matrix is never changed in place: extending it gives a new one that shares all
but the last panel, so a search in another thread keeps what it has.

Vectors stand in columns, in panels of some thousands: the product is about twice as fast as over rows (OpenBLAS packs
contiguous columns without transposing them), and growing copies one panel at most.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Matrix"]

_PANEL = 8192  # vectors in a panel: 12 MB at 384 dimensions
_PROBES_AT_ONCE = 32  # bounds the table of scores: 32 x 100,000 float32 are 13 MB


@dataclass(frozen=True, slots=True)
class Matrix:
    """n unit vectors of d dimensions.

    Attributes:
        dims: d.
        panels: (d, c) float32 each, c at most 8,192; together n columns.
    """

    dims: int
    panels: tuple[NDArray[Any], ...] = ()

    @classmethod
    def of(cls, rows: NDArray[Any]) -> Matrix:
        """Lay out (n, d) rows of any float type."""
        return cls(rows.shape[1]).extended(rows)

    def __len__(self) -> int:
        return sum(panel.shape[1] for panel in self.panels)

    def extended(self, rows: NDArray[Any]) -> Matrix:
        """Return a matrix that holds (m, d) more rows behind these."""
        panels, taken = list(self.panels), 0
        if panels and len(rows):
            last = panels[-1]
            taken = min(_PANEL - last.shape[1], len(rows))
            panels[-1] = np.concatenate([last, rows[:taken].T.astype(np.float32)], axis=1)
        panels += [
            np.ascontiguousarray(rows[start : start + _PANEL].T, dtype=np.float32)
            for start in range(taken, len(rows), _PANEL)
        ]
        return Matrix(self.dims, tuple(panels))

    def scores(self, probes: NDArray[Any]) -> Iterator[NDArray[Any]]:
        """Yield for each of (p, d) probes its (n,) float32 cosines, valid until the next is asked for."""
        for start in range(0, len(probes), _PROBES_AT_ONCE):
            block = np.asarray(probes[start : start + _PROBES_AT_ONCE], dtype=np.float32)
            table, column = np.empty((len(block), len(self)), dtype=np.float32), 0
            for panel in self.panels:
                np.matmul(block, panel, out=table[:, column : column + panel.shape[1]])
                column += panel.shape[1]
            yield from table
