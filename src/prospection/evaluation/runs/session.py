"""From the name of a plan to a run: opens data, encoder, models and stores, and runs, rehearses or replays.

In go names and settings; out come rows in a folder. What is measured and how is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from prospection.config import ModelsSettings, Settings
from prospection.errors import ConfigError, InputError, NotRecordedError, UnknownNameError
from prospection.evaluation.cases import Dataset
from prospection.evaluation.datasets import load_dataset
from prospection.evaluation.runs.answers import write_answers
from prospection.evaluation.runs.cut import first_part, smaller_memories
from prospection.evaluation.runs.estimate import Estimate, price_of_system, rehearse
from prospection.evaluation.runs.folder import RunFolder
from prospection.evaluation.runs.manifest import build_manifest, check_same
from prospection.evaluation.runs.measure import Parts, run_plan
from prospection.evaluation.runs.packages import check_packages, live_packages, recorded_packages
from prospection.evaluation.runs.plan import DatasetEntry, Plan, PlanBudget, parse_plan, read_plan
from prospection.evaluation.runs.rows import Row
from prospection.evaluation.runs.systems import ModelOf, PackageOf, address_of, describe_system
from prospection.evaluation.runs.tape import Tape, TapedChat
from prospection.models.embedding_cache import CachedEmbedder
from prospection.protocols import ChatModel, Embedder, FactStore, Progress, TextRole
from prospection.serial import from_json
from prospection.types import Calibration, Vectors

__all__ = ["Begun", "Resumed", "answers", "begin", "estimate", "measure", "replay"]

Resumed = Literal["unfinished", "failed"]
"""Which cases of a run that was begun are asked: those without a row, or failed ones as well."""

LOCAL = frozenset({"local", "multilingual"})
"""Encoders that give the same vectors again without an endpoint; what others gave is kept for replay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A plan that has been checked, with its data loaded."""

    plan: Plan
    text: str
    datasets: Mapping[str, Dataset]
    settings: Settings


def begin(plan: str, places: Mapping[str, Path], settings: Settings) -> Begun:
    """Read a plan and load its data.

    Args:
        plan: A file, or the name of a packaged plan.
        places: Where data sets are, over what the plan says, by name.
        settings: The plan's models stand on top of them.

    Raises:
        InputError, UnknownNameError, ConfigError: The plan, a name in it or a data set cannot be used.
    """
    text = read_plan(plan)
    return _begin(text, parse_plan(text, where=plan), places, settings)


def _begin(text: str, plan: Plan, places: Mapping[str, Path], settings: Settings) -> Begun:
    names = [entry.name for entry in plan.datasets]
    for name in places:
        if name not in names:
            raise UnknownNameError("data set of the plan", name, names)
    datasets = {
        entry.name: _cut(load_dataset(places.get(entry.name, entry.path), entry.layout), entry)
        for entry in plan.datasets
    }
    named = plan.models.model_dump(exclude_none=True)
    models = settings.models.model_copy(update=named)
    return Begun(plan=plan, text=text, datasets=datasets, settings=settings.model_copy(update={"models": models}))


def _cut(dataset: Dataset, entry: DatasetEntry) -> Dataset:
    first = first_part(dataset, users=entry.users, queries=entry.queries, queries_each=entry.queries_each)
    return smaller_memories(first, entry.facts_each)


async def measure(
    begun: Begun, path: Path, resumed: Resumed | None, storing: Progress | None = None, asking: Progress | None = None
) -> tuple[str | None, list[Row]]:
    """Run a plan in a folder.

    Args:
        resumed: None for a new run.

    Returns:
        Why the run stopped before its end, or None; and the rows of all cases so far.

    Raises:
        InputError: A run was begun in the folder and is not to be resumed, was made with something else, or is being
            measured by another process.
    """
    folder, models = RunFolder(path), begun.settings.models
    if folder.exists() and resumed is None:
        raise InputError(f"{str(path)!r} holds a run already; go on with it (--resume) or name another folder (--out)")
    check_packages(begun.plan, begun.settings)
    _check_prices(begun.plan, models)
    encoder = await _open_encoder(models)
    manifest = _manifest(begun, encoder)
    with folder.held():
        if folder.exists():
            before = folder.manifest()
            check_same(before, manifest, what=f"run {str(path)!r}")
            commits = [*before.get("commits", [before["commit"]]), manifest["commit"]]
            manifest = {**manifest, "commits": list(dict.fromkeys(commits))}
        folder.begin(manifest, begun.text)
        tape = Tape(folder.recording, budget=begun.plan.budget, retry_failed=resumed == "failed")
        kept = None if models.encoder in LOCAL else folder.embeddings
        async with AsyncExitStack() as stack:
            packages = live_packages(tape, begun.settings, folder.packages, stack)
            parts = _parts(begun, encoder, tape, _live_models(models, tape), packages, kept, storing, asking)
            stopped = await run_plan(begun.plan, begun.datasets, folder, parts, retry_failed=resumed == "failed")
        return stopped, list(folder.rows().values())


def _check_prices(plan: Plan, models: ModelsSettings) -> None:
    """Refuse a ceiling of money that nobody can keep before anything is paid for."""
    if plan.budget.max_cost is None:
        return
    for system in plan.systems:
        if price_of_system(system, models) is None:
            raise ConfigError(
                f"max_cost cannot be kept: the price of {system.model or models.chat!r}, which system {system.name!r} "
                "asks, is not known; write max_calls or max_tokens in its place, in a copy if the plan is a packaged "
                f"one: prospection eval plans {plan.name} > {plan.name}.toml"
            )


def answers(path: Path, places: Mapping[str, Path], settings: Settings, out: Path) -> list[Path]:
    """Write a run's answers to a folder, one file a system; its data are read again for the words of the queries.

    Raises:
        InputError: It is no run, or the files cannot be written.
    """
    folder = RunFolder(path)
    begun = _begin(folder.plan(), parse_plan(folder.plan(), where=str(path / "plan.toml")), places, settings)
    texts = {(name, query.id): query.text for name, dataset in begun.datasets.items() for query in dataset.queries}
    return write_answers(folder.rows().values(), texts, out)


async def estimate(begun: Begun, storing: Progress | None = None, asking: Progress | None = None) -> list[Estimate]:
    """Rehearse a plan with a model that makes its replies up, and with the local encoder: nothing is paid for."""
    models = begun.settings.models.model_copy(update={"encoder": "local"})
    begun = replace(begun, settings=begun.settings.model_copy(update={"models": models}))
    encoder = await _open_encoder(models)
    with TemporaryDirectory() as place:
        tape = Tape(Path(place) / "recording.jsonl")
        parts = _parts(begun, encoder, tape, lambda _: None, recorded_packages(tape), None, storing, asking)
        return await rehearse(begun.plan, begun.datasets, parts, models)


async def replay(
    path: Path,
    places: Mapping[str, Path],
    settings: Settings,
    storing: Progress | None = None,
    asking: Progress | None = None,
) -> list[str]:
    """Make the rows of a run again from its recording, without a model or an endpoint.

    Args:
        places: Where data sets are, over what the run's plan says.

    Returns:
        Cases whose rows came out differently, seconds apart.

    Raises:
        InputError: It is no run, or data, settings or prompts have changed since.
    """
    folder = RunFolder(path)
    text, before, wanted = folder.plan(), folder.manifest(), folder.rows()
    plan = parse_plan(text, where=str(path / "plan.toml"))
    begun = _begin(text, plan.model_copy(update={"budget": PlanBudget()}), places, settings)
    chat = before["chat"]
    named = {"chat": chat}
    if "settings" in before:  # a limit of replies that are on tape
        named["max_output_tokens"] = before["settings"]["max_output_tokens"]
    models = begun.settings.models.model_copy(update=named)
    begun = replace(begun, settings=begun.settings.model_copy(update={"models": models}))
    recorded = before["encoder"]
    kept = folder.embeddings if folder.embeddings.is_file() else None
    encoder: Embedder = _Absent(recorded) if kept is not None else await _open_encoder(models)
    check_same(before, _manifest(begun, encoder), what=f"run {str(path)!r}")
    tape = Tape(folder.recording)

    def model_of(name: str | None) -> ChatModel | None:
        known = name or chat
        return None if known is None else TapedChat(tape, known, None)

    with TemporaryDirectory() as place:
        again = RunFolder(Path(place))
        again.begin(before, text)
        parts = _parts(begun, encoder, tape, model_of, recorded_packages(tape), kept, storing, asking)
        await run_plan(begun.plan, begun.datasets, again, parts, again=wanted)
        found = again.rows()
    return ["/".join(map(str, key)) for key, row in wanted.items() if not _same(row, found.get(key))]


def _same(row: Row, again: Row | None) -> bool:
    """Whether two rows are equal, seconds apart, which are never the same twice."""
    return again is not None and replace(again, seconds=row.seconds) == row


def _manifest(begun: Begun, encoder: Embedder) -> dict[str, Any]:
    chat, recall = begun.settings.models.chat, begun.settings.recall
    systems = {entry.name: describe_system(entry, recall, entry.model or chat) for entry in begun.plan.systems}
    return build_manifest(
        begun.plan, datasets=begun.datasets, embedder=encoder, settings=begun.settings, systems=systems
    )


def _parts(
    begun: Begun,
    encoder: Embedder,
    tape: Tape,
    model_of: ModelOf,
    package_of: PackageOf,
    kept: Path | None,
    storing: Progress | None,
    asking: Progress | None,
) -> Parts:
    from prospection.store.sqlite import SQLiteStore

    @asynccontextmanager
    async def open_store() -> AsyncIterator[FactStore]:
        async with await SQLiteStore.open(":memory:", encoder=(encoder.id, encoder.dims)) as store:
            yield store

    return Parts(
        recall=begun.settings.recall,
        open_store=open_store,
        # Queries and probes are embedded each time, so that seconds are real, unless a replay will need them.
        embedder=encoder if kept is None else CachedEmbedder(encoder, path=kept),
        stored_with=CachedEmbedder(encoder, path=kept or _cache(begun.settings)),
        model_of=model_of,
        package_of=package_of,
        tape=tape,
        storing=storing,
        asking=asking,
    )


def _cache(settings: Settings) -> Path | None:
    if not settings.evaluation.embedding_cache:
        return None
    from platformdirs import user_cache_path

    return user_cache_path("prospection", appauthor=False, ensure_exists=True) / "embeddings.db"


async def _open_encoder(models: ModelsSettings) -> Embedder:
    from prospection.models.encoders import open_encoder

    encoder = await open_encoder(models.encoder, call_timeout=models.timeout, retries=models.retries)
    await encoder.embed(["warm"], role="query")  # the first query would pay for loading otherwise
    return encoder


def _live_models(models: ModelsSettings, tape: Tape) -> ModelOf:
    """Every generator of the run, opened when it is first wanted, all on one tape."""
    from prospection.models.open import open_chat

    opened: dict[str, ChatModel] = {}

    def model_of(name: str | None) -> ChatModel | None:
        known = name or models.chat
        if known is None:
            return None
        if known not in opened:
            chat = open_chat(models.model_copy(update={"chat": known, "base_url": address_of(known, models)}))
            if chat is not None:
                opened[known] = TapedChat(tape, known, chat)
        return opened.get(known)

    return model_of


class _Absent:
    """An encoder that is not asked any more: what it gave is kept beside it."""

    def __init__(self, recorded: Mapping[str, Any]) -> None:
        self.id: str = recorded["id"]
        self.dims: int = recorded["dims"]
        self.calibration = from_json(Calibration, recorded["calibration"])

    async def embed(
        self, texts: Sequence[str], *, role: TextRole = "passage", progress: Progress | None = None
    ) -> Vectors:
        raise NotRecordedError(
            f"the run has no vector of {texts[0]!r} as {role}; data or code have changed since: run the plan again"
        )
