"""What a memory has to be able to do to be searched by a policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from prospection.types import Fact, Hit, Probe, Vectors

__all__ = ["Retriever", "VectorSource"]


class Retriever(Protocol):
    """phi(x; M, theta) of the paper: any memory that can answer "facts relevant to x", for a batch of x at once."""

    async def retrieve(self, probes: Sequence[Probe], *, k: int, min_similarity: float = -1.0) -> list[list[Hit]]:
        """Search memory with every probe.

        Args:
            probes: What to search with. A memory that has no cues or no lexical index answers `[]` to such probes.
            k: At most this many hits for each probe.
            min_similarity: Hits below this cosine do not count; the bound itself does. Lexical hits have no cosine
                and are not bounded.

        Returns:
            One list for each probe, best first; ties in the order of ids. A fact appears once in a list.
        """
        ...


@runtime_checkable
class VectorSource(Protocol):
    """A retriever that can also show the vectors of its facts, which spares embedding them again."""

    async def vectors(self, facts: Sequence[Fact]) -> Vectors:
        """Return (n, d) float32 unit rows, in the order of the facts."""
        ...
