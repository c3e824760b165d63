"""Writes docs/cli.md from the commands' own help, and docs/configuration.md from the settings' own docstrings.

Run as: python tools/generated_pages.py [--check]
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from prospection.cli import cli
from prospection.config import PREFIX, Settings

DOCS = Path(__file__).parents[1] / "docs"
NOTICE = "<!-- Written by tools/generated_pages.py; change the help texts or docstrings instead. -->"

CLI = """\
# Command line

{notice}

Data goes to stdout, talk to stderr. `--json` prints what the Python API returns, as JSON, and nothing else on stdout.
Exit codes: 0 done, 1 a clear refusal (bad input, missing model, failed conversation), 2 wrong usage, 130 interrupted.
Progress bars appear only where stderr is a terminal. Ctrl-C stops a call to a model at once.

Memory is the file that `--db` names, else the setting `store.path`, else `memory.db` in the user's data folder. The
person is `--user`, else the environment variable `PROSPECTION_USER`, else "me".
"""

CONFIGURATION = """\
# Configuration

{notice}

Where a setting comes from, first wins:

1. arguments in code and options of the command line
2. environment: `{prefix}` plus section, two underscores and key, such as `{prefix}MODELS__CHAT=openai:gpt-4o`
3. the TOML file: `prospection.toml` in the working directory, or the one that `{prefix}CONFIG` names
4. the defaults below

Unknown keys are refused, wherever they stand. Keys of providers are read from their own variables, such as
`OPENAI_API_KEY`; they are no settings and are never written anywhere. `OPENAI_BASE_URL` moves every model and encoder
"openai:..." to another endpoint, `OLLAMA_BASE_URL` those of Ollama.

```toml
[models]
chat = "openai:gpt-4o"

[recall]
policy = "foresight"
max_calls = 4

[recall.pgr]
shape = "chain"
```
"""


def cli_page() -> str:
    """Return docs/cli.md. The layout is ours, so that it does not change with the release of click."""
    return "\n".join([CLI.format(notice=NOTICE), *_commands(cli, click.Context(cli, info_name="prospection"))])


def configuration_page() -> str:
    """Return docs/configuration.md."""
    return "\n".join([CONFIGURATION.format(notice=NOTICE, prefix=PREFIX), *_sections(Settings, ())])


def _commands(command: click.Command, context: click.Context) -> Iterator[str]:
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield f"## {context.command_path}\n\n`{usage}`\n\n{inspect.cleandoc(command.help or '')}\n"
    options = [option for option in command.params if isinstance(option, click.Option)]
    if options:
        yield "| option | meaning |\n| --- | --- |"
        yield from (f"| `{_option(option)}` | {_help(option)} |" for option in options)
        yield ""
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            if found is not None:
                yield from _commands(found, click.Context(found, info_name=name, parent=context))


def _option(option: click.Option) -> str:
    value = "" if option.is_flag else f" {option.metavar or option.type.name.upper()}"
    return f"{option.opts[0]}{value}"


def _help(option: click.Option) -> str:
    text = " ".join((option.help or "").split())
    if option.show_default:
        text += f"  [default: {option.default}]"
    return text.replace("|", "\\|")


def _sections(model: type[BaseModel], path: tuple[str, ...]) -> Iterator[str]:
    plain = {name: field for name, field in model.model_fields.items() if _section(field) is None}
    if plain:
        yield f"## {'.'.join(path)}\n\n{(model.__doc__ or '').strip()}\n"
        yield "| key | default | meaning |\n| --- | --- | --- |"
        for name, field in plain.items():
            yield f"| `{'.'.join((*path, name))}` | {_default(field.default)} | {_meaning(field)} |"
        yield ""
    for name, field in model.model_fields.items():
        below = _section(field)
        if below is not None:
            yield from _sections(below, (*path, name))


def _section(field: FieldInfo) -> type[BaseModel] | None:
    kind = field.annotation
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def _default(value: Any) -> str:  # noqa: ANN401 - whatever a setting holds
    if value is None:
        return "none"
    return f"`{str(value).lower() if isinstance(value, bool) else repr(value).replace(chr(39), chr(34))}`"


def _meaning(field: FieldInfo) -> str:
    return " ".join((field.description or "").split()).replace("|", "\\|")


def main() -> int:
    """Write the pages, or with --check say which are not current."""
    stale = 0
    for name, text in {"cli.md": cli_page(), "configuration.md": configuration_page()}.items():
        path = DOCS / name
        if "--check" not in sys.argv:
            path.write_text(text, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != text:
            stale += 1
            sys.stderr.write(f"{path} is not current; run: python tools/generated_pages.py\n")
    return min(stale, 1)


if __name__ == "__main__":
    sys.exit(main())
