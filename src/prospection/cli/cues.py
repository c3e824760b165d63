"""`prospection cues`: future cues for facts that have none."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from prospection.cli.options import (
    Place,
    as_json,
    memory_options,
    model_options,
    open_memory,
    print_value,
    progress_bars,
)
from prospection.cli.words import suggested

__all__ = ["cues"]


@click.group()
def cues() -> None:
    """Future situations in which each fact will matter."""


@cues.command()
@click.option("--fact", "fids", metavar="ID", multiple=True, help="Rewrite the cues of this fact. Repeat for several.")
@click.option("--max-calls", metavar="N", type=click.IntRange(min=1), help="Ceiling of calls to the model.")
@click.option("--max-tokens", metavar="N", type=click.IntRange(min=1), help="Ceiling of tokens, in and out.")
@as_json
@model_options
@memory_options
def backfill(
    place: Place, user: str, fids: Sequence[str], max_calls: int | None, max_tokens: int | None, json_: bool
) -> None:
    """Write cues for the facts that have none.

    Twenty facts a call, each call stored at once: end it when you like, and run it again to go on.
    """
    from prospection.types import Budget

    with open_memory(place) as memory, progress_bars("Looking ahead") as (progress,):
        done = memory.backfill_cues(
            user=user,
            fids=list(fids) or None,
            budget=Budget(max_calls=max_calls, max_tokens=max_tokens),
            progress=progress,
        )
    if json_:
        print_value(done)
    else:
        usage = f"{done.usage.calls} calls, {done.usage.tokens_in + done.usage.tokens_out} tokens"
        click.echo(f"{done.facts} facts have cues now, {done.left} still have none; {usage}", err=True)
    if done.partial:
        click.echo(
            f"Error: ended early: {done.partial}. To go on: {suggested('cues', 'backfill', '--user', user)}", err=True
        )
        sys.exit(1)
