"""`prospection eval`: measuring on data sets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from prospection.cli import evaluate_runs
from prospection.cli.evaluate_extraction import extraction
from prospection.cli.options import (
    Place,
    as_json,
    encoder_option,
    model_options,
    placed,
    print_json,
    progress_bars,
    settings_of,
)
from prospection.cli.rivals import rivals
from prospection.protocols import Progress

if TYPE_CHECKING:
    from prospection.config import Settings
    from prospection.evaluation.results import RecallResult

__all__ = ["evaluate"]

DEFAULT = ("direct", "hybrid", "library")


@click.group(name="eval")
def evaluate() -> None:
    """Measure what is found, and at what cost."""


for _command in (
    evaluate_runs.run,
    evaluate_runs.report,
    evaluate_runs.compare,
    evaluate_runs.answers,
    evaluate_runs.datasets,
    evaluate_runs.plans,
    extraction,
    rivals,
):
    evaluate.add_command(_command)


@evaluate.command()
@click.argument("data", metavar="DATA")
@click.option(
    "--policy",
    "policies",
    multiple=True,
    metavar="NAME",
    help="Repeat for several.  [default: direct, hybrid, library]",
)
@click.option("--pool", is_flag=True, help="Measure policy foresight before its selection.")
@click.option("--costs", is_flag=True, help="Measure calls, tokens and facts of each phase, policies as they serve.")
@encoder_option
@as_json
@model_options
@placed
def recall(place: Place, data: str, policies: Sequence[str], pool: bool, costs: bool, json_: bool) -> None:
    """Measure the share of needed facts among the first 5 ... 100 that each policy finds.

    DATA is a folder: user files with "sessions" and "queries" (beside them cues/ and probes/, when there), or
    users.jsonl, queries.jsonl and perhaps facts.jsonl. Without --model, recorded probes stand in for the first reply:
    policies hyde and rewrite run whole, pgr runs its first phase, and foresight runs up to its selection.

    With --costs every policy returns as many facts as it does in service, not as many as the largest budget asks for.
    """
    import anyio

    settings = settings_of(place)
    with progress_bars("Storing facts", "Asking") as (storing, asking):
        names = tuple(policies) or DEFAULT
        result = anyio.run(_measure, Path(data), names, pool, costs, settings, storing, asking)
    if json_:
        print_json(result.to_json())
    else:
        from prospection.cli.show import console
        from prospection.evaluation.costs import costs_report
        from prospection.evaluation.report import recall_report

        console().print(costs_report(result) if costs else recall_report(result))


async def _measure(
    data: Path,
    policies: Sequence[str],
    pool: bool,
    costs: bool,
    settings: Settings,
    storing: Progress,
    asking: Progress,
) -> RecallResult:
    from platformdirs import user_cache_path

    from prospection.evaluation.datasets import load_dataset
    from prospection.evaluation.recall import measure_recall
    from prospection.evaluation.systems import build_system
    from prospection.library.library import GoalLibrary
    from prospection.models.embedding_cache import CachedEmbedder
    from prospection.models.encoders import open_encoder
    from prospection.models.open import open_chat
    from prospection.store.sqlite import SQLiteStore

    dataset = load_dataset(data)
    embedder = await open_encoder(
        settings.models.encoder, call_timeout=settings.models.timeout, retries=settings.models.retries
    )
    await embedder.embed(["warm"], role="query")  # the first query would pay for loading otherwise
    cache = user_cache_path("prospection", appauthor=False, ensure_exists=True) / "embeddings.db"
    library = GoalLibrary(embedder)
    async with await SQLiteStore.open(":memory:", encoder=(embedder.id, embedder.dims)) as store:
        model = open_chat(settings.models)
        systems = [
            build_system(
                name,
                settings.recall,
                store=store,
                embedder=embedder,
                library=library,
                model=model,
                pool=pool,
                equal_budget=not costs,
            )
            for name in policies
        ]
        return await measure_recall(
            dataset,
            systems,
            store=store,
            # Stored texts are embedded once and kept between runs; queries are always embedded, so that times are real.
            embedder=CachedEmbedder(embedder, path=cache) if settings.evaluation.embedding_cache else embedder,
            storing=storing,
            asking=asking,
        )
