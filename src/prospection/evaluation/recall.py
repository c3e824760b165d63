"""Recall of references: a data set and systems in, what each system found out. No model is called from here.

A system answers one query at a time with a ranking of the store's fact ids. All systems search the same memory, all
facts of the person, so that they can be compared at equal fact budgets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Protocol

from prospection.errors import InputError
from prospection.evaluation.cases import Dataset, EvalQuery
from prospection.evaluation.metrics import first_ranks
from prospection.evaluation.results import QueryResult, RecallResult
from prospection.evaluation.rivals.indexes import Prepared
from prospection.evaluation.stored import StoredDataset, store_dataset
from prospection.protocols import Embedder, FactStore, Progress
from prospection.types import Usage

__all__ = ["Retrieved", "System", "measure_recall"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved:
    """What a system found for a query.

    Attributes:
        fids: Ids of facts as the store gave them, best first, each once. Those beyond the largest budget do no harm.
        llm_calls: Calls to a language model, failed ones too. An answer, which comes after, is not among them.
        notes: What a reader of the figures should know about how this was found, in sentences.
        context: What the system would put before the model that answers; None: the facts, as `render_context` does.
        usage: What the calls cost; building an index is not part of it.
        summary: What the imagined future asks of the answer; None where nothing wrote one.
        phases: How many facts the first phase found and how many were new after it; None where there are no phases.
    """

    fids: tuple[str, ...]
    llm_calls: int = 0
    notes: tuple[str, ...] = ()
    context: str | None = None
    usage: Usage = field(default_factory=Usage)
    summary: str | None = None
    phases: tuple[int, int] | None = None


class System(Protocol):
    """A way to search memory, bound to the store that is being measured."""

    @property
    def name(self) -> str:
        """How it is called in tables."""
        ...

    async def retrieve(self, query: EvalQuery) -> Retrieved:
        """Search the memory of `query.user`. The query's references are there for the scoring alone.

        The system should be able to return as many facts as the largest of `metrics.BUDGETS`.
        """
        ...


async def measure_recall(
    dataset: Dataset,
    systems: Sequence[System],
    *,
    store: FactStore,
    embedder: Embedder,
    storing: Progress | None = None,
    asking: Progress | None = None,
) -> RecallResult:
    """Store the data set's facts and put every query to every system.

    Args:
        dataset: As `load_dataset` returns it.
        systems: Bound to `store`; asked only after it has been filled.
        store: An empty store.
        embedder: Embeds the facts and their cues; embedding queries and probes is the systems' part.
        storing: Called with the texts embedded so far and in all.
        asking: Called with the queries answered so far and in all, every system counting.

    Raises:
        InputError: Two systems have the same name, there are none, or the store is not empty.
        ModelError: The encoder or a system's model failed.
    """
    names = [system.name for system in systems]
    if not names or len(set(names)) < len(names):
        raise InputError(f"systems to measure are {names!r}; name at least one, and each once")
    stored = await store_dataset(dataset, store=store, embedder=embedder, progress=storing)
    results: dict[str, tuple[QueryResult, ...]] = {}
    remarks: Counter[tuple[str, str]] = Counter()
    total = len(systems) * len(dataset.queries)
    done = 0
    for system in systems:
        await _prepare(system, dataset)
        rows = []
        for query in dataset.queries:
            started = perf_counter()
            found = await system.retrieve(query)
            rows.append(_row(query, found, stored, seconds=perf_counter() - started))
            remarks.update((system.name, note) for note in found.notes)
            done += 1
            if asking is not None:
                asking(done, total)
        results[system.name] = tuple(rows)
    return RecallResult(
        data=dataset.name,
        encoder=embedder.id,
        facts=stored.facts,
        systems=results,
        notes=(*dataset.notes, *_later_facts(dataset), *_remarks(remarks, len(dataset.queries))),
    )


def _row(query: EvalQuery, found: Retrieved, stored: StoredDataset, *, seconds: float) -> QueryResult:
    return QueryResult(
        query=query.id,
        user=query.user,
        person=query.person or query.user,
        ranks=first_ranks(found.fids, stored.references(query)),
        llm_calls=found.llm_calls,
        seconds=seconds,
        usage=found.usage,
        phases=found.phases,
    )


async def _prepare(system: System, dataset: Dataset) -> None:
    """Let a system build what it needs, so that what it builds does not count as searching."""
    if isinstance(system, Prepared):
        for user in dict.fromkeys(query.user for query in dataset.queries):
            await system.prepare(user)


def _later_facts(dataset: Dataset) -> list[str]:
    last = {user.id: max(fact.at for fact in user.facts) for user in dataset.users if user.facts}
    early = sum(query.at < last[query.user] for query in dataset.queries)
    if not early:
        return []
    return [
        f"{early} of {len(dataset.queries)} queries are older than some of the person's facts; all facts are in memory."
    ]


def _remarks(remarks: Mapping[tuple[str, str], int], queries: int) -> list[str]:
    return [
        f"{system}: {note}" if count == queries else f"{system}: {note} ({count} of {queries} queries)"
        for (system, note), count in remarks.items()
    ]
