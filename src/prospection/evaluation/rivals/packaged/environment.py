"""Environments of the rivals' packages: a name in, the Python that has the package out. Installs only when told to.

The packages are heavy and pin what others need in other versions, so that each has a virtual environment in the user's
data folder and is asked in a process of its own.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

from prospection.errors import ConfigError, UnknownNameError

__all__ = ["PACKAGED", "Packaged", "install", "python_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Packaged:
    """A rival's own package.

    Attributes:
        requirements: What pip installs.
        size: Megabytes of the environment, about.
        fact_calls: Calls to a model for each fact when an index is built, about.
        query_calls: Calls for each search.
    """

    requirements: tuple[str, ...]
    size: int
    fact_calls: float
    query_calls: int


PACKAGED = {
    "graphrag-3": Packaged(requirements=("graphrag==3.3.0",), size=1300, fact_calls=2.5, query_calls=0),
    "mem0-1": Packaged(
        requirements=("mem0ai==1.0.11", "kuzu==0.11.3", "rank-bm25==0.2.2"), size=245, fact_calls=5, query_calls=1
    ),
    "mem0-2": Packaged(requirements=("mem0ai==2.2.1",), size=225, fact_calls=1, query_calls=0),
}
"""By the name under which it is measured. mem0ai 1.0.11 is the last release whose graph memory is open source."""


READY = "ready.txt"
"""Written last: an environment that was not finished is none."""


def python_of(name: str, root: Path | None = None) -> Path:
    """Return the Python of an installed package.

    Args:
        root: Folder of all environments; None: the one in the user's data folder.

    Raises:
        UnknownNameError: There is no such package.
        ConfigError: It is not installed.
    """
    folder = _folder(name, root)
    if not (folder / READY).is_file():
        raise ConfigError(
            f"{name!r} has no environment yet; run: prospection eval rivals install {name} "
            f"(about {PACKAGED[name].size} MB)"
        )
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def install(name: str, root: Path | None = None) -> Path:
    """Make a package's environment, or complete it, with the pip of this Python. Talks on stderr.

    Returns:
        The Python in it.

    Raises:
        UnknownNameError: There is no such package.
        ConfigError: It could not be installed.
    """
    folder = _folder(name, root)
    command = [
        *(sys.executable, "-m", "pip", "--python", str(folder), "install", "--disable-pip-version-check"),
        *PACKAGED[name].requirements,
    ]
    try:
        if not (folder / "pyvenv.cfg").exists():
            venv.create(folder, with_pip=False, symlinks=sys.platform != "win32")
        subprocess.run(command, check=True, stdout=sys.stderr)  # noqa: S603 - our own list
        (folder / READY).write_text("\n".join(PACKAGED[name].requirements))
    except (OSError, subprocess.CalledProcessError) as error:
        raise ConfigError(
            f"{name!r} could not be installed into {str(folder)!r}: {error}; see pip's message above, then run it again"
        ) from error
    return python_of(name, root)


def _folder(name: str, root: Path | None) -> Path:
    if name not in PACKAGED:
        raise UnknownNameError("rival package", name, PACKAGED)
    if root is None:
        from platformdirs import user_data_path

        root = user_data_path("prospection", appauthor=False) / "rivals"
    return root / name
