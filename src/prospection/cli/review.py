"""`prospection review`: what a conversation came to."""

from __future__ import annotations

import click

from prospection.cli.options import Place, as_json, memory_options, open_memory, print_value
from prospection.cli.words import counted

__all__ = ["review"]

_SIGNS = {"added": "+", "reinforced": "=", "revised": "~"}


@click.command()
@click.argument("session", metavar="SESSION")
@as_json
@memory_options
def review(place: Place, user: str, session: str, json_: bool) -> None:
    """Show what a conversation added, reinforced and revised.

    Each fact with the words that it rests on: + added, = said before, ~ in place of others.
    """
    with open_memory(place) as memory:
        found = memory.review(session, user=user)
    if json_:
        print_value(found)
        return
    for item in found.facts:
        click.echo(f"{_SIGNS[item.change]} {item.fact.fid}  {item.fact.info}")
        for old in item.replaced:
            click.echo(f"      in place of {old.fid}  {old.info}")
        for source in item.sources:
            place_ = "" if source.message is None else f" (message {source.message})"
            click.echo(f"      said: “{source.quote}”{place_}" if source.quote else f"      said{place_ or ' there'}")
        if item.now is not None:
            click.echo(f"      now {item.now.fid}  {item.now.info}")
        elif item.fact.valid_until is not None:
            click.echo("      removed since")
    reason = f": {found.session.reason}" if found.session.reason else ""
    click.echo(
        f"{counted(len(found.facts), 'fact')} of {found.session.session.at:%Y-%m-%d}; {found.session.state}{reason}",
        err=True,
    )
