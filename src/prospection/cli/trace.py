"""`prospection trace`: the story of a recall, as it was recorded."""

from __future__ import annotations

import click

from prospection.cli.options import Place, as_json, memory_options, open_memory, print_json
from prospection.types import Trace

__all__ = ["trace"]


@click.command()
@click.argument("trace_id", metavar="[ID]", required=False)
@click.option("--fact", metavar="ID", help="Show every way in which this fact was reached.")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Traces to list.")
@as_json
@memory_options
def trace(place: Place, user: str, trace_id: str | None, fact: str | None, limit: int, json_: bool) -> None:
    """List the latest recalls, or show one: its steps, what each found, and every call to the model.

    With --fact and no ID, the latest recall is meant.
    """
    with open_memory(place) as memory:
        if trace_id is None and fact is None:
            _list(memory.traces(user=user, limit=limit), user, json_)
            return
        latest = memory.traces(user=user, limit=1) if trace_id is None else []
        found = memory.trace(trace_id, user=user) if trace_id else (latest[0] if latest else None)
        if found is None:
            raise click.ClickException(
                f"{user} has no trace {trace_id!r}; list them with: prospection trace --user {user}"
                if trace_id
                else f"{user} has no traces; make one with: prospection recall QUERY --user {user}"
            )
    if fact is not None:
        _explain(found, fact, json_)
    elif json_:
        from prospection.serial import to_json

        print_json(to_json(found))
    else:
        _show(found)


def _list(traces: list[Trace], user: str, json_: bool) -> None:
    if json_:
        print_json([
            {"id": item.id, "at": item.at.isoformat(), "policy": item.policy, "query": item.query,
             "facts": len(item.returned), "llm_calls": item.usage.calls}
            for item in traces
        ])  # fmt: skip
        return
    if not traces:
        click.echo(f"{user} has no traces; make one with: prospection recall QUERY --user {user}", err=True)
        return
    from rich.table import Table

    from prospection.cli.show import console

    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("id", "asked at", "policy", "facts", "calls", "query"):
        table.add_column(name, no_wrap=name != "query", justify="right" if name in {"facts", "calls"} else "left")
    for item in traces:
        table.add_row(
            item.id,
            f"{item.at:%Y-%m-%d %H:%M}",
            item.policy,
            str(len(item.returned)),
            str(item.usage.calls),
            item.query,
        )
    console().print(table)


def _show(trace: Trace) -> None:
    from rich.table import Table
    from rich.text import Text

    from prospection.cli.show import console, cost_line, foresight_tree

    out = console()
    out.print(foresight_tree(trace, barren=True))
    if trace.summary:
        out.print(Text(f"\nOutlook\n{trace.summary}"))
    if trace.stages:
        out.print(Text("\nCalls to the model", style="bold"))
        table = Table(box=None, pad_edge=False, header_style="dim")
        for name in ("round", "stage", "model", "prompt", "tokens", "seconds", ""):
            table.add_column(name, justify="right" if name in {"round", "tokens", "seconds"} else "left")
        for stage in trace.stages:
            tokens = f"{stage.usage.tokens_in} + {stage.usage.tokens_out}"
            row = (str(stage.round), stage.stage, stage.model, stage.prompt, tokens, f"{stage.usage.seconds:.2f}")
            table.add_row(*row, Text(stage.error or "", style="red"))
        out.print(table)
    for note in trace.notes:
        out.print(Text(note, style="yellow"))
    out.print(Text(cost_line(trace.policy, trace.usage, trace.seconds, trace.id), style="dim"))


def _explain(trace: Trace, fid: str, json_: bool) -> None:
    from prospection.recall.explain import explain
    from prospection.serial import to_json

    ways = explain(trace, fid)
    place = next((place for place, (found, _) in enumerate(trace.returned, start=1) if found == fid), None)
    if json_:
        print_json({"fact": fid, "info": trace.facts.get(fid), "place": place, "ways": to_json(ways)})
        return
    if not ways and place is None:
        click.echo(f"No probe of this recall reached {fid}: {len(trace.searches)} probes were made.")
        return
    from rich.text import Text
    from rich.tree import Tree

    from prospection.cli.show import console

    head = f"returned at place {place}" if place else "reached, but not returned"
    root = Tree(
        Text(f"{fid}  {trace.facts.get(fid, '')}", style="bold") + Text(f"\n{head}", style="dim"), guide_style="dim"
    )
    for way in ways[:10]:
        line = Text(f"{way.probe.kind.replace('_', ' ')}: ", style="cyan") + Text(way.probe.text)
        node = root.add(line + Text(f"  place {way.rank}, similarity {way.similarity:.2f}", style="dim"))
        if way.cue is not None:
            node.add(Text(f"through the cue “{way.cue}”", style="dim"))
        if way.step is not None and way.step.theme is not None:
            node.add(Text(f"imagined under “{way.step.theme}”, round {way.step.round}", style="dim"))
    if len(ways) > 10:
        root.add(Text(f"and {len(ways) - 10} more ways", style="dim"))
    console().print(root)
