"""Two recalls of one request side by side: traces in, what both found and what each found alone out. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from prospection.types import Trace

__all__ = ["Comparison", "compare"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Ids of returned facts.

    Attributes:
        both: In the first one's order.
        first_only: What only the first returned, in its order.
        second_only: What only the second returned, in its order.
    """

    both: tuple[str, ...]
    first_only: tuple[str, ...]
    second_only: tuple[str, ...]

    @property
    def overlap(self) -> float:
        """Facts that both returned as a share of all that either did (Jaccard index), in [0, 1]; 1 when none did."""
        together = len(self.both) + len(self.first_only) + len(self.second_only)
        return len(self.both) / together if together else 1.0


def compare(first: Trace, second: Trace) -> Comparison:
    """Compare what two recalls returned."""
    one = [fid for fid, _ in first.returned]
    other = [fid for fid, _ in second.returned]
    return Comparison(
        both=tuple(fid for fid in one if fid in set(other)),
        first_only=tuple(fid for fid in one if fid not in set(other)),
        second_only=tuple(fid for fid in other if fid not in set(one)),
    )
