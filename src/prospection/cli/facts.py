"""`prospection facts` and `prospection forget`: what is remembered, and what shall not be."""

from __future__ import annotations

import click

from prospection.cli import by_hand
from prospection.cli.options import Place, as_json, memory_options, open_memory, print_json, print_value
from prospection.cli.words import suggested

__all__ = ["facts", "forget"]


@click.group(invoke_without_command=True)
@click.option(
    "--limit", metavar="N", type=click.IntRange(min=1), default=100, show_default=True, help="Facts on a page."
)
@click.option("--after", metavar="ID", help="Begin after this fact.")
@click.option("--history", is_flag=True, help="Show facts that later ones have replaced, too.")
@as_json
@memory_options
@click.pass_context
def facts(
    ctx: click.Context, place: Place, user: str, limit: int, after: str | None, history: bool, json_: bool
) -> None:
    """List what is remembered about a person, or change it by hand."""
    if ctx.invoked_subcommand is not None:
        said = click.core.ParameterSource.COMMANDLINE
        if any(ctx.get_parameter_source(option.name or "") is said for option in ctx.command.params):
            ctx.fail(f"options come after {ctx.invoked_subcommand!r}, not before it")
        return
    with open_memory(place) as memory:
        # One more than asked for tells whether there is another page.
        page = memory.facts(user=user, history=history, after=after, limit=limit + 1)
        total = memory.statistics(user=user).get("facts", 0)
    shown = page[:limit]
    if json_:
        print_value(tuple(shown))
    elif shown:
        from prospection.cli.show import console, facts_table

        console().print(facts_table(shown))
    if not page and after is None:
        click.echo(
            f"Nothing is remembered about {user}. Begin with: {suggested('add', 'chat.json', '--user', user)}", err=True
        )
    elif len(page) > limit:
        click.echo(f"{len(shown)} of {total}; go on with --after {shown[-1].fid}", err=True)


for command in (by_hand.add, by_hand.edit, by_hand.pin, by_hand.unpin, by_hand.remove):
    facts.add_command(command)


@click.command()
@click.option("--session", metavar="ID", help="Only this conversation and the facts that stand on it alone.")
@click.option("--fact", metavar="ID", help="Only this fact and the versions before it.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@as_json
@memory_options
def forget(place: Place, user: str, session: str | None, fact: str | None, yes: bool, json_: bool) -> None:
    """Erase a person, a conversation or a fact for good."""
    what = (
        f"session {session!r} of {user!r}" if session else f"fact {fact!r} of {user!r}" if fact else f"all of {user!r}"
    )
    if not yes:
        click.confirm(f"Erase {what}? It cannot be undone.", abort=True, err=True)
    with open_memory(place) as memory:
        erased = memory.forget(user=user, session=session, fid=fact)
    from prospection.serial import to_json

    counts = to_json(erased)
    if json_:
        print_json(counts)
    else:
        click.echo("Erased: " + ", ".join(f"{count} {name}" for name, count in counts.items()))
