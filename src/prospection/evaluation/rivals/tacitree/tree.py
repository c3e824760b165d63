"""The tree: facts in, levels of one-sentence summaries over them out (arXiv 2503.07018, section 4).

While a level has more than `TOP` texts it is clustered, and a model writes one sentence for each cluster; these
sentences are the next level. Each level has at most a sixth of the texts below, so that it ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import anyio.to_thread
import numpy as np
from pydantic import BaseModel, Field

from prospection.evaluation.rivals.questions import Questions
from prospection.evaluation.rivals.shared import SharedMemory
from prospection.evaluation.rivals.tacitree.clusters import Reduction, clusters, distinct
from prospection.protocols import Embedder
from prospection.types import Fact, Vectors

__all__ = ["TOP", "Node", "Tree", "build_tree"]

TOP = 15
"""The top level has at most this many nodes."""

NEAR = 0.9
"""Facts with a higher cosine say the same."""


class _Summary(BaseModel):
    summary: str = Field(min_length=1, description="One sentence")


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One cluster.

    Attributes:
        summary: One sentence on everything below it.
        children: Places in the level below; those of the lowest level are places of facts.
    """

    summary: str
    children: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """A user's facts under summaries.

    Attributes:
        facts: Those that stayed when near-duplicates were removed.
        vectors: (n, d) float32 unit rows of the facts.
        levels: Lowest first; none over `TOP` facts or fewer.
        removed: How many near-duplicates were left out.
    """

    facts: tuple[Fact, ...]
    vectors: Vectors
    levels: tuple[tuple[Node, ...], ...]
    removed: int


async def build_tree(memory: SharedMemory, questions: Questions, *, embedder: Embedder, reduction: Reduction) -> Tree:
    """Build a user's tree; about n/6 + n/36 + ... calls.

    Raises:
        ModelError: A summary did not come.
        MissingExtraError: scikit-learn is not installed.
    """
    kept = distinct(memory.vectors, above=NEAR) if memory.facts else []
    facts = tuple(memory.facts[place] for place in kept)
    vectors = memory.vectors[np.array(kept, dtype=np.int64)]
    levels: list[tuple[Node, ...]] = []
    texts, points = [fact.info for fact in facts], vectors
    while len(texts) > TOP:
        groups = await anyio.to_thread.run_sync(partial(clusters, points, reduction=reduction))
        asked = [
            (f"level {len(levels) + 1}, node {number}", {"texts": "\n".join(f"- {texts[place]}" for place in group)})
            for number, group in enumerate(groups, start=1)
        ]
        replies = await questions.ask_all("rival_tacitree_summarise", _Summary, asked)
        levels.append(
            tuple(
                Node(summary=reply.summary, children=tuple(group)) for reply, group in zip(replies, groups, strict=True)
            )
        )
        texts = [reply.summary for reply in replies]
        points = await embedder.embed(texts)
    return Tree(facts=facts, vectors=vectors, levels=tuple(levels), removed=len(memory.facts) - len(facts))
