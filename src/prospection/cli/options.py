"""Options that several commands share, and from them to an open memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import click

from prospection.protocols import Progress
from prospection.serial import to_json

if TYPE_CHECKING:
    from prospection.config import Settings
    from prospection.sync import Memory

__all__ = [
    "Place",
    "as_json",
    "encoder_option",
    "instant",
    "memory_options",
    "model_options",
    "open_memory",
    "path_of",
    "placed",
    "print_json",
    "print_value",
    "progress_bars",
    "settings_of",
    "settled",
    "store_options",
    "zone_of",
]

R = TypeVar("R")


class Place(TypedDict, total=False):
    """Where memory is and what works on it, as the options say; None where they say nothing."""

    db: str | None
    encoder: str | None
    model: str | None
    base_url: str | None


def memory_options(command: Callable[..., R]) -> Callable[..., R]:
    """Add --user, --db and --encoder; the command receives `user` and `place`."""
    user = click.option(
        "--user", metavar="NAME", envvar="PROSPECTION_USER", default="me", show_default=True, help="Whose memory."
    )
    return user(store_options(command))


def store_options(command: Callable[..., R]) -> Callable[..., R]:
    """Add --db and --encoder; the command receives `place`."""
    db = click.option("--db", metavar="FILE", help="Memory file.  [default: memory.db in the user's data folder]")
    return db(encoder_option(placed(command)))


def encoder_option(command: Callable[..., R]) -> Callable[..., R]:
    """Add --encoder; the command receives it in `place`."""
    return click.option("--encoder", metavar="NAME", help="Encoder: local, multilingual, openai:MODEL or MODEL@URL.")(
        command
    )


def model_options(command: Callable[..., R]) -> Callable[..., R]:
    """Add --model and --base-url; the command receives them in `place`."""
    model = click.option("--model", metavar="NAME", help="Language model, for example openai:gpt-4o.  [default: none]")
    base_url = click.option("--base-url", metavar="URL", help="OpenAI-compatible endpoint of the model.")
    return model(base_url(command))


def placed(command: Callable[..., R]) -> Callable[..., R]:
    """Gather the options that say where memory is and what works on it into the argument `place`."""

    @wraps(command)
    def gathered(**arguments: Any) -> R:  # noqa: ANN401 - click passes options of any type
        place = Place(**{key: arguments.pop(key, None) for key in Place.__annotations__})  # type: ignore[typeddict-item]
        return command(place=place, **arguments)

    return gathered


def as_json(command: Callable[..., R]) -> Callable[..., R]:
    """Add --json."""
    return click.option("--json", "json_", is_flag=True, help="Print JSON.")(command)


def instant(text: str | None, zone: str) -> datetime | None:
    """Read --at: an ISO date or time; where it names no zone, it is in `zone`. A bare day stands for its noon."""
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is not a time; write it like 2025-07-02 or 2025-07-02T09:30") from error
    if len(text) <= len("2025-07-02"):
        found = found.replace(hour=12)  # falls on the same day in nearly every zone, as bare days in files do
    return found if found.tzinfo else found.replace(tzinfo=zone_of(zone))


def zone_of(name: str) -> ZoneInfo:
    """Return the zone of an IANA name."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise click.BadParameter(f"{name!r} is not a time zone; write it like Europe/Zurich") from error


def settings_of(place: Place) -> Settings:
    """Return the settings with what the options say on top."""
    from prospection.config import load_settings

    said = {"chat": place.get("model"), "base_url": place.get("base_url"), "encoder": place.get("encoder")}
    models = {key: value for key, value in said.items() if value}
    store = {"path": place["db"]} if place.get("db") else {}
    return load_settings(models=models, store=store)


def path_of(settings: Settings) -> Path:
    """Return the memory file: the one in the settings, or the one in the user's data folder."""
    if settings.store.path is not None:
        return settings.store.path
    from platformdirs import user_data_path

    return user_data_path("prospection", appauthor=False) / "memory.db"


@contextmanager
def open_memory(place: Place) -> Iterator[Memory]:
    """Open the memory that the options name; the default folder is made when it is missing."""
    from prospection.sync import Memory

    path, settings = settled(place)
    with Memory(path, settings=settings) as memory:
        yield memory


def settled(place: Place) -> tuple[Path, Settings]:
    """Return the memory file that the options name and the settings; the default folder is made when it is missing."""
    settings = settings_of(place)
    path = path_of(settings)
    if settings.store.path is None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise click.ClickException(
                f"the folder {str(path.parent)!r} cannot be made: {error.strerror}; name a file elsewhere with --db"
            ) from error
    return path, settings


@contextmanager
def progress_bars(*names: str) -> Iterator[tuple[Progress, ...]]:
    """Show progress bars on stderr while the block runs, where that is a terminal.

    Yields:
        For each name a function of (done, total); its bar appears when it is first called.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bars(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:

        def progress(task: TaskID) -> Progress:
            return lambda done, total: bars.update(task, completed=done, total=total, visible=True)

        yield tuple(progress(bars.add_task(name, total=None, visible=False)) for name in names)


def print_json(data: Any) -> None:  # noqa: ANN401 - JSON data
    """Print JSON data to stdout."""
    click.echo(json.dumps(data, ensure_ascii=False, indent=2))


def print_value(value: object) -> None:
    """Print a value of the Python API to stdout, as JSON."""
    print_json(to_json(value))
