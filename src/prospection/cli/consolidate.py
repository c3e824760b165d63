"""`prospection consolidate`: facts that belong together become one."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

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
from prospection.config import RememberSettings

if TYPE_CHECKING:
    from prospection.types import Consolidation, Fact

__all__ = ["consolidate"]


@click.command()
@click.option("--dry-run", is_flag=True, help="Only show what would be looked at together.")
@click.option(
    "--order",
    type=click.Choice(["published", "improved"]),
    help=f"How facts are grouped.  [default: {RememberSettings().consolidate_order}]",
)
@click.option("--max-calls", metavar="N", type=click.IntRange(min=1), help="Ceiling of calls to the model.")
@click.option("--undo", metavar="ID", multiple=True, help="Take this merged fact back instead. Repeat for several.")
@as_json
@model_options
@memory_options
def consolidate(
    place: Place,
    user: str,
    dry_run: bool,
    order: Literal["published", "improved"] | None,
    max_calls: int | None,
    undo: Sequence[str],
    json_: bool,
) -> None:
    """Merge facts that belong together into one.

    Looks at the facts that came since the last time, with their neighbours. What was merged stays as history. Without
    a language model only repeats of one statement are merged.
    """
    from prospection.types import Budget

    if undo:
        _undo(place, user, undo, json_)
        return
    with open_memory(place) as memory, progress_bars("Consolidating") as (progress,):
        done = memory.consolidate(
            user=user, dry_run=dry_run, order=order, budget=Budget(max_calls=max_calls), progress=progress
        )
    if json_:
        print_value(done)
    else:
        _show(done, user)
    if done.partial:
        click.echo(f"Error: not all groups were looked at: {done.partial}", err=True)
        sys.exit(1)


def _undo(place: Place, user: str, fids: Sequence[str], json_: bool) -> None:
    released: list[Fact] = []
    with open_memory(place) as memory:
        for fid in fids:
            released += memory.unmerge(fid, user=user)
    if json_:
        print_value(tuple(released))
    else:
        click.echo("\n".join(f"{fact.fid}  {fact.info}" for fact in released))
        click.echo(f"{len(released)} facts are current again", err=True)


def _show(done: Consolidation, user: str) -> None:
    for merge in done.merges:
        title = merge.fact.fid if merge.fact else "refused" if merge.refused else "together"
        click.echo(f"{title}  {merge.statement or ''}".rstrip())
        for fact in merge.sources:
            click.echo(f"    {fact.fid}  {fact.info}")
        if merge.refused:
            click.echo(f"    ({merge.refused})")
    merged = sum(merge.fact is not None for merge in done.merges)
    if done.preview:
        click.echo(f"{len(done.merges)} groups for {done.new} new facts of {done.facts}; nothing was changed", err=True)
        return
    left = len(done.merges) - merged
    click.echo(f"{merged} merged, {left} left apart; {done.new} new facts of {done.facts} were looked at", err=True)
    if merged:
        click.echo(f"To take one back: {suggested('consolidate', '--undo', 'ID', '--user', user)}", err=True)
