"""`prospection add` and `prospection retry`: conversations into memory."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import click

from prospection.cli.options import (
    Place,
    as_json,
    instant,
    memory_options,
    model_options,
    open_memory,
    print_json,
    progress_bars,
    zone_of,
)
from prospection.cli.words import counted, spent, suggested
from prospection.types import Failed, Nothing, Outcome, Queued, Stored, Usage

__all__ = ["add", "retry"]

GIVE_UP = 3
"""So many failures in a row, and `add` no longer tries to extract."""


@click.command()
@click.argument("file", metavar="FILE")
@click.option("--session", metavar="ID", help="Name of the conversation.  [default: the file's, or one by content]")
@click.option("--at", metavar="TIME", help="When it took place, in ISO form.  [default: as the file says, or now]")
@click.option(
    "--zone", metavar="ZONE", default="UTC", show_default=True, help="The person's time zone, as Europe/Zurich."
)
@click.option("--queue", is_flag=True, help="Only store it; `prospection retry` extracts it later.")
@as_json
@model_options
@memory_options
def add(
    place: Place, user: str, file: str, session: str | None, at: str | None, zone: str, queue: bool, json_: bool
) -> None:
    """Remember the conversations of FILE ("-" for standard input).

    JSON or JSONL: a list of messages with "role" and "content", an object with "messages", or several of those.
    """
    from prospection.remember.conversation import parse_file

    text = _read(file)
    transcripts = parse_file(text, zone=zone_of(zone))
    if session is not None and len(transcripts) > 1:
        raise click.BadParameter(f"{file!r} holds {len(transcripts)} conversations; leave --session out")
    when = instant(at, zone)
    outcomes: list[Outcome] = []
    wait = not queue
    with open_memory(place) as memory, progress_bars("Remembering") as (progress,):
        for done, transcript in enumerate(transcripts):
            progress(done, len(transcripts))
            outcome = memory.add(
                transcript.messages,
                user=user,
                session=session or transcript.id,
                at=when or transcript.at or datetime.now(UTC),
                zone=zone,
                wait=wait,
            )
            outcomes.append(outcome)
            # What fails again and again would fail for the rest too, at a price; the rest is stored and left.
            wait = wait and not _failing(outcomes)
    _report(outcomes, user, json_)


@click.command()
@as_json
@model_options
@memory_options
def retry(place: Place, user: str, json_: bool) -> None:
    """Extract the conversations that failed or still wait."""
    with open_memory(place) as memory, progress_bars("Remembering") as (progress,):
        outcomes = memory.retry(user=user, progress=progress)
    _report(outcomes, user, json_)


def _failing(outcomes: Sequence[Outcome]) -> bool:
    return len(outcomes) >= GIVE_UP and all(isinstance(outcome, Failed) for outcome in outcomes[-GIVE_UP:])


def _read(file: str) -> str:
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return data.decode("utf-8")
    except FileNotFoundError as error:
        raise click.ClickException(f"there is no file {file!r}; check the path") from error
    except IsADirectoryError as error:
        raise click.ClickException(f"{file!r} is a folder; name a file in it") from error
    except UnicodeDecodeError as error:
        raise click.ClickException(f"{file!r} is not text in UTF-8; save it as UTF-8 JSON") from error
    except OSError as error:
        raise click.ClickException(f"{file!r} cannot be read: {error.strerror}; check its permissions") from error


def _report(outcomes: Sequence[Outcome], user: str, json_: bool) -> None:
    """Print what came of it, and exit with 1 when a session failed."""
    failed = [outcome for outcome in outcomes if isinstance(outcome, Failed)]
    if json_:
        from prospection.serial import to_json

        print_json([{"outcome": type(outcome).__name__.lower(), **to_json(outcome)} for outcome in outcomes])
    else:
        _talk(outcomes, user)
    for outcome in failed:
        click.echo(f"Error: conversation {outcome.session!r}: {outcome.reason}", err=True)
    if failed:
        kept = f"{counted(len(failed), 'conversation')} kept whole"
        click.echo(f"Nothing is lost: {kept}. To try again: {suggested('retry', '--user', user)}", err=True)
        sys.exit(1)


def _talk(outcomes: Sequence[Outcome], user: str) -> None:
    if not outcomes:
        click.echo(f"No conversation of {user} waits or failed.", err=True)
        return
    stored = [outcome for outcome in outcomes if isinstance(outcome, Stored)]
    facts = {fact.fid for outcome in stored for fact in outcome.facts}
    empty = sum(isinstance(outcome, Nothing) for outcome in outcomes)
    queued = sum(isinstance(outcome, Queued) for outcome in outcomes)
    parts = []
    if stored:
        parts.append(f"{counted(len(facts), 'fact')} from {counted(len(stored), 'conversation')} remembered for {user}")
    if empty:
        parts.append(f"{empty} held nothing new")
    if queued:
        parts.append(f"{queued} stored, to be extracted by: {suggested('retry', '--user', user)}")
    usage = sum((outcome.usage for outcome in outcomes if not isinstance(outcome, Queued)), Usage())
    if usage.calls:
        parts.append(spent(usage))
    click.echo("; ".join(parts), err=True)
