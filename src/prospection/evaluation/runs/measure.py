"""Run a plan: every system is put every query of every data set, once for each seed, and each case becomes a row.

A case whose model failed is a row with its error. What would fail every case alike (a missing key or model, a broken
store) ends the run. At a ceiling the run ends as well; the cases it cut are not written, and are asked when the run is
resumed with a higher one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter

from prospection.config import RecallSettings
from prospection.errors import ConfigError, CredentialError, ModelError
from prospection.evaluation.cases import Dataset, EvalQuery
from prospection.evaluation.recall import Retrieved, System
from prospection.evaluation.rivals.indexes import Prepared
from prospection.evaluation.runs.answers import answer_from
from prospection.evaluation.runs.folder import RunFolder
from prospection.evaluation.runs.plan import Plan, SystemEntry
from prospection.evaluation.runs.rows import Case, CaseKey, IndexRow, Row
from prospection.evaluation.runs.scored import Scored
from prospection.evaluation.runs.systems import ModelOf, PackageOf, open_system
from prospection.evaluation.runs.tape import Tape, working
from prospection.evaluation.side_by_side import side_by_side
from prospection.library.library import GoalLibrary
from prospection.protocols import ChatModel, Embedder, FactStore, Progress
from prospection.types import Fact

__all__ = ["Parts", "run_plan"]

OpenStore = Callable[[], AbstractAsyncContextManager[FactStore]]
"""Opens an empty store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a run works with.

    Attributes:
        stored_with: Embeds facts; the same encoder as `embedder`, which embeds queries and probes.
        storing, asking: Called with what is done and in all.
    """

    recall: RecallSettings
    open_store: OpenStore
    embedder: Embedder
    stored_with: Embedder
    model_of: ModelOf
    package_of: PackageOf
    tape: Tape
    storing: Progress | None = None
    asking: Progress | None = None


async def run_plan(
    plan: Plan,
    datasets: Mapping[str, Dataset],
    folder: RunFolder,
    parts: Parts,
    *,
    retry_failed: bool = False,
    again: Mapping[CaseKey, Row] | None = None,
) -> str | None:
    """Measure every case that has no row yet.

    Args:
        datasets: By name, as the plan cuts them.
        folder: Begun.
        retry_failed: Ask cases again whose row has an error; where the plan wants answers, also for one that is
            missing, what was found being played from tape.
        again: Measure the cases of these rows alone, as the attempts they are: for a replay.

    Returns:
        Why the run stopped before its end; None when it is complete.

    Raises:
        CredentialError: A model refused its key.
        ConfigError: A system needs a model and there is none.
        InputError: The folder cannot be written.
    """
    run = _Run(plan, datasets, folder, parts, retry_failed=retry_failed, again=again)
    library = GoalLibrary(parts.embedder)
    for entry in plan.datasets:
        dataset = datasets[entry.name]
        if parts.tape.stopped or not run.has_work(entry.name):
            continue
        async with parts.open_store() as store:
            scored = await Scored.fill(dataset, store=store, embedder=parts.stored_with, progress=parts.storing)
            for system in plan.systems:
                opened = open_system(
                    system,
                    parts.recall,
                    store=store,
                    embedder=parts.embedder,
                    library=library,
                    model_of=parts.model_of,
                    package_of=parts.package_of,
                )
                await run.measure(entry.name, system, opened, scored)
    return parts.tape.stopped


class _Run:
    """Which cases are done, and how the others are measured."""

    def __init__(
        self,
        plan: Plan,
        datasets: Mapping[str, Dataset],
        folder: RunFolder,
        parts: Parts,
        *,
        retry_failed: bool,
        again: Mapping[CaseKey, Row] | None,
    ) -> None:
        self._plan, self._folder, self._parts = plan, folder, parts
        self._rows, self._retry_failed, self._again = folder.rows(), retry_failed, again
        self._built = {(row.dataset, row.system, row.user) for row in folder.indexes()}
        self._todo: dict[tuple[str, str], list[Case]] = {}
        for entry in plan.datasets:
            for system in plan.systems:
                every = (
                    Case(dataset=entry.name, system=system.name, seed=seed, query=query)
                    for seed in plan.seeds
                    for query in datasets[entry.name].queries
                )
                self._todo[entry.name, system.name] = [wanted for case in every if (wanted := self._wanted(case))]
        self._total = sum(map(len, self._todo.values()))
        self._done = 0

    def has_work(self, dataset: str) -> bool:
        return any(cases for (name, _), cases in self._todo.items() if name == dataset)

    def _stopped(self) -> bool:
        return self._parts.tape.stopped is not None

    def _wanted(self, case: Case) -> Case | None:
        """Return a case as the attempt that it needs; None when it needs none."""
        if self._again is not None:
            made = self._again.get(case.key)
            if made is None:
                return None
            return replace(case, attempt=made.attempt, answer_attempt=made.answer_attempt)
        row = self._rows.get(case.key)
        if row is None:
            return case
        if self._retry_failed and row.error is not None:
            return replace(case, attempt=row.attempt + 1)
        if self._retry_failed and self._plan.answers and row.answer is None:
            return replace(case, attempt=row.attempt, answer_attempt=row.answer_attempt + 1)
        return None

    async def measure(self, dataset: str, entry: SystemEntry, system: System, scored: Scored) -> None:
        cases = self._todo[dataset, entry.name]
        users = list(dict.fromkeys(case.query.user for case in cases))
        broken: dict[str, str] = {}
        answering = self._parts.model_of(entry.model) if self._plan.answers else None
        if self._plan.answers and answering is None:
            raise ConfigError("the plan asks for answers, which need a language model; name one with --model")
        if isinstance(system, Prepared):
            jobs = [partial(self._prepare, dataset, entry.name, system, user, broken) for user in users]
            await side_by_side(jobs, at_once=self._plan.concurrency)
        await side_by_side(
            [partial(self._case, case, system, scored, broken, answering) for case in cases],
            at_once=self._plan.concurrency,
        )

    async def _prepare(self, dataset: str, name: str, system: Prepared, user: str, broken: dict[str, str]) -> None:
        if self._stopped():
            return
        started = perf_counter()
        with working(f"{dataset}/{name}/index/{user}", once=True) as work:
            try:
                await system.prepare(user)
            except CredentialError:
                raise
            except ModelError as error:
                broken[user] = f"index: {error}"
                return
        if (dataset, name, user) not in self._built and not self._stopped():
            seconds = perf_counter() - started
            row = IndexRow(dataset=dataset, system=name, user=user, usage=work.usage, seconds=seconds)
            await self._folder.append(row)

    async def _case(
        self, case: Case, system: System, scored: Scored, broken: Mapping[str, str], answering: ChatModel | None
    ) -> None:
        if self._stopped():
            return
        query = case.query
        with working(case.work) as work:
            started = perf_counter()
            try:
                found = None if query.user in broken else await system.retrieve(query)
                error = broken.get(query.user)
            except CredentialError:
                raise
            except ModelError as failure:
                found, error = None, f"{type(failure).__name__}: {failure}"
            seconds = perf_counter() - started
        if self._stopped():
            return  # cut at the ceiling: what it found is not what the system finds
        before = self._rows.get(case.key)
        if before is not None and before.attempt == case.attempt:
            seconds = before.seconds  # it was played, for another answer
        if found is None:
            row = scored.failed(case, usage=work.usage, seconds=seconds, error=error)
        else:
            # Without a model, recorded probes stand in for calls, and the system counts them.
            usage = work.usage if work.usage.calls else found.usage
            facts = await scored.facts(query, found)
            row = scored.row(case, found, facts, usage=usage, seconds=seconds)
            if answering is not None:
                with working(case.answering) as work:
                    row = await self._answered(row, query, found, facts, answering)
                row = replace(row, answer_usage=work.usage)
                if self._stopped():
                    return
        await self._folder.append(row)
        self._done += 1
        if self._parts.asking is not None:
            self._parts.asking(self._done, self._total)

    async def _answered(
        self, row: Row, query: EvalQuery, found: Retrieved, facts: Sequence[Fact], model: ChatModel
    ) -> Row:
        try:
            text = await answer_from(query, found, facts, model, context_tokens=self._parts.recall.context_tokens)
        except CredentialError:
            raise
        except ModelError as error:
            return replace(row, notes=(*row.notes, f"no answer: {error}"))
        return replace(row, answer=text)
