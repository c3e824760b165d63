"""`prospection eval extraction`: how good the facts are that conversations are turned into."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from prospection.cli.options import (
    Place,
    as_json,
    encoder_option,
    model_options,
    placed,
    print_json,
    progress_bars,
    settings_of,
    zone_of,
)
from prospection.protocols import Progress

if TYPE_CHECKING:
    from prospection.config import Settings
    from prospection.evaluation.extraction.measure import ExtractionResult

__all__ = ["extraction"]


@click.command()
@click.argument("data", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--zone",
    metavar="ZONE",
    default="UTC",
    show_default=True,
    help="Time zone of the conversations, as Europe/Zurich.",
)
@click.option("--show", is_flag=True, help="List what was missed, and what says no gold fact, to read.")
@encoder_option
@as_json
@model_options
@placed
def extraction(place: Place, data: Path, zone: str, show: bool, json_: bool) -> None:
    """Measure extracted facts against the gold facts of the same session.

    DATA is a folder: user files with the gold facts of each session, and dialogues/ with the conversations under the
    same names. Without --model the rules are measured, by meaning and words. With --model the model extracts as well
    and judges the statements of both: three calls a session.
    """
    import anyio

    zone_of(zone)
    with progress_bars("Extracting", "Judging") as (extracting, judging):
        result = anyio.run(_measure, data.resolve(), zone, settings_of(place), extracting, judging)
    if json_:
        print_json(result.to_json())
        return
    from prospection.cli.show import console
    from prospection.evaluation.extraction.report import details, extraction_report

    console().print(extraction_report(result))
    if show:
        for name, rows in result.compared.items():
            click.echo(f"\n{name}")
            for compared in rows:
                click.echo("\n".join(details(compared)))


async def _measure(
    data: Path, zone: str, settings: Settings, extracting: Progress, judging: Progress
) -> ExtractionResult:
    import anyio.to_thread

    from prospection.evaluation.extraction.measure import measure_extraction
    from prospection.evaluation.extraction.sessions import read_people
    from prospection.models.encoders import open_encoder
    from prospection.models.open import open_chat

    people = await anyio.to_thread.run_sync(read_people, data, zone)
    models = settings.models
    return await measure_extraction(
        data.name,
        people,
        embedder=await open_encoder(models.encoder, call_timeout=models.timeout, retries=models.retries),
        model=open_chat(models),
        max_tokens=settings.remember.max_session_tokens,
        extracting=extracting,
        judging=judging,
    )
