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
    print_value,
    settings_of,
)
from prospection.types import Budget, Recall

__all__ = ["ask", "recall"]

R = TypeVar("R")


def _request(command: Callable[..., R]) -> Callable[..., R]:
    for option in (
        click.option(
            "--deadline",
            type=click.FloatRange(min=0, min_open=True),
            metavar="SECONDS",
            help="At most so long; then the best so far.",
        ),
        click.option(
            "--max-calls", type=click.IntRange(min=0), metavar="N", help="At most so many calls to the model."
        ),
        click.option(
            "--max-tokens", type=click.IntRange(min=0), metavar="N", help="At most so many tokens, in and out."
        ),
        click.option("--max-cost", type=click.FloatRange(min=0), metavar="DOLLARS", help="At most so many US dollars."),
        click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Memories to return."),
        click.option(
            "--policy",
            metavar="NAME",
            help="How to search: auto, foresight, pgr, library, hybrid, scan, ...  "
            "[default: foresight with a model, library without]",
        ),
        click.option(
            "--zone", metavar="ZONE", default="UTC", show_default=True, help="Time zone of --at where it names none."
        ),
        click.option("--at", metavar="TIME", help="Memory as it stood then, in ISO form.  [default: now]"),
        click.argument("query"),
    ):
        command = option(command)
    return command


@click.command()
@_request
@click.option("--shadow", metavar="NAME", help="A second policy that runs beside it and is only recorded.")
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
    max_tokens: int | None,
    max_cost: float | None,
    deadline: float | None,
    shadow: str | None,
    context: bool,
    json_: bool,
) -> None:
    """Find the memories that an answer to QUERY has to respect."""
    budget = _budget(place, max_calls=max_calls, max_tokens=max_tokens, max_cost=max_cost, deadline=deadline)
    with open_memory(place) as memory:
        found = memory.recall(
            query, user=user, at=instant(at, zone), policy=policy, shadow=shadow, limit=limit, budget=budget
        )
    if json_:
        print_value(found)
    elif context:
        click.echo(found.context)
        _tell_notes(found)
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
    max_tokens: int | None,
    max_cost: float | None,
    deadline: float | None,
    json_: bool,
) -> None:
    """Answer QUERY from memory, citing facts.

    Without a language model it prints the context that a model would have been given.
    """
    budget = _budget(place, max_calls=max_calls, max_tokens=max_tokens, max_cost=max_cost, deadline=deadline)
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
                _tell_notes(found)
            return
        answer = memory.answer(query, user=user, at=when, policy=policy, limit=limit, budget=budget)
    if json_:
        print_value(answer)
        return
    from rich.text import Text

    from prospection.cli.show import console, cost_line, ranking

    out = console()
    out.print(Text(answer.text))
    cited = [item for fid in answer.citations for item in answer.recall.facts if item.fid == fid]
    if cited:
        out.print(Text("\nIt stands on", style="bold"))
        out.print(ranking(cited))
    _tell_notes(answer.recall)
    trace = answer.recall.trace
    console(stderr=True).print(Text(cost_line(trace.policy, answer.usage, answer.usage.seconds, trace.id), style="dim"))


def _tell_notes(recall: Recall) -> None:
    for note in recall.trace.notes:
        click.secho(note, fg="yellow", err=True)


def _budget(place: Place, **said: float | None) -> Budget | None:
    """Return the ceilings that were said, the others as the settings have them; None when nothing was said."""
    ceilings = {name: ceiling for name, ceiling in said.items() if ceiling is not None}
    if not ceilings:
        return None
    settings = settings_of(place).recall
    return Budget(**{name: ceilings.get(name, getattr(settings, name)) for name in said})
