"""How recalls, facts and costs look in a terminal: values in, rich renderables out."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from prospection.recall.context import event_day
from prospection.recall.explain import finds_by_step
from prospection.types import Fact, Reach, Recall, ScoredFact, Trace, Usage

__all__ = [
    "console",
    "context_view",
    "cost_line",
    "cut",
    "facts_table",
    "foresight_tree",
    "plain",
    "ranking",
    "recall_view",
]

WIDTH = 110
IN_TREE = 150
"""Characters of a memory that a tree shows; lists show all of it."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def console(*, stderr: bool = False) -> Console:
    """Return a console that is never wider than reads well and takes text for text, not for markup."""
    found = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    found.width = min(found.width, WIDTH)
    return found


def plain(text: str) -> str:
    """Return text on one line, without characters that would steer the terminal."""
    return " ".join(_CONTROL.sub("", text).split())


def cut(text: str, limit: int) -> str:
    """Return the text, or as much of it as `limit` characters hold, ended at a space where there is one near."""
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    space = head.rfind(" ", limit * 2 // 3)
    return head[: space if space > 0 else None].rstrip(" ,;:-") + "…"


def foresight_tree(
    trace: Trace,
    *,
    infos: Mapping[str, Fact] | None = None,
    only: Collection[str] | None = None,
    marked: Collection[str] = (),
    limit: int = IN_TREE,
    barren: bool = False,
) -> Tree:
    """Return the tree of imagined steps with the returned memories that each one found.

    Args:
        infos: Facts by id, for their dates; without them texts alone are shown.
        only: Ids of the memories to show; None for all that were returned.
        marked: Ids of the memories that get a star.
        limit: Characters of a memory that are shown.
        barren: Show steps that found nothing, too.
    """
    known = infos or {}
    root = Tree(Text(plain(trace.augmented or trace.query), style="bold"), guide_style="dim")
    branches: dict[tuple[int, str | None], Tree] = {}
    for found in finds_by_step(trace):
        finds = [reach for reach in found.finds if only is None or reach.fid in only]
        if not finds and not barren:
            continue
        if found.step is None:
            node = root.add(Text("found by the words of the request", style="dim italic"))
        else:
            key = (found.step.round, found.step.theme)
            if found.step.theme is not None and key not in branches:
                round_ = f"  (round {found.step.round})" if found.step.round else ""
                branches[key] = root.add(Text(plain(found.step.theme) + round_, style="cyan"))
            style = "italic" if finds else "dim italic"
            node = branches.get(key, root).add(Text(plain(found.step.text), style=style))
        for reach in finds:
            node.add(_found(reach, trace, known.get(reach.fid), limit, strong=reach.fid in marked))
    return root


def ranking(facts: Sequence[ScoredFact], *, marked: Collection[str] = (), limit: int | None = None) -> Table:
    """Return facts in order as a table without borders, with the reasons for them where there are some.

    Args:
        marked: Ids that get a star.
        limit: Characters of a fact that are shown; None for all.
    """
    table = Table.grid(padding=(0, 1))
    table.add_column(justify="right", style="dim")
    if marked:
        table.add_column(width=1)
    table.add_column(ratio=1, overflow="fold")  # Chinese and Japanese have no spaces to break a line at
    for place, item in enumerate(facts, start=1):
        strong = item.fid in marked
        statement = _statement(item.fact, limit=limit, strong=strong)
        if item.reason:
            statement.append(f"\n{plain(item.reason)}", style="cyan")
        star = [Text("★" if strong else " ", style="green")] if marked else []
        table.add_row(str(place), *star, statement)
    return table


def context_view(context: str) -> Text:
    """Return a context with each of its lines cut to the width of the terminal."""
    return Text("\n".join(plain(line) for line in context.splitlines()), style="dim", no_wrap=True, overflow="ellipsis")


def recall_view(recall: Recall) -> RenderableType:
    """Return a whole recall: the tree, the order, the summary, and what it cost."""
    parts: list[RenderableType] = []
    if recall.trace.steps:
        infos = {item.fid: item.fact for item in recall.facts}
        parts += [foresight_tree(recall.trace, infos=infos), ""]
    match len(recall.facts):
        case 0:
            parts.append(Text("Nothing in memory speaks to this request.", style="bold"))
        case 1:
            parts.append(Text("1 memory", style="bold"))
        case count:
            parts.append(Text(f"{count} memories, most important first", style="bold"))
    parts.append(ranking(recall.facts))
    if recall.summary:
        parts += ["", Text("Outlook", style="bold"), Padding(Text(recall.summary), (0, 0, 0, 2))]
    if recall.partial:
        parts.append(Text(f"\nNot the whole result: {recall.partial}", style="yellow"))
    parts += [Text(note, style="yellow") for note in recall.trace.notes]
    parts += [
        "",
        Text(cost_line(recall.trace.policy, recall.usage, recall.trace.seconds, recall.trace.id), style="dim"),
    ]
    return Group(*parts)


def facts_table(facts: Sequence[Fact]) -> Table:
    """Return facts as a table with id, date, kind and statement."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("id", "said", "kind", "statement"):
        if name == "statement":
            table.add_column(name, ratio=1, overflow="fold")
        else:
            table.add_column(name, no_wrap=True)
    for fact in facts:
        style = "dim strike" if fact.valid_until is not None else ""
        count = f"  ×{fact.frequency}" if fact.frequency > 1 else ""
        when = f"  [{event_day(fact.event_time)}]" if fact.event_time else ""
        pin = "  pinned" if fact.pinned and fact.valid_until is None else ""
        statement = Text(plain(fact.info), style=style) + Text(count + when + pin, style="dim")
        table.add_row(fact.fid, _day(fact.said_at), str(fact.type or ""), statement)
    return table


def cost_line(policy: str, usage: Usage, seconds: float, trace: str | None = None) -> str:
    """Return one line on how a result came about."""
    cost = "" if not usage.calls else f", ${usage.cost:.4f}" if usage.cost is not None else ", price unknown"
    calls = f"{usage.calls or 'no'} model call{'' if usage.calls == 1 else 's'}"
    tokens = f", {usage.tokens_in + usage.tokens_out} tokens" if usage.calls else ""
    return f"policy {policy}, {calls}{tokens}{cost}, {seconds:.2f} s" + (f", trace {trace}" if trace else "")


def _found(reach: Reach, trace: Trace, fact: Fact | None, limit: int, *, strong: bool) -> Text:
    text = Text("★ " if strong else "● ", style="green")
    known = Fact(fid=reach.fid, info=trace.facts.get(reach.fid, "")) if fact is None else fact
    text += _statement(known, limit=limit, strong=strong)
    text.append(f"  {reach.similarity:.2f}", style="dim")
    if reach.cue is not None:
        text.append(f"  through “{plain(reach.cue)}”", style="dim")
    return text


def _statement(fact: Fact, *, limit: int | None = None, strong: bool = False) -> Text:
    info = plain(fact.info)
    text = Text(info if limit is None else cut(info, limit), style="bold" if strong else "")
    text.append(f"  {fact.fid}", style="dim")
    if fact.said_at is not None:
        text.append(f", {_day(fact.said_at)}", style="dim")
    return text


def _day(instant: datetime | None) -> str:
    return f"{instant:%Y-%m-%d}" if instant else ""
