"""`prospection eval rivals`: the rivals' own packages, installed apart and measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from prospection.cli.options import Place, as_json, encoder_option, placed, print_json, progress_bars, settings_of
from prospection.protocols import Progress

if TYPE_CHECKING:
    from prospection.config import Settings
    from prospection.evaluation.results import RecallResult
    from prospection.evaluation.rivals.packaged.system import RivalEndpoint

__all__ = ["rivals"]


@click.group(name="rivals")
def rivals() -> None:
    """Install and measure other systems' own packages: mem0-1, mem0-2, graphrag-3.

    Each gets an environment of its own, because they are heavy and want other versions of what is installed here. Our
    own implementations of the paper's rivals need none of this: name them in a plan (rival = "mem0g").
    """


@rivals.command()
@click.argument("name")
def install(name: str) -> None:
    """Make the environment of a package: mem0-1 (245 MB), mem0-2 (225 MB) or graphrag-3 (1.3 GB)."""
    from prospection.evaluation.rivals.packaged.environment import install as make

    click.echo(f"{name} is ready: {make(name)}", err=True)


@rivals.command()
@click.argument("name")
@click.argument("data", type=click.Path(path_type=Path, file_okay=False))
@click.option("--base-url", required=True, metavar="URL", help="OpenAI-compatible endpoint of chat and embeddings.")
@click.option("--chat", required=True, metavar="MODEL", help="Language model at the endpoint.")
@click.option("--embedding", required=True, metavar="MODEL", help="Encoder at the endpoint.")
@click.option("--dims", required=True, type=click.IntRange(1), help="Width of its vectors.")
@click.option("--key", envvar="OPENAI_API_KEY", default="none", help="Key.  [env var: OPENAI_API_KEY]")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("rivals"),
    show_default=True,
    help="For indexes; what is there for the same facts is not built again.",
)
@encoder_option
@as_json
@placed
def recall(
    place: Place,
    name: str,
    data: Path,
    base_url: str,
    chat: str,
    embedding: str,
    dims: int,
    key: str,
    out: Path,
    json_: bool,
) -> None:
    """Measure the share of needed facts that package NAME finds in DATA, as `eval recall` does for policies."""
    import anyio

    from prospection.evaluation.rivals.packaged.system import RivalEndpoint

    endpoint = RivalEndpoint(base_url=base_url, api_key=key, chat=chat, embedding=embedding, dims=dims)
    with progress_bars("Storing facts", "Asking") as (storing, asking):
        result = anyio.run(_measure, name, data, out.absolute(), endpoint, settings_of(place), storing, asking)
    if json_:
        print_json(result.to_json())
    else:
        from prospection.cli.show import console
        from prospection.evaluation.report import recall_report

        console().print(recall_report(result))


async def _measure(
    name: str,
    data: Path,
    out: Path,
    endpoint: RivalEndpoint,
    settings: Settings,
    storing: Progress,
    asking: Progress,
) -> RecallResult:
    from prospection.evaluation.datasets import load_dataset
    from prospection.evaluation.recall import measure_recall
    from prospection.evaluation.rivals.packaged.environment import python_of
    from prospection.evaluation.rivals.packaged.process import RivalProcess
    from prospection.evaluation.rivals.packaged.system import PackagedRival
    from prospection.models.encoders import open_encoder
    from prospection.store.sqlite import SQLiteStore

    python = python_of(name)
    dataset = load_dataset(data)
    models = settings.models
    embedder = await open_encoder(models.encoder, call_timeout=models.timeout, retries=models.retries)
    async with (
        await SQLiteStore.open(":memory:", encoder=(embedder.id, embedder.dims)) as store,
        RivalProcess(name, python, folder=out) as process,
    ):
        rival = PackagedRival(name, process=process, store=store, endpoint=endpoint, folder=out)
        return await measure_recall(dataset, [rival], store=store, embedder=embedder, storing=storing, asking=asking)
