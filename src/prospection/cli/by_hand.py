"""`prospection facts add | edit | pin | unpin | remove`: facts by hand. Every one prints the fact as it now stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from prospection.cli.options import Place, as_json, memory_options, open_memory, print_value
from prospection.types import FactType

if TYPE_CHECKING:
    from prospection.types import Fact

__all__ = ["add", "edit", "pin", "remove", "unpin"]

_kind = click.option(
    "--kind", type=click.Choice([str(kind) for kind in FactType], case_sensitive=False), help="What kind of fact it is."
)
_cues = click.option("--cue", "cues", metavar="TEXT", multiple=True, help="Future situation in which it will matter.")


@click.command()
@click.argument("statement")
@_kind
@_cues
@click.option("--pin", is_flag=True, help="Keep it in front of every context.")
@as_json
@memory_options
def add(place: Place, user: str, statement: str, kind: str | None, cues: Sequence[str], pin: bool, json_: bool) -> None:
    """Remember STATEMENT as it stands."""
    with open_memory(place) as memory:
        _show(memory.add_fact(statement, user=user, kind=_type(kind), cues=cues, pinned=pin), json_)


@click.command()
@click.argument("fact", metavar="ID")
@click.argument("statement")
@_kind
@_cues
@as_json
@memory_options
def edit(
    place: Place, user: str, fact: str, statement: str, kind: str | None, cues: Sequence[str], json_: bool
) -> None:
    """Write a new version of a fact; the old one stays as history."""
    with open_memory(place) as memory:
        _show(memory.edit_fact(fact, statement, user=user, kind=_type(kind), cues=cues or None), json_)


@click.command()
@click.argument("fact", metavar="ID")
@as_json
@memory_options
def pin(place: Place, user: str, fact: str, json_: bool) -> None:
    """Keep a fact in front of every context, out of any model's reach."""
    with open_memory(place) as memory:
        _show(memory.pin_fact(fact, user=user), json_)


@click.command()
@click.argument("fact", metavar="ID")
@as_json
@memory_options
def unpin(place: Place, user: str, fact: str, json_: bool) -> None:
    """Take the pin out of a fact."""
    with open_memory(place) as memory:
        _show(memory.pin_fact(fact, user=user, pinned=False), json_)


@click.command()
@click.argument("fact", metavar="ID")
@as_json
@memory_options
def remove(place: Place, user: str, fact: str, json_: bool) -> None:
    """End a fact: it is not recalled any more. History keeps it; `prospection forget` erases."""
    with open_memory(place) as memory:
        _show(memory.remove_fact(fact, user=user), json_)


def _type(kind: str | None) -> FactType | None:
    return None if kind is None else FactType(kind.capitalize())


def _show(fact: Fact, json_: bool) -> None:
    if json_:
        print_value(fact)
        return
    notes = ["pinned"] if fact.pinned else []
    if fact.supersedes:
        notes.append(f"in place of {', '.join(fact.supersedes)}")
    if fact.valid_until is not None:
        notes.append("removed")
    click.echo(f"{fact.fid}  {fact.info}" + (f"  ({'; '.join(notes)})" if notes else ""))
