"""Ranked lists of hits to one ordered pool of facts without duplicates.

Pure: lists of hits in, scored facts out. The mathematics of merging is `prospection.search`'s.
"""

from __future__ import annotations

from collections.abc import Sequence

from prospection.search.fusion import reciprocal_rank_fusion
from prospection.search.interleave import interleave
from prospection.types import Fact, Hit, ScoredFact

__all__ = ["fuse_hits", "interleave_hits"]


def interleave_hits(lists: Sequence[Sequence[Hit]]) -> tuple[ScoredFact, ...]:
    """Merge by best rank: first all that some probe ranked first, then all that some probe ranked second, ...

    Args:
        lists: One list for each probe, best first.

    Returns:
        Facts with 1 / best rank as score; ties by best similarity, then by id.
    """
    ranked = interleave(
        [[hit.fact.fid for hit in hits] for hits in lists],
        scores=[[hit.similarity for hit in hits] for hits in lists],
    )
    return _resolve(ranked, lists)


def fuse_hits(lists: Sequence[Sequence[Hit]], weights: Sequence[float]) -> tuple[ScoredFact, ...]:
    """Merge by reciprocal rank fusion with one weight for each list; the score is the fused one."""
    ranked = reciprocal_rank_fusion([[hit.fact.fid for hit in hits] for hits in lists], weights=weights)
    return _resolve(ranked, lists)


def _resolve(ranked: Sequence[tuple[str, float]], lists: Sequence[Sequence[Hit]]) -> tuple[ScoredFact, ...]:
    facts: dict[str, Fact] = {hit.fact.fid: hit.fact for hits in lists for hit in hits}
    return tuple(ScoredFact(fact=facts[fid], score=score) for fid, score in ranked)
