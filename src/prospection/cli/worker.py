"""`prospection worker`: conversations that wait, of all users, into memory."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import TYPE_CHECKING

import click

from prospection.cli.options import (
    Place,
    as_json,
    model_options,
    open_memory,
    print_value,
    progress_bars,
    store_options,
)
from prospection.cli.words import spent
from prospection.config import RememberSettings
from prospection.types import Failed, Outcome, Queued, Stored, Usage, Work

if TYPE_CHECKING:
    from prospection.protocols import Progress

__all__ = ["worker"]


@click.command()
@click.option("--once", is_flag=True, help="End when nothing is left to do.")
@click.option(
    "--concurrency",
    type=click.IntRange(1, 256),
    help=f"Conversations at a time.  [default: {RememberSettings().concurrency}]",
)
@as_json
@model_options
@store_options
def worker(place: Place, once: bool, concurrency: int | None, json_: bool) -> None:
    """Extract the conversations of all users that wait.

    Runs until it is stopped (Ctrl-C or SIGTERM); what is under way then waits again. What fails is tried again later,
    a few times. Ceilings for a day, a user and a run are settings: remember.budget.
    """
    with open_memory(place) as memory, progress_bars("Remembering") as (progress,), _terminable():
        counts = memory.statistics()
        tally = _Tally(progress, counts["sessions_pending"])
        try:
            work = memory.work(once=once, concurrency=concurrency, told=tally.hear)
        except _Terminated:
            work = replace(tally.work, stopped="it was told to stop; what was under way waits again")
    if json_:
        print_value(work)
    else:
        _talk(work)
    if work.failed:
        sys.exit(1)


class _Terminated(KeyboardInterrupt):
    """SIGTERM, which ends the work as Ctrl-C does, but is no failure."""


@dataclass(slots=True)
class _Tally:
    """What has been done so far, for the bar and for work that is stopped."""

    progress: Progress
    waiting: int
    heard: int = 0
    work: Work = field(default_factory=Work)

    def hear(self, user: str, outcome: Outcome) -> None:
        self.heard += 1
        self.progress(self.heard, max(self.waiting, self.heard))
        usage = Usage() if isinstance(outcome, Queued) else outcome.usage
        done = replace(self.work, usage=self.work.usage + usage)
        if isinstance(outcome, Failed):
            click.echo(f"Conversation {outcome.session!r} of {user}: {outcome.reason}", err=True)
            done = replace(done, failed=done.failed + 1)
        else:
            facts = len(outcome.facts) if isinstance(outcome, Stored) else 0
            done = replace(done, sessions=done.sessions + 1, facts=done.facts + facts)
        self.work = done


@contextmanager
def _terminable() -> Iterator[None]:
    def stop(_: int, __: FrameType | None) -> None:
        raise _Terminated

    former = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)


def _talk(work: Work) -> None:
    parts = [f"{work.facts} facts from {work.sessions} conversations"]
    if work.failed:
        parts.append(f"{work.failed} attempts failed and are kept (see: prospection doctor)")
    if work.usage.calls:
        parts.append(spent(work.usage))
    if work.stopped:
        parts.append(f"stopped: {work.stopped}")
    click.echo("; ".join(parts), err=True)
