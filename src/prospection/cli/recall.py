"""`prospection recall` and `prospection ask`: what memory says about a request, and an answer that stands on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import click

from prospection.cli.options import (
    Place,
    as_json,
    instant,
    memory_options,
    model_options,
    open_memory,
    print_json,
    settings_of,
)
from prospection.types import Budget

__all__ = ["ask", "recall"]

R = TypeVar("R")


def _request(command: Callable[..., R]) -> Callable[..., R]:
    for option in (
        click.option("--deadline", type=float, metavar="SECONDS", help="At most so long; then the best so far."),
        click.option("--max-calls", type=int, metavar="N", help="At most so many calls to the model."),
        click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Memories to return."),
        click.option("--policy", metavar="NAME", help="How to search: pgr, library, hybrid, direct or lexical."),
        click.option("--zone", default="UTC", show_default=True, help="Time zone of --at where it names none."),
        click.option("--at", metavar="TIME", help="Memory as it stood then, in ISO form.  [default: now]"),
        click.argument("query"),
    ):
        command = option(command)
    return command


@click.command()
@_request
@click.option("--context", is_flag=True, help="Print only the context to put before an assistant.")
@as_json
@model_options
@memory_options
def recall(
    place: Place,
    user: str,
    query: str,
    at: str | None,
    zone: str,
    policy: str | None,
    limit: int | None,
    max_calls: int | None,
    deadline: float | None,
    context: bool,
    json_: bool,
) -> None:
    """Find the memories that an answer to QUERY has to respect."""
    budget = _budget(max_calls, deadline)
    with open_memory(place) as memory:
        found = memory.recall(query, user=user, at=instant(at, zone), policy=policy, limit=limit, budget=budget)
    if json_:
        from prospection.serial import to_json

        print_json(to_json(found))
    elif context:
        click.echo(found.context)
    else:
        from prospection.cli.show import console, recall_view

        console().print(recall_view(found))


@click.command()
@_request
@as_json
@model_options
@memory_options
def ask(
    place: Place,
    user: str,
    query: str,
    at: str | None,
    zone: str,
    policy: str | None,
    limit: int | None,
    max_calls: int | None,
    deadline: float | None,
    json_: bool,
) -> None:
    """Answer QUERY from memory, citing facts.

    Without a language model it prints the context that a model would have been given.
    """
    budget = _budget(max_calls, deadline)
    models = settings_of(place).models
    when = instant(at, zone)
    with open_memory(place) as memory:
        if models.chat is None and models.replay is None:
            found = memory.recall(query, user=user, at=when, policy=policy, limit=limit, budget=budget)
            click.echo(
                "No language model is set, so this is the context it would have been given. For an answer, add "
                "--model openai:gpt-4o (with OPENAI_API_KEY), or --model NAME --base-url http://127.0.0.1:11434/v1 "
                "for a local one.",
                err=True,
            )
            if json_:
                from prospection.serial import to_json

                print_json({"text": None, "citations": [], "recall": to_json(found)})
            else:
                click.echo(found.context)
            return
        answer = memory.answer(query, user=user, at=when, policy=policy, limit=limit, budget=budget)
    if json_:
        from prospection.serial import to_json

        print_json(to_json(answer))
        return
    from rich.text import Text

    from prospection.cli.show import console, cost_line, ranking

    out = console()
    out.print(Text(answer.text))
    cited = [item for fid in answer.citations for item in answer.recall.facts if item.fid == fid]
    if cited:
        out.print(Text("\nIt stands on", style="bold"))
        out.print(ranking(cited))
    trace = answer.recall.trace
    console(stderr=True).print(Text(cost_line(trace.policy, answer.usage, answer.usage.seconds, trace.id), style="dim"))


def _budget(max_calls: int | None, deadline: float | None) -> Budget | None:
    if max_calls is None and deadline is None:
        return None
    return Budget(max_calls=max_calls, deadline=deadline)
