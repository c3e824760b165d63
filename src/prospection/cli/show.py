"""How recalls, facts and costs look in a terminal: values in, rich renderables out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from textwrap import shorten

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from prospection.recall.context import event_day
from prospection.recall.explain import Reach, finds_by_step
from prospection.types import Fact, Recall, ScoredFact, Trace, Usage

__all__ = ["console", "cost_line", "facts_table", "foresight_tree", "ranking", "recall_view"]

WIDTH = 110
IN_TREE = 150
"""Characters of a memory that a tree shows; lists show all of it."""


def console(*, stderr: bool = False) -> Console:
    """Return a console that is never wider than reads well."""
    found = Console(stderr=stderr, highlight=False)
    return found if found.width <= WIDTH else Console(stderr=stderr, highlight=False, width=WIDTH)


def foresight_tree(
    trace: Trace,
    *,
    infos: Mapping[str, Fact] | None = None,
    only: Collection[str] | None = None,
    barren: bool = False,
) -> Tree:
    """Return the tree of imagined steps with the returned memories that each one found.

    Args:
        infos: Facts by id, for their dates; without them texts alone are shown.
        only: Ids of the memories to show; None for all that were returned.
        barren: Show steps that found nothing, too.
    """
    known = infos or {}
    root = Tree(Text(trace.augmented or trace.query, style="bold"), guide_style="dim")
    branches: dict[tuple[int, str | None], Tree] = {}
    for found in finds_by_step(trace):
        finds = [reach for reach in found.finds if only is None or reach.fid in only]
        if not finds and not barren:
            continue
        if found.step is None:
            branch = root.add(Text("found by the words of the request", style="dim italic"))
            node = branch
        else:
            key = (found.step.round, found.step.theme)
            if found.step.theme is not None and key not in branches:
                round_ = f"  (round {found.step.round})" if found.step.round else ""
                branches[key] = root.add(Text(found.step.theme + round_, style="cyan"))
            node = branches.get(key, root).add(Text(found.step.text, style="italic" if finds else "dim italic"))
        for reach in finds:
            node.add(_found(reach, trace, known.get(reach.fid)))
    return root


def ranking(facts: Sequence[ScoredFact], *, marked: frozenset[str] = frozenset()) -> Table:
    """Return facts in order as a table without borders; `marked` ids get a star."""
    table = Table.grid(padding=(0, 1))
    table.add_column(justify="right", style="dim")
    table.add_column(width=1)
    table.add_column(ratio=1)
    for place, item in enumerate(facts, start=1):
        star = Text("★", style="green") if item.fid in marked else Text(" ")
        table.add_row(str(place), star, _statement(item.fact, strong=item.fid in marked))
    return table


def recall_view(recall: Recall) -> RenderableType:
    """Return a whole recall: the tree, the order, the summary, and what it cost."""
    parts: list[RenderableType] = []
    if recall.trace.steps:
        infos = {item.fid: item.fact for item in recall.facts}
        parts += [foresight_tree(recall.trace, infos=infos), ""]
    parts.append(Text(f"{len(recall.facts)} memories, most important first", style="bold"))
    parts.append(ranking(recall.facts))
    if recall.summary:
        parts += ["", Text("Outlook", style="bold"), Padding(Text(recall.summary), (0, 0, 0, 2))]
    for note in recall.trace.notes:
        parts.append(Text(note, style="yellow"))
    parts += [
        "",
        Text(cost_line(recall.trace.policy, recall.usage, recall.trace.seconds, recall.trace.id), style="dim"),
    ]
    return Group(*parts)


def facts_table(facts: Sequence[Fact]) -> Table:
    """Return facts as a table with id, date, kind and statement."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("id", "said", "kind", "statement"):
        table.add_column(name, ratio=1 if name == "statement" else None, no_wrap=name != "statement")
    for fact in facts:
        style = "dim strike" if fact.valid_until is not None else ""
        count = f"  ×{fact.frequency}" if fact.frequency > 1 else ""
        when = f"  [{event_day(fact.event_time)}]" if fact.event_time else ""
        statement = Text(_flat(fact.info), style=style) + Text(count + when, style="dim")
        table.add_row(fact.fid, _day(fact.said_at), str(fact.type or ""), statement)
    return table


def cost_line(policy: str, usage: Usage, seconds: float, trace: str) -> str:
    """Return one line on how a result came about."""
    cost = "" if not usage.calls else f", ${usage.cost:.4f}" if usage.cost is not None else ", price unknown"
    calls = f"{usage.calls} model call{'' if usage.calls == 1 else 's'}"
    tokens = f", {usage.tokens_in + usage.tokens_out} tokens" if usage.calls else ""
    return f"policy {policy}, {calls}{tokens}{cost}, {seconds:.2f} s; trace {trace}"


def _found(reach: Reach, trace: Trace, fact: Fact | None) -> Text:
    text = Text("● ", style="green")
    info = shorten(_flat(trace.facts.get(reach.fid, reach.fid)), IN_TREE, placeholder=" …")
    text += Text(info) if fact is None else _statement(replace(fact, info=info))
    text.append(f"  {reach.similarity:.2f}", style="dim")
    if reach.cue is not None:
        text.append(f"  through “{reach.cue}”", style="dim")
    return text


def _statement(fact: Fact, *, strong: bool = False) -> Text:
    text = Text(_flat(fact.info), style="bold" if strong else "")
    text.append(f"  {fact.fid}", style="dim")
    if fact.said_at is not None:
        text.append(f", {_day(fact.said_at)}", style="dim")
    return text


def _day(instant: datetime | None) -> str:
    return f"{instant:%Y-%m-%d}" if instant else ""


def _flat(text: str) -> str:
    return " ".join(text.split())
