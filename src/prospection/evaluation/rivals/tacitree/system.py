"""TaciTree as a system: from the top of the tree down, one yes or no a node, and all facts under accepted leaves.

Facts are not judged one by one. They have no order in the original; here the nearest to the query stand first, which
changes nothing of what is found and is kind to TaciTree where a fact budget cuts the list.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

from prospection.evaluation.cases import EvalQuery
from prospection.evaluation.recall import Retrieved
from prospection.evaluation.rivals.indexes import Indexes
from prospection.evaluation.rivals.questions import Questions
from prospection.evaluation.rivals.shared import SharedMemory
from prospection.evaluation.rivals.tacitree.clusters import Reduction
from prospection.evaluation.rivals.tacitree.tree import TOP, Tree, build_tree
from prospection.protocols import ChatModel, Embedder, FactStore
from prospection.types import Usage

__all__ = ["TaciTree"]


class _Verdict(BaseModel):
    answer: Literal["yes", "no"]


class TaciTree:
    """A tree a user, built once."""

    name = "tacitree"

    def __init__(self, *, store: FactStore, embedder: Embedder, model: ChatModel, reduction: Reduction = "pca") -> None:
        """Build nothing yet.

        Args:
            reduction: "pca", or "umap" as the authors have it (extra `umap`).
        """
        self._embedder, self._model, self._reduction = embedder, model, reduction
        self._trees = Indexes(self.name, self._build, store, model)

    async def prepare(self, user: str) -> Usage:
        """See `Prepared.prepare`."""
        return await self._trees.usage(user)

    async def retrieve(self, query: EvalQuery) -> Retrieved:
        """See `System.retrieve`. Top-level nodes plus the children of every accepted node are calls."""
        tree = await self._trees.of(query.user)
        questions = Questions(self._model, about=f"{self.name}: {query.user}: {query.text}")
        nodes = list(range(len(tree.levels[-1] if tree.levels else tree.facts)))
        for depth, level in reversed(list(enumerate(tree.levels, start=1))):
            asked = [
                (f"level {depth}, node {node + 1}", {"query": query.text, "summary": level[node].summary})
                for node in nodes
            ]
            verdicts = await questions.ask_all("rival_tacitree_judge", _Verdict, asked)
            accepted = [level[node] for node, verdict in zip(nodes, verdicts, strict=True) if verdict.answer == "yes"]
            nodes = sorted(child for node in accepted for child in node.children)
        notes = (f"memory has {TOP} facts or fewer and no tree; all of it is returned",) if not tree.levels else ()
        return Retrieved(
            fids=await self._nearest_first(tree, nodes, query.text),
            llm_calls=questions.usage.calls,
            usage=questions.usage,
            notes=notes,
        )

    async def _build(self, memory: SharedMemory, questions: Questions) -> Tree:
        return await build_tree(memory, questions, embedder=self._embedder, reduction=self._reduction)

    async def _nearest_first(self, tree: Tree, places: list[int], query: str) -> tuple[str, ...]:
        (probe,) = await self._embedder.embed([query], role="query")
        near = tree.vectors @ probe
        return tuple(tree.facts[place].fid for place in sorted(places, key=lambda place: (-near[place], place)))
