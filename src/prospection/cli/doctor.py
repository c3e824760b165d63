"""`prospection doctor`: what is installed, what is stored, what failed, and what to do about it."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import click

from prospection import __version__
from prospection.cli.options import (
    Place,
    as_json,
    memory_options,
    model_options,
    open_memory,
    path_of,
    print_json,
    settings_of,
)
from prospection.types import SessionState

__all__ = ["doctor"]

_UNFINISHED = frozenset({SessionState.PENDING, SessionState.EXTRACTING, SessionState.FAILED})


@click.command()
@as_json
@model_options
@memory_options
def doctor(place: Place, user: str, json_: bool) -> None:
    """Say what is installed and stored, and list conversations that failed or still wait."""
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
        "unfinished": [],
    }
    if path.is_file():
        with open_memory(place) as memory:
            report["statistics"] = memory.statistics()
            report["users"] = len(memory.users(limit=1_000_000))
            report["unfinished"] = [
                {
                    "user": user,
                    "session": record.session.id,
                    "state": record.state.value,
                    "attempts": record.attempts,
                    "reason": record.reason,
                    "raw": record.raw,
                }
                for record in memory.sessions(user=user, states=_UNFINISHED, limit=1000)
            ]
    if json_:
        print_json(report)
    else:
        _show(report, user)


def _show(report: dict[str, Any], user: str) -> None:
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
        table.add_row(name.replace("_", " "), str(count))
    out.print(table)
    for entry in report["unfinished"]:
        reason = f": {entry['reason']}" if entry["reason"] else ""
        out.print(Text(f"session {entry['session']} of {user} is {entry['state']}{reason}", style="yellow"))
        if entry["raw"]:
            out.print(Text(f"  last reply: {entry['raw'][:200]!r}", style="dim"))
    if report["unfinished"]:
        out.print(f"Run `prospection retry --user {user}` to extract them again.")
