"""The command line. Data goes to stdout, talk to stderr; `--json` gives what the Python API gives, as JSON.

Exit codes: 0 done, 1 a clear refusal (bad input, missing model, failed session), 2 wrong usage, 130 interrupted.
Commands are imported when they are called, so that `--help` answers at once.
"""

from __future__ import annotations

import sys
from importlib import import_module

import click

from prospection import __version__

__all__ = ["cli", "main"]

_COMMANDS = {
    "add": "remember:add",
    "ask": "recall:ask",
    "demo": "demo:demo",
    "doctor": "doctor:doctor",
    "eval": "evaluate:evaluate",
    "facts": "facts:facts",
    "forget": "facts:forget",
    "recall": "recall:recall",
    "retry": "remember:retry",
    "trace": "trace:trace",
}


class _Lazy(click.Group):
    """A group whose commands are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, _, attribute = _COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(import_module(f"prospection.cli.{module}"), attribute)
        return command


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="prospection")
def cli() -> None:
    """Long-term memory for assistants that thinks ahead before it remembers.

    Start with `prospection demo`. Then `prospection add chat.json --user ada` and
    `prospection recall "Plan two weeks in Italy" --user ada`.
    """


def main() -> None:
    """Run the command line and exit."""
    from prospection.errors import ProspectionError

    try:
        cli(prog_name="prospection")
    except ProspectionError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(1)
