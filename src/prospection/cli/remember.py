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
    progress_bar,
    zone_of,
)
from prospection.types import Failed, Nothing, Outcome, Queued, Stored, Usage

__all__ = ["add", "retry"]


@click.command()
@click.argument("file", metavar="FILE")
@click.option("--session", metavar="ID", help="Name of the conversation.  [default: the file's, or one by content]")
@click.option("--at", metavar="TIME", help="When it took place, in ISO form.  [default: as the file says, or now]")
@click.option("--zone", default="UTC", show_default=True, help="The person's time zone, as Europe/Zurich.")
@click.option("--queue", is_flag=True, help="Only store it; extract later with `prospection retry`.")
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
    with open_memory(place) as memory, progress_bar("Remembering") as progress:
        for done, transcript in enumerate(transcripts):
            progress(done, len(transcripts))
            outcomes.append(
                memory.add(
                    transcript.messages,
                    user=user,
                    session=session or transcript.id,
                    at=when or transcript.at or datetime.now(UTC),
                    zone=zone,
                    wait=not queue,
                )
            )
    _report(outcomes, user, json_)


@click.command()
@as_json
@model_options
@memory_options
def retry(place: Place, user: str, json_: bool) -> None:
    """Extract the conversations that failed or still wait."""
    with open_memory(place) as memory, progress_bar("Remembering") as progress:
        outcomes = memory.retry(user=user, progress=progress)
    _report(outcomes, user, json_)


def _read(file: str) -> str:
    if file == "-":
        return sys.stdin.read()
    path = Path(file)
    try:
        return path.read_text(encoding="utf-8")
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
        click.echo(f"Error: session {outcome.session!r}: {outcome.reason}", err=True)
    if failed:
        click.echo(
            f"Nothing is lost: {len(failed)} session(s) are kept. Run `prospection retry --user {user}` to try again.",
            err=True,
        )
        sys.exit(1)


def _talk(outcomes: Sequence[Outcome], user: str) -> None:
    if not outcomes:
        click.echo(f"No session of {user} waits or failed.", err=True)
        return
    stored = [outcome for outcome in outcomes if isinstance(outcome, Stored)]
    facts = {fact.fid for outcome in stored for fact in outcome.facts}
    empty = sum(isinstance(outcome, Nothing) for outcome in outcomes)
    queued = sum(isinstance(outcome, Queued) for outcome in outcomes)
    parts = [f"{len(facts)} facts from {len(stored)} session(s) remembered for {user}"]
    if empty:
        parts.append(f"{empty} held nothing new")
    if queued:
        parts.append(f"{queued} wait for `prospection retry`")
    usage = sum((outcome.usage for outcome in outcomes if not isinstance(outcome, Queued)), Usage())
    if usage.calls:
        cost = "price unknown" if usage.cost is None else f"${usage.cost:.4f}"
        parts.append(f"{usage.calls} model calls, {usage.tokens_in + usage.tokens_out} tokens, {cost}")
    click.echo("; ".join(parts) + ".", err=True)
