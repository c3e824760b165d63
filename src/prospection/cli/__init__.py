"""The command line. Data goes to stdout, talk to stderr; `--json` gives what the Python API gives, as JSON.

Exit codes: 0 done, 1 a clear refusal (bad input, missing model, failed session), 2 wrong usage, 130 interrupted.
Commands are imported when they are called, so that `--help` answers at once.
"""

from __future__ import annotations

import difflib
import os
from importlib import import_module
from typing import Any

import click

from prospection import __version__

__all__ = ["cli", "main"]

_COMMANDS = {
    "add": ("remember:add", 'Remember the conversations of FILE ("-" for standard input).'),
    "ask": ("recall:ask", "Answer QUERY from memory, citing facts."),
    "consolidate": ("consolidate:consolidate", "Merge facts that belong together into one."),
    "cues": ("cues:cues", "Future situations in which each fact will matter."),
    "demo": ("demo:demo", "Show what similarity finds and what thinking ahead finds."),
    "doctor": ("doctor:doctor", "Say what is installed and stored, and what is wrong."),
    "eval": ("evaluate:evaluate", "Measure what is found, and at what cost."),
    "export": ("export:export", "Write everything of a user as JSON, one record a line."),
    "facts": ("facts:facts", "List what is remembered about a person, or change it by hand."),
    "forget": ("facts:forget", "Erase a person, a conversation or a fact for good."),
    "import": ("import_:import_", "Move into memory what PATH holds: an account export, chat logs, or an archive."),
    "judge": ("judge:judge", "Compare answers, blind: by a model, by people, and both with each other."),
    "quest": (
        "quest:quest",
        "Build a benchmark, from profiles or from your own memory, and check it.",
    ),
    "recall": ("recall:recall", "Find the memories that an answer to QUERY has to respect."),
    "reembed": ("reembed:reembed", "Make all vectors anew with another encoder."),
    "retry": ("remember:retry", "Extract the conversations that failed or still wait."),
    "review": ("review:review", "Show what a conversation added, reinforced and revised."),
    "trace": ("trace:trace", "List the latest recalls, or show how one of them went."),
    "worker": ("worker:worker", "Extract the conversations of all users that wait."),
}
"""Name: where the command is, and the first line of its help. A test holds the two texts together."""


class _Commands(click.Group):
    """A group whose commands are imported when they are asked for, and which turns our errors into exit codes."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, _, attribute = _COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(f"prospection.cli.{module}"), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, first_line) for name, (_, first_line) in _COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            near = difflib.get_close_matches(args[0], _COMMANDS, n=1)
            offer = f"did you mean {near[0]!r}?" if near else "known: " + ", ".join(_COMMANDS)
            ctx.fail(f"there is no command {args[0]!r}; {offer}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - what a command returns
        from prospection.errors import ProspectionError

        try:
            return super().invoke(ctx)
        except ProspectionError as error:
            raise click.ClickException(str(error)) from error
        except KeyboardInterrupt:
            click.echo("\nInterrupted. What was stored before is kept.", err=True)
            ctx.exit(130)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="prospection")
def cli() -> None:
    """Long-term memory for assistants that thinks ahead before it remembers.

    Start with `prospection demo`. Then `prospection add chat.json --user ada` and
    `prospection recall "Plan two weeks in Italy" --user ada`.
    """


def main() -> None:
    """Run the command line and exit."""
    # Before anything loads numpy. At the sizes of a memory, threads of linear algebra only get in each other's way.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    cli(prog_name="prospection")
