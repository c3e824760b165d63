"""`prospection demo`: a person's conversations, a request, and what each way of remembering brings to it.

The conversations and the marks of what each request needs come with the package; everything else is worked out on the
spot, by the same calls that any program would make.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from datetime import datetime
from importlib import resources
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import click

from prospection.cli.options import Place, model_options, placed, progress_bars, settings_of

if TYPE_CHECKING:
    from rich.console import RenderableType

    from prospection.config import Settings
    from prospection.sync import Memory
    from prospection.types import Fact, Outcome, Recall, ScoredFact

__all__ = ["demo"]

USER = "demo"
SHOWN = 8
SHORT = 125
"""Characters of a memory that the demo shows."""


@click.command()
@click.option(
    "--request", "number", metavar="N", type=int, default=4, show_default=True, help="Which of the person's requests."
)
@click.option("--all", "every", is_flag=True, help="Show how every request fares, without the memories.")
@model_options
@placed
def demo(place: Place, number: int, every: bool) -> None:
    """Show what similarity finds and what thinking ahead finds.

    A year and a half of one person's conversations is remembered, then one of his requests is made. Needs no key, no
    service and no network. With --model, that model does the thinking ahead.
    """
    from prospection.cli.show import console

    story = json.loads(resources.files(__package__).joinpath("demo.json").read_text(encoding="utf-8"))
    requests = story["requests"]
    if not 1 <= number <= len(requests):
        raise click.BadParameter(f"there are {len(requests)} requests; choose from 1 to {len(requests)}")
    settings = settings_of(place)
    out = console()
    with tempfile.TemporaryDirectory(prefix="prospection-demo-") as folder:
        path = Path(folder) / "memory.db"
        started = perf_counter()
        facts = _remember(path, story, settings)
        seconds = perf_counter() - started
        from prospection.sync import Memory

        with Memory(path, settings=settings) as memory:
            if every:
                out.print(_scoreboard(memory, requests, story["zone"]))
                return
            request = requests[number - 1]
            at = _at(request, story["zone"])
            near = memory.recall(request["query"], user=USER, at=at, policy="direct")
            ahead = memory.recall(request["query"], user=USER, at=at)
    out.print(_view(story, request, facts, seconds, near, ahead))


def _remember(path: Path, story: dict[str, Any], settings: Settings) -> int:
    """Store the conversations with the rules as extractor: the demo is about recalling, and this costs no call."""
    from prospection.sync import Memory
    from prospection.types import Stored

    without = settings.model_copy(
        update={"models": settings.models.model_copy(update={"chat": None, "base_url": None})}
    )
    outcomes: list[Outcome] = []
    with Memory(path, settings=without) as memory, progress_bars("Remembering") as (progress,):
        for done, session in enumerate(story["sessions"]):
            progress(done, len(story["sessions"]))
            at = datetime.fromisoformat(f"{session['date']}T{session['time']}").replace(tzinfo=ZoneInfo(story["zone"]))
            outcomes.append(
                memory.add(session["messages"], user=USER, session=session["session_id"], at=at, zone=story["zone"])
            )
    return len({fact.fid for outcome in outcomes if isinstance(outcome, Stored) for fact in outcome.facts})


def _at(request: dict[str, Any], zone: str) -> datetime:
    return datetime.fromisoformat(request["date"]).replace(hour=9, tzinfo=ZoneInfo(zone))


def _needed(facts: Sequence[ScoredFact], request: dict[str, Any]) -> dict[str, int]:
    """Return which facts hold what the request needs, in their order: fact id to place in the list of needs."""
    found: dict[str, int] = {}
    for item in facts:
        for place, need in enumerate(request["needed"]):
            if place not in found.values() and _says(item.fact, need):
                found[item.fid] = place
                break
    return found


def _says(fact: Fact, need: dict[str, Any]) -> bool:
    return any((source.session, source.message) == (need["session"], need["message"]) for source in fact.provenance)


def _view(
    story: dict[str, Any], request: dict[str, Any], facts: int, seconds: float, near: Recall, ahead: Recall
) -> RenderableType:
    from rich import box
    from rich.console import Group
    from rich.padding import Padding
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    from prospection.cli.show import context_view, cost_line, foresight_tree, ranking
    from prospection.recall.context import render_context

    top_near, top_ahead = near.facts[:SHOWN], ahead.facts[:SHOWN]
    needed_near, needed_ahead = _needed(top_near, request), _needed(top_ahead, request)
    total = len(request["needed"])
    sides = Table(expand=True, padding=(0, 1), border_style="dim", box=box.ROUNDED)
    for title, found in (("Similarity alone", needed_near), ("Thinking ahead", needed_ahead)):
        head = f"{title}: {len(found)} of the {total} needed"
        sides.add_column(Text(head, style="bold green" if found else "bold red"), ratio=1)
    sides.add_row(
        ranking(top_near, marked=needed_near, limit=SHORT), ranking(top_ahead, marked=needed_ahead, limit=SHORT)
    )
    tree = foresight_tree(
        ahead.trace,
        infos={item.fid: item.fact for item in top_ahead},
        only={item.fid for item in top_ahead},
        marked=needed_ahead,
        limit=SHORT,
    )
    reasons = [Text(f"★ {request['needed'][place]['why']}") for place in needed_ahead.values()]
    return Group(
        Text(f"\n{story['about']}", style="dim"),
        Text(f"{len(story['sessions'])} conversations became {facts} memories in {seconds:.1f} s.", style="dim"),
        Panel(Text(request["query"], style="bold"), title=f"asked on {request['date']}", title_align="left"),
        sides,
        Text("\nWhat the starred memories mean for the answer", style="bold"),
        Padding(Group(*reasons), (0, 0, 0, 2)),
        Text("\nHow thinking ahead got there: what it imagined, and the memories that this reached\n", style="bold"),
        tree,
        Text("\nWhat an assistant would be given (lines cut here)\n", style="bold"),
        Padding(context_view(render_context(top_ahead, summary=ahead.summary, max_tokens=1000)), (0, 0, 0, 2)),
        Text("\n" + cost_line(ahead.trace.policy, ahead.usage, ahead.trace.seconds), style="dim"),
        Text("\nNow yours:  prospection add chat.json", style="cyan"),
        Text('            prospection recall "Plan two weeks in Italy"', style="cyan"),
    )


def _scoreboard(memory: Memory, requests: Sequence[dict[str, Any]], zone: str) -> RenderableType:
    from rich import box
    from rich.table import Table

    from prospection.cli.show import cut

    table = Table(title=f"Needed memories among the first {SHOWN}", title_justify="left", box=box.SIMPLE_HEAD)
    for name in ("#", "request", "needed", "similarity", "thinking ahead"):
        table.add_column(name, justify="left" if name == "request" else "right")
    totals = [0, 0, 0]
    for number, request in enumerate(requests, start=1):
        at = _at(request, zone)
        found = [
            len(_needed(memory.recall(request["query"], user=USER, at=at, policy=policy).facts[:SHOWN], request))
            for policy in ("direct", None)
        ]
        counts = [len(request["needed"]), *found]
        totals = [total + count for total, count in zip(totals, counts, strict=True)]
        table.add_row(str(number), cut(request["query"], 60), *map(str, counts))
    table.add_section()
    table.add_row("", "all", *map(str, totals))
    return table
