"""`prospection import`: other services' exports and archives of our own into memory."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from prospection.cli.options import (
    Place,
    as_json,
    instant,
    memory_options,
    model_options,
    print_json,
    progress_bars,
    settled,
    zone_of,
)
from prospection.cli.words import counted, spent, suggested
from prospection.protocols import Progress
from prospection.types import Failed, Outcome, Queued, Stored, Usage

if TYPE_CHECKING:
    from prospection.exchange.moving_in import MovingIn
    from prospection.exchange.survey import Wanted

__all__ = ["import_"]

AT_ONCE = 50
"""So many conversations are extracted by a model without being asked; more would be a surprise on the bill."""


@click.command(name="import")
@click.argument("path", metavar="PATH", type=click.Path(path_type=Path))
@click.option("--format", "layout", metavar="NAME", help="Layout of the files.  [default: told from their content]")
@click.option("--person", metavar="ID", help="Whose conversations, where the file holds several people's.")
@click.option("--speaker", metavar="NAME", help="Which speaker is the person, where speakers have names.")
@click.option("--since", metavar="TIME", help="Only conversations that began at this time or later.")
@click.option("--until", metavar="TIME", help="Only conversations that began before this time.")
@click.option("--at", metavar="TIME", help="When those took place that do not say.  [default: the file's own time]")
@click.option("--zone", default="UTC", show_default=True, help="The person's time zone, as Europe/Zurich.")
@click.option(
    "--queue/--extract",
    "queue",
    default=None,
    help=f"Only store them, or extract facts now.  [default: extract; with a model only up to {AT_ONCE} conversations]",
)
@click.option("--dry-run", is_flag=True, help="Say what would be done, and write nothing.")
@click.option("--verbose", is_flag=True, help="List what is skipped.")
@as_json
@model_options
@memory_options
def import_(
    place: Place,
    user: str,
    path: Path,
    layout: str | None,
    person: str | None,
    speaker: str | None,
    since: str | None,
    until: str | None,
    at: str | None,
    zone: str,
    queue: bool | None,
    dry_run: bool,
    verbose: bool,
    json_: bool,
) -> None:
    """Move into memory what PATH holds: an account export, chat logs, or an archive.

    PATH is a file, a folder or a .zip: an account export of ChatGPT or Claude, conversations as JSON or JSONL, Markdown
    chat logs, LoCoMo, LongMemEval, or what `prospection export` wrote. Importing the same again adds nothing.
    """
    import anyio

    from prospection.exchange.survey import Wanted

    zone_of(zone)
    wanted = Wanted(
        layout=layout, person=person, at=instant(at, zone), since=instant(since, zone), until=instant(until, zone)
    )
    if _is_archive(path):
        if dry_run or wanted != Wanted() or speaker is not None or queue is not None:
            raise click.UsageError(
                f"{str(path)!r} is an archive of a memory, which is restored whole; leave options out"
            )
        counts = anyio.run(partial(_restore, place, path, user))
        _tell_restored(counts, user, json_)
        return
    result, outcomes = anyio.run(partial(_move_in, place, path, user, wanted, zone, speaker, queue, dry_run))
    _tell(result, outcomes, user, dry_run=dry_run, verbose=verbose, json_=json_)
    if any(isinstance(outcome, Failed) for outcome in outcomes):
        sys.exit(1)


def _is_archive(path: Path) -> bool:
    from prospection.exchange.archive import is_archive

    try:
        with path.open("rb") as file:
            return is_archive(file)
    except OSError:  # a folder; or what cannot be read, which reading it as an export will tell
        return False


async def _restore(place: Place, path: Path, user: str) -> Mapping[str, int]:
    from prospection.exchange.archive import restore_archive
    from prospection.memory import AsyncMemory

    db, settings = settled(place)
    with path.open("rb") as file:
        async with AsyncMemory(db, settings=settings) as memory:
            return await restore_archive(memory, file, user=user)


async def _move_in(
    place: Place,
    path: Path,
    user: str,
    wanted: Wanted,
    zone: str,
    speaker: str | None,
    queue: bool | None,
    dry_run: bool,
) -> tuple[MovingIn, Sequence[Outcome]]:
    from prospection.exchange.moving_in import move_in
    from prospection.memory import AsyncMemory

    db, settings = settled(place)
    with progress_bars("Reading MB", "Storing", "Remembering") as (reading, storing, remembering):
        async with AsyncMemory(db, settings=settings) as memory:
            result = await move_in(
                memory,
                path,
                user=user,
                wanted=wanted,
                zone=zone,
                speaker=speaker,
                dry_run=dry_run,
                reading=_in_megabytes(reading),
                storing=storing,
            )
            much = settings.models.chat is not None and len(result.new) + len(result.grown) > AT_ONCE
            if dry_run or (much if queue is None else queue):
                return result, ()
            return result, await memory.retry(user=user, progress=remembering)


def _in_megabytes(progress: Progress) -> Progress:
    return lambda done, total: progress(done // 1_000_000, total // 1_000_000)


def _tell_restored(counts: Mapping[str, int], user: str, json_: bool) -> None:
    if json_:
        print_json({"restored": dict(counts)})
        return
    kinds = ", ".join(counted(counts.get(kind, 0), kind) for kind in ("session", "fact", "trace"))
    click.echo(f"restored {kinds} of {user}", err=True)


def _tell(
    result: MovingIn, outcomes: Sequence[Outcome], user: str, *, dry_run: bool, verbose: bool, json_: bool
) -> None:
    skipped = Counter(skip.reason for skip in result.skipped)
    if json_:
        data: dict[str, Any] = {
            "layouts": list(result.layouts),
            "bytes": result.size,
            "conversations": result.conversations,
            "messages": result.messages,
            "new": len(result.new),
            "grown": len(result.grown),
            "known": result.known,
            "skipped": dict(skipped),
            "left_out": dict(result.left_out),
            "dry_run": dry_run,
            "outcomes": dict(Counter(type(outcome).__name__.lower() for outcome in outcomes)),
        }
        if verbose:
            data["skips"] = [{"what": skip.what, "reason": skip.reason} for skip in result.skipped]
        print_json(data)
        return
    if verbose:
        for skip in result.skipped:
            click.echo(f"{skip.reason}: {skip.what}")
    would = "would be " if dry_run else ""
    click.echo(
        f"{' and '.join(result.layouts) or 'nothing'}: {counted(result.conversations, 'conversation')} with "
        f"{counted(result.messages, 'message')}; {len(result.new)} {would}new, {len(result.grown)} {would}continued, "
        f"{result.known} known already",
        err=True,
    )
    for title, counts in (("skipped", skipped), ("left out of them", result.left_out)):
        if counts:
            reasons = ", ".join(f"{count} × {reason}" for reason, count in counts.items())
            click.echo(f"{title}: {reasons}", err=True)
    if not dry_run and (outcomes or result.new or result.grown):
        click.echo(_remembered(outcomes, user), err=True)


def _remembered(outcomes: Sequence[Outcome], user: str) -> str:
    waiting = suggested("retry", "--user", user)
    if not outcomes:
        return f"stored, to be extracted by: {waiting}"
    stored = [outcome for outcome in outcomes if isinstance(outcome, Stored)]
    facts = {fact.fid for outcome in stored for fact in outcome.facts}
    parts = [f"{counted(len(facts), 'fact')} from {counted(len(stored), 'conversation')} remembered for {user}"]
    failed = [outcome for outcome in outcomes if isinstance(outcome, Failed)]
    queued = sum(isinstance(outcome, Queued) for outcome in outcomes)
    if failed:
        parts.append(f"{len(failed)} failed and are kept ({failed[0].reason})")
    if failed or queued:
        parts.append(f"{len(failed) + queued} wait for: {waiting}")
    usage = sum((outcome.usage for outcome in outcomes if not isinstance(outcome, Queued)), Usage())
    if usage.calls:
        parts.append(spent(usage))
    return "; ".join(parts)
