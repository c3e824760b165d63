"""`prospection eval`: measuring on data sets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from prospection.cli.options import Place, as_json, model_options, placed, print_json, progress_bar, settings_of
from prospection.protocols import Progress

if TYPE_CHECKING:
    from prospection.config import Settings
    from prospection.evaluation.results import RecallResult

__all__ = ["evaluate"]

DEFAULT = ("direct", "hybrid", "library")


@click.group(name="eval")
def evaluate() -> None:
    """Measure what is found, and at what cost."""


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
@click.option("--encoder", metavar="NAME", help="Encoder: local, multilingual, openai:MODEL or MODEL@URL.")
@as_json
@model_options
@placed
def recall(place: Place, data: str, policies: Sequence[str], pool: bool, json_: bool) -> None:
    """Measure the share of needed facts among the first 5 ... 100 that each policy finds.

    DATA is a folder: user files with "sessions" and "queries" (beside them cues/ and probes/, when there), or
    users.jsonl, queries.jsonl and perhaps facts.jsonl. Without --model, policy pgr runs its first phase on recorded
    probes.
    """
    import anyio

    settings = settings_of(place)
    with progress_bar("Storing facts") as storing, progress_bar("Asking") as asking:
        names = tuple(policies) or DEFAULT
        result = anyio.run(_measure, Path(data), names, pool, settings, storing, asking)
    if json_:
        print_json(result.to_json())
    else:
        from prospection.cli.show import console
        from prospection.evaluation.report import recall_report

        console().print(recall_report(result))


async def _measure(
    data: Path, policies: Sequence[str], pool: bool, settings: Settings, storing: Progress, asking: Progress
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
            build_system(name, settings.recall, store=store, embedder=embedder, library=library, model=model, pool=pool)
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
