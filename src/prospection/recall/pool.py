"""Ranked lists of hits to one ordered pool of facts without duplicates.

Pure: lists of hits in, scored facts out. The mathematics of merging is `prospection.search`'s.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from prospection.search.fusion import fuse_scores
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


def fuse_hits(dense: Sequence[Hit], lexical: Sequence[Hit], *, lexical_weight: float) -> tuple[ScoredFact, ...]:
    """Unite dense and lexical candidates and add their scores; see `fuse_scores`.

    Args:
        dense: Best first. A fact that only the lexical list holds is taken to be as near as the last of these.
        lexical: Best first. A fact that only the dense list holds has no lexical score.

    Returns:
        Facts with the fused score; ties by id.
    """
    facts = {hit.fact.fid: hit.fact for hit in [*dense, *lexical]}
    if not facts:
        return ()
    near = {hit.fact.fid: hit.similarity for hit in dense}
    words = {hit.fact.fid: hit.similarity for hit in lexical}
    floor = min(near.values(), default=0.0)
    scores = fuse_scores(
        np.array([near.get(fid, floor) for fid in facts]),
        np.array([words.get(fid, 0.0) for fid in facts]),
        lexical_weight=lexical_weight,
    )
    scored = (ScoredFact(fact=fact, score=float(score)) for fact, score in zip(facts.values(), scores, strict=True))
    return tuple(sorted(scored, key=lambda item: (-item.score, item.fid)))


def _resolve(ranked: Sequence[tuple[str, float]], lists: Sequence[Sequence[Hit]]) -> tuple[ScoredFact, ...]:
    facts: dict[str, Fact] = {hit.fact.fid: hit.fact for hits in lists for hit in hits}
    return tuple(ScoredFact(fact=facts[fid], score=score) for fid, score in ranked)
