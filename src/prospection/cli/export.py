"""`prospection export`: everything of a user as JSON, one record a line."""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TextIO

import click

from prospection.cli.options import Place, memory_options, settled

__all__ = ["export"]


@click.command()
@click.option("--output", "-o", metavar="FILE", type=click.Path(path_type=Path), help="Where to.  [default: stdout]")
@memory_options
def export(place: Place, user: str, output: Path | None) -> None:
    """Write everything of a user as JSON, one record a line.

    Conversations with their states, facts with all their versions, future cues and traces. `prospection import` reads
    it back, to the last detail. Vectors are left out: they are made again.
    """
    import anyio

    if output is None:
        anyio.run(partial(_write, place, user, sys.stdout))
        return
    # Under another name until it is whole: what was there before is not lost to an export that fails.
    partly = output.with_name(output.name + ".part")
    try:
        with partly.open("w", encoding="utf-8", newline="\n") as file:
            count = anyio.run(partial(_write, place, user, file))
        partly.replace(output)
    except OSError as error:
        raise click.ClickException(
            f"{str(output)!r} cannot be written: {error.strerror}; choose another file"
        ) from error
    finally:
        with suppress(OSError):
            partly.unlink()
    click.echo(f"{count} records of {user} written to {output}", err=True)


async def _write(place: Place, user: str, file: TextIO) -> int:
    from prospection.errors import UnknownUserError
    from prospection.exchange.archive import write_archive
    from prospection.memory import AsyncMemory

    path, settings = settled(place)
    async with AsyncMemory(path, settings=settings) as memory:
        if not await memory.dump(user=user):
            raise UnknownUserError(f"user {user!r} has no memory here; check the name and the file: prospection doctor")
        lines = -2  # the first and the last one are no records
        async for line in write_archive(memory, user=user):
            file.write(line)
            lines += 1
        return lines
