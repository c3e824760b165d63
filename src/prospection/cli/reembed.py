"""`prospection reembed`: the same memory under another encoder."""

from __future__ import annotations

from shlex import quote

import click

from prospection.cli.options import Place, as_json, open_memory, path_of, print_json, progress_bars, settings_of

__all__ = ["reembed"]


@click.command()
@click.option(
    "--encoder", metavar="NAME", required=True, help="The new encoder: local, multilingual, openai:MODEL or MODEL@URL."
)
@click.option("--db", metavar="FILE", help="Memory file.  [default: memory.db in the user's data folder]")
@as_json
def reembed(encoder: str, db: str | None, json_: bool) -> None:
    """Make all vectors anew with another encoder.

    From the stored texts: no language model is asked. Memory can be used meanwhile, with the former encoder. When the
    command is interrupted, run it again and it goes on where it stood.
    """
    place = Place(db=db)
    path = path_of(settings_of(place))
    if not path.is_file():
        raise click.ClickException(f"there is no memory at {str(path)!r}; name the file with --db")
    with open_memory(place) as memory, progress_bars("Embedding") as (progress,):
        done = memory.reembed(encoder, progress=progress)
    if json_:
        print_json({"memory": str(path), "encoder": encoder, "embedded": done})
    click.echo(
        f"{done} texts embedded; the memory is searched with {encoder!r} now. Name it from now on: "
        f"--encoder {quote(encoder)}, or PROSPECTION_MODELS__ENCODER={quote(encoder)}",
        err=True,
    )
