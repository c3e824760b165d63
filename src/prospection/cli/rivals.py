"""`prospection eval rivals`: the rivals' own packages, installed apart; plans name them."""

from __future__ import annotations

import click

from prospection.cli.options import Place, placed, settings_of

__all__ = ["rivals"]


@click.group(name="rivals")
def rivals() -> None:
    """Install other systems' own packages: mem0-1, mem0-2, graphrag-3. Then name them in a plan (rival = "mem0-1").

    Each gets an environment of its own, because they are heavy and want other versions of what is installed here. Our
    own implementations of the paper's rivals need none of this (rival = "mem0g").
    """


@rivals.command()
@click.argument("name")
@placed
def install(place: Place, name: str) -> None:
    """Make the environment of a package: mem0-1 (245 MB), mem0-2 (225 MB) or graphrag-3 (1.3 GB)."""
    from prospection.evaluation.rivals.packaged.environment import install as make

    click.echo(f"{name} is ready: {make(name, settings_of(place).evaluation.rivals)}", err=True)
