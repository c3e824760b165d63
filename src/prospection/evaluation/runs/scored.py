"""A data set in a store, ready for scoring: references in the store's ids, and how near each is to its query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from prospection.evaluation.cases import Dataset, EvalQuery
from prospection.evaluation.metrics import first_ranks, relevant_ranks, token_ranks
from prospection.evaluation.recall import Retrieved
from prospection.evaluation.runs.rows import Case, Row
from prospection.evaluation.stored import StoredDataset, store_dataset
from prospection.protocols import Embedder, FactStore, Progress
from prospection.recall.context import fact_tokens
from prospection.types import Fact, Usage, count_tokens

__all__ = ["Scored"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """What a case is scored with.

    Attributes:
        similarities: By query, for each reference the cosine of the query and the nearest fact that counts for it.
    """

    dataset: Dataset
    store: FactStore
    stored: StoredDataset
    similarities: dict[str, tuple[float, ...]]

    @classmethod
    async def fill(
        cls, dataset: Dataset, *, store: FactStore, embedder: Embedder, progress: Progress | None = None
    ) -> Scored:
        """Store a data set's facts and compare queries with what they need."""
        stored = await store_dataset(dataset, store=store, embedder=embedder, progress=progress)
        vectors = await embedder.embed([query.text for query in dataset.queries], role="query")
        near = {}
        for query, vector in zip(dataset.queries, vectors, strict=True):
            references = stored.references(query)
            fids = sorted(set().union(*references))
            rows = await store.vectors(query.user, fids)
            cosine = {fid: float(row @ vector) for fid, row in zip(fids, rows, strict=True)}
            near[query.id] = tuple(round(max(cosine[fid] for fid in reference), 6) for reference in references)
        return cls(dataset=dataset, store=store, stored=stored, similarities=near)

    async def facts(self, query: EvalQuery, found: Retrieved) -> list[Fact]:
        """Return the facts that were found, in their order."""
        return await self.store.facts(query.user, fids=found.fids, limit=max(1, len(found.fids)))

    def row(self, case: Case, found: Retrieved, facts: Sequence[Fact], *, usage: Usage, seconds: float) -> Row:
        """Return the row of what a system found.

        Args:
            facts: Those of `found`, in its order.

        Raises:
            ValueError: It returned a fact twice.
        """
        references = self.stored.references(case.query)
        ranks = first_ranks(found.fids, references)
        sizes = [fact_tokens(fact) for fact in facts]
        empty = self.failed(case, usage=usage, seconds=seconds, error=None)
        return replace(
            empty,
            fids=found.fids,
            ranks=ranks,
            tokens=token_ranks(ranks, sizes),
            relevant=relevant_ranks(found.fids, references),
            context_tokens=sum(sizes) if found.context is None else count_tokens(found.context),
            notes=found.notes,
        )

    def failed(self, case: Case, *, usage: Usage, seconds: float, error: str | None) -> Row:
        """Return the row of a case that found nothing."""
        query = case.query
        nothing = (None,) * len(query.references)
        return Row(
            dataset=case.dataset,
            system=case.system,
            seed=case.seed,
            query=query.id,
            user=query.user,
            person=query.person or query.user,
            category=query.category,
            fids=(),
            ranks=nothing,
            tokens=nothing,
            similarities=self.similarities[query.id],
            relevant=(),
            context_tokens=0,
            usage=usage,
            seconds=seconds,
            error=error,
            attempt=case.attempt,
            answer_attempt=case.answer_attempt,
        )
