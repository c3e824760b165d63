"""`prospection trace`: the story of a recall, as it was recorded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from prospection.cli.options import Place, as_json, memory_options, open_memory, print_json, print_value
from prospection.cli.words import suggested
from prospection.types import Trace

if TYPE_CHECKING:
    from prospection.recall.compare import Comparison
    from prospection.recall.replay import Replayed
    from prospection.recall.why import Why

__all__ = ["trace"]


@click.command()
@click.argument("trace_id", metavar="[ID]", required=False)
@click.option("--fact", metavar="ID", help="Show how this fact was reached, or why it was not returned.")
@click.option("--replay", is_flag=True, help="Run it again over memory as it is now, without a model.")
@click.option("--limit", metavar="N", type=click.IntRange(min=1), default=20, show_default=True, help="Traces to list.")
@as_json
@memory_options
def trace(
    place: Place, user: str, trace_id: str | None, fact: str | None, replay: bool, limit: int, json_: bool
) -> None:
    """List the latest recalls, or show how one of them went.

    Shows its steps, what each found, every call to the model, and a second policy that ran in its shadow. With --fact
    or --replay and no ID, the latest recall is meant.
    """
    with open_memory(place) as memory:
        if trace_id is None and fact is None and not replay:
            _list(memory.traces(user=user, limit=limit), user, json_)
            return
        found = memory.trace(trace_id, user=user)
        if found is None:
            raise click.ClickException(
                f"{user} has no trace {trace_id!r}; list them with: {suggested('trace', '--user', user)}"
                if trace_id
                else f"{user} has no traces; make one with: {suggested('recall', 'QUERY', '--user', user)}"
            )
        if fact is not None:
            _explain(memory.explain(fact, user=user, trace_id=found.id), json_)
            return
        if replay:
            _replay(found, memory.replay(found.id, user=user), json_)
            return
    if json_:
        print_value(found)
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
        click.echo(f"{user} has no traces; make one with: {suggested('recall', 'QUERY', '--user', user)}", err=True)
        return
    from rich.table import Table

    from prospection.cli.show import console, plain

    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("id", "asked at", "policy", "facts", "calls", "query"):
        right = name in {"facts", "calls"}
        table.add_column(name, no_wrap=name != "query", overflow="fold", justify="right" if right else "left")
    for item in traces:
        table.add_row(
            item.id,
            f"{item.at:%Y-%m-%d %H:%M}",
            item.policy,
            str(len(item.returned)),
            str(item.usage.calls),
            plain(item.query),
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
    if trace.shadow is not None:
        _shadow(trace, trace.shadow)


def _explain(found: Why, json_: bool) -> None:
    if json_:
        from prospection.serial import to_json

        data = to_json(found)
        print_json({"fact": data.pop("fid"), **data})
        return
    from rich.text import Text
    from rich.tree import Tree

    from prospection.cli.show import console

    root = Tree(Text(f"{found.fid}  {found.info or ''}", style="bold") + Text(f"\n{found.sentence}"), guide_style="dim")
    for way in found.ways[:10]:
        line = Text(f"{way.probe.kind.replace('_', ' ')}: ", style="cyan") + Text(way.probe.text)
        node = root.add(line + Text(f"  place {way.rank}, similarity {way.similarity:.2f}", style="dim"))
        if way.cue is not None:
            node.add(Text(f"through the cue “{way.cue}”", style="dim"))
        if way.step is not None and way.step.theme is not None:
            node.add(Text(f"imagined under “{way.step.theme}”, round {way.step.round}", style="dim"))
    if len(found.ways) > 10:
        root.add(Text(f"and {len(found.ways) - 10} more ways", style="dim"))
    console().print(root)


def _replay(recorded: Trace, found: Replayed, json_: bool) -> None:
    if json_:
        print_value(found)
        return
    from rich.text import Text

    from prospection.cli.show import console

    out = console()
    for line in found.differences:
        out.print(Text(line, style="yellow"))
    infos = {**recorded.facts, **found.recall.trace.facts}
    _differences(found.changes, infos, ("returned then and now", "only then", "only now"))


def _differences(found: Comparison, infos: Mapping[str, str], names: tuple[str, str, str]) -> None:
    from rich.text import Text

    from prospection.cli.show import console

    out = console()
    for name, fids in zip(names, (found.both, found.first_only, found.second_only), strict=True):
        out.print(Text(f"{len(fids)} {name}", style="bold" if fids else "dim"))
        if fids is not found.both:
            for fid in fids:
                out.print(Text(f"  {fid}  {' '.join(infos.get(fid, '').split())}"))


def _shadow(trace: Trace, shadow: Trace) -> None:
    from rich.text import Text

    from prospection.cli.show import console, cost_line
    from prospection.recall.compare import compare

    found = compare(trace, shadow)
    out = console()
    out.print(Text(f"\nIn its shadow: {shadow.policy}, overlap {found.overlap:.2f}", style="bold"))
    names = ("found by both", f"only by {trace.policy}", f"only by {shadow.policy}")
    _differences(found, {**shadow.facts, **trace.facts}, names)
    for note in shadow.notes:
        out.print(Text(note, style="yellow"))
    out.print(Text(cost_line(shadow.policy, shadow.usage, shadow.seconds, shadow.id), style="dim"))
