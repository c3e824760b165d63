"""`prospection doctor`: what is installed, what is stored, what failed, and what to do about it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from prospection import __version__
from prospection.cli.options import Place, as_json, model_options, path_of, print_json, settings_of, store_options
from prospection.cli.unread import not_english
from prospection.cli.words import suggested
from prospection.errors import ProspectionError
from prospection.types import SessionState

if TYPE_CHECKING:
    from rich.console import Console

    from prospection.config import Settings
    from prospection.sync import Memory

__all__ = ["doctor"]

_UNFINISHED = frozenset({SessionState.PENDING, SessionState.EXTRACTING, SessionState.FAILED})
_OF_ENGLISH = frozenset({"local"})
"""Encoders that read no other language."""
_PAGE = 500
_SHOWN = 20


@click.command()
@as_json
@model_options
@store_options
@click.option(
    "--user",
    metavar="NAME",
    envvar="PROSPECTION_USER",
    help="Look only at this person's memory.  [default: everyone's]",
)
def doctor(place: Place, user: str | None, json_: bool) -> None:
    """Say what is installed and stored, and what is wrong.

    Conversations that failed or still wait are listed, and facts that the encoder cannot read are counted. Exits with
    1 when the memory or the model cannot be opened.
    """
    settings = settings_of(place)
    path = path_of(settings)
    report: dict[str, Any] = {
        "version": __version__,
        "memory": str(path),
        "exists": path.is_file(),
        "encoder": settings.models.encoder,
        "model": settings.models.chat,
        "language_models_installed": find_spec("pydantic_ai") is not None,
        "statistics": {},
        "ceilings": settings.remember.budget.model_dump(),
        "spent_today": {},
        "unfinished": [],
        "warnings": [],
        "problems": list(_model_problems(settings)),
    }
    if path.exists():
        try:
            _look(report, settings, user, place.get("db"))
        except ProspectionError as error:
            report["problems"].append(str(error))
    if json_:
        print_json(report)
    else:
        _show(report)
    if report["problems"]:
        sys.exit(1)


def _model_problems(settings: Settings) -> Iterator[str]:
    """Yield what keeps the model from being opened. No endpoint is called, which would cost money."""
    from prospection.models.open import open_chat

    try:
        open_chat(settings.models)
    except ProspectionError as error:
        yield str(error)


def _look(report: dict[str, Any], settings: Settings, user: str | None, db: str | None) -> None:
    from prospection.serial import to_json
    from prospection.sync import Memory

    # Looking needs no model, and one that cannot be opened must not keep us from looking.
    without = {"chat": None, "base_url": None, "record": None, "replay": None}
    settings = settings.model_copy(update={"models": settings.models.model_copy(update=without)})
    with Memory(path_of(settings), settings=settings) as memory:
        counts = report["statistics"] = memory.statistics(user=user)
        report["spent_today"] = to_json(memory.usage(user=user))
        if any(counts[f"sessions_{state}"] for state in _UNFINISHED):
            report["unfinished"] = list(_unfinished(memory, user))
        if settings.models.encoder in _OF_ENGLISH:
            report["warnings"] += _unread(memory, user, settings.models.encoder, db)


def _unread(memory: Memory, only: str | None, encoder: str, db: str | None) -> Iterator[str]:
    """Yield a warning where an encoder of English cannot read some of the facts."""
    unread, facts = 0, 0
    for user in [only] if only is not None else _users(memory):
        after: str | None = None
        while page := memory.facts(user=user, after=after, limit=_PAGE):
            after = page[-1].fid
            facts += len(page)
            unread += not_english([fact.info for fact in page])
    if unread:
        there = ("--db", db) if db else ()
        yield (
            f"{unread:,} of {facts:,} facts are not in English, the only language that encoder {encoder!r} reads, and "
            "are hardly found by what they mean; encoder 'multilingual' reads sixteen languages: "
            "pip install 'prospection[multilingual]', then " + suggested("reembed", "--encoder", "multilingual", *there)
        )


def _unfinished(memory: Memory, only: str | None) -> Iterator[dict[str, Any]]:
    for user in [only] if only is not None else _users(memory):
        after: str | None = None
        while page := memory.sessions(user=user, states=_UNFINISHED, after=after, limit=_PAGE):
            after = page[-1].session.id
            for record in page:
                yield {
                    "user": user,
                    "session": record.session.id,
                    "state": record.state.value,
                    "attempts": record.attempts,
                    "retry_at": None if record.retry_at is None else record.retry_at.isoformat(),
                    "reason": record.reason,
                    "raw": record.raw,
                }


def _users(memory: Memory) -> Iterator[str]:
    after: str | None = None
    while page := memory.users(after=after, limit=_PAGE):
        after = page[-1]
        yield from page


def _spent(report: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what remembering has spent today and what it may."""
    spent = report["spent_today"]
    if spent.get("calls"):
        cost = "price unknown" if spent["cost"] is None else f"${spent['cost']:.4f}"
        tokens = spent["tokens_in"] + spent["tokens_out"]
        yield "spent today", f"{spent['calls']:,} calls, {tokens:,} tokens, {cost} on remembering (day of UTC)"
    names = {"day": "a day", "user": "a user and day", "run": "a run of the worker"}
    for key, ceilings in report["ceilings"].items():
        held = [
            f"{ceiling.removeprefix('max_')} {value:,g}" for ceiling, value in ceilings.items() if value is not None
        ]
        if held:
            yield f"ceiling for {names[key]}", ", ".join(held)


def _show(report: dict[str, Any]) -> None:
    from rich.table import Table
    from rich.text import Text

    from prospection.cli.show import console

    out = console()
    table = Table.grid(padding=(0, 2))
    table.add_row("prospection", report["version"])
    table.add_row("memory", report["memory"] + ("" if report["exists"] else "  (not made yet)"))
    table.add_row("encoder", report["encoder"])
    table.add_row("model", report["model"] or "none; recall works without one, answers need one (--model)")
    if not report["language_models_installed"]:
        table.add_row("", "to use one: pip install 'prospection[llm]'")
    for name, count in report["statistics"].items():
        if count or name in {"sessions", "facts"}:
            table.add_row(name.replace("_", " "), f"{count:,}")
    for name, words in _spent(report):
        table.add_row(name, words)
    out.print(table)
    _show_unfinished(out, report["unfinished"])
    for warning in report["warnings"]:
        out.print(Text(f"\nWarning: {warning}", style="yellow"))
    for problem in report["problems"]:
        out.print(Text(f"\nProblem: {problem}", style="red"))


def _show_unfinished(out: Console, unfinished: list[dict[str, Any]]) -> None:
    from rich.text import Text

    from prospection.cli.show import plain

    for entry in unfinished[:_SHOWN]:
        reason = f": {entry['reason']}" if entry["reason"] else ""
        again = f"; tried again at {entry['retry_at'][:16]} UTC" if entry["retry_at"] else ""
        what = f"\nconversation {entry['session']} of {entry['user']} is {entry['state']}{reason}{again}"
        out.print(Text(what, style="yellow"))
        if entry["raw"]:
            out.print(Text(f"the reply was: {plain(entry['raw'])[:200]}", style="dim"))
    if len(unfinished) > _SHOWN:
        out.print(f"... and {len(unfinished) - _SHOWN} more; see all with --json")
    for user in dict.fromkeys(entry["user"] for entry in unfinished[:_SHOWN]):
        out.print(Text(f"To extract them: {suggested('retry', '--user', user)}", style="yellow"))
