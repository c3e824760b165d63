"""Ranked lists of hits to one ordered pool of facts without duplicates.

Pure: lists of hits in, scored facts out. The mathematics of merging is `prospection.search`'s.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from prospection.recall.signals import Candidates
from prospection.search.fusion import fuse_scores, reciprocal_rank_fusion
from prospection.search.interleave import interleave
from prospection.types import Fact, Hit, ScoredFact

__all__ = ["falling", "fuse_hits", "interleave_hits", "mean_hits", "reciprocal_hits"]


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


def reciprocal_hits(lists: Sequence[Sequence[Hit]]) -> tuple[ScoredFact, ...]:
    """Merge by the sum of reciprocal ranks, which favours what many lists hold; see `reciprocal_rank_fusion`."""
    return _resolve(reciprocal_rank_fusion([[hit.fact.fid for hit in hits] for hits in lists]), lists)


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


def mean_hits(lists: Sequence[Sequence[Hit]], *, weights: Sequence[float] | None = None) -> tuple[ScoredFact, ...]:
    """Order facts by the weighted sum of what the lists say of them; by the mean where no weights are given.

    With unit vectors this is the search with the weighted sum of the probes' vectors.

    Args:
        lists: One list for each probe. A fact that one does not hold is taken to be as near as its last.

    Returns:
        Facts with the sum as score; ties by id.
    """
    candidates = Candidates(lists)
    shares = weights if weights is not None else [1.0 / len(lists)] * len(lists)
    total = sum((share * candidates.scores(hits) for share, hits in zip(shares, lists, strict=True)), np.float32(0.0))
    scores = np.broadcast_to(total, len(candidates))
    scored = (ScoredFact(fact=fact, score=float(score)) for fact, score in zip(candidates.facts, scores, strict=True))
    return tuple(sorted(scored, key=lambda item: (-item.score, item.fid)))


def falling(facts: Iterable[ScoredFact]) -> tuple[ScoredFact, ...]:
    """Give facts that are in order the score 1 / rank."""
    return tuple(
        ScoredFact(fact=item.fact, score=1.0 / rank, reason=item.reason) for rank, item in enumerate(facts, start=1)
    )


def _resolve(ranked: Sequence[tuple[str, float]], lists: Sequence[Sequence[Hit]]) -> tuple[ScoredFact, ...]:
    facts: dict[str, Fact] = {hit.fact.fid: hit.fact for hits in lists for hit in hits}
    return tuple(ScoredFact(fact=facts[fid], score=score) for fid, score in ranked)
