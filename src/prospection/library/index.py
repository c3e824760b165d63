"""The library's vectors under one encoder: built once, kept in a file of int8 rows.

The index for the default encoder comes with the package. For any other it is built at the first use (some 16,000
short texts) and kept in the user's cache folder, under the encoder's id and the edition of the goals.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib import resources
from io import BytesIO
from pathlib import Path
from zipfile import BadZipFile

import anyio.to_thread
import numpy as np
from platformdirs import user_cache_path

from prospection.library.goals import Goal, goals_hash, load_goals
from prospection.protocols import Embedder, Progress
from prospection.types import Vectors

__all__ = ["GoalIndex", "build_index", "index_bytes", "open_index"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalIndex:
    """Vectors of g goals with d dimensions; float32, unit rows.

    Attributes:
        encoder: Id of the encoder that made them.
        edition: Hash of the goals they were made from.
        goals: (g, d) of the requests.
        aims: (g, d) of each request and the mean of its steps together: what the goal is about.
        needs: (n, d) of all imagined facts, goal after goal.
        steps: (s, d) of all steps, goal after goal.
    """

    encoder: str
    edition: str
    goals: Vectors
    aims: Vectors
    needs: Vectors
    steps: Vectors


async def open_index(embedder: Embedder, *, progress: Progress | None = None) -> GoalIndex:
    """Return the index for an encoder: the packaged one, the cached one, or a new one, which is then cached.

    Raises:
        ModelError: The encoder's endpoint failed while the index was being built.
    """
    for source in (resources.files(__package__).joinpath("local.npz"), _cached(embedder)):
        if source.is_file():
            data = await anyio.to_thread.run_sync(source.read_bytes)
            index = _read(data)
            if index is not None and index.encoder == embedder.id and index.edition == goals_hash():
                return index
    index = await build_index(load_goals(), embedder, progress=progress)
    await anyio.to_thread.run_sync(_keep, _cached(embedder), index_bytes(index))
    return index


async def build_index(goals: tuple[Goal, ...], embedder: Embedder, *, progress: Progress | None = None) -> GoalIndex:
    """Embed the goals in one batch.

    Raises:
        ModelError: The encoder's endpoint failed.
    """
    requests = [goal.goal for goal in goals]
    needs = [need for goal in goals for need in goal.needs]
    steps = [step for goal in goals for step in goal.steps]
    rows = await embedder.embed([*requests, *needs, *steps], progress=progress)
    goal_rows, need_rows, step_rows = np.split(rows, [len(requests), len(requests) + len(needs)])
    ends = np.cumsum([0, *(len(goal.steps) for goal in goals)])
    means = np.add.reduceat(step_rows, ends[:-1], axis=0) / np.diff(ends)[:, None]
    return GoalIndex(
        encoder=embedder.id,
        edition=goals_hash(),
        goals=goal_rows,
        aims=_unit(goal_rows + means),
        needs=need_rows,
        steps=step_rows,
    )


def index_bytes(index: GoalIndex) -> bytes:
    """Return the file of an index. Rows are quantised to int8, each with a scale of its own."""
    arrays: dict[str, np.ndarray] = {"encoder": np.array(index.encoder), "edition": np.array(index.edition)}
    for name in _ROWS:
        rows = getattr(index, name)
        scale = np.abs(rows).max(axis=1, keepdims=True) / 127.0
        arrays[name] = np.rint(rows / scale).astype(np.int8)
    file = BytesIO()
    np.savez(file, allow_pickle=False, **arrays)
    return file.getvalue()


_ROWS = ("goals", "aims", "needs", "steps")


def _read(data: bytes) -> GoalIndex | None:
    # A file that a kill left half written is built again, not an error.
    try:
        with np.load(BytesIO(data), allow_pickle=False) as file:
            rows = {name: _unit(file[name].astype(np.float32)) for name in _ROWS}
            return GoalIndex(encoder=str(file["encoder"]), edition=str(file["edition"]), **rows)
    except (BadZipFile, KeyError, ValueError, EOFError):
        return None


def _unit(rows: Vectors) -> Vectors:
    # The quantised rows' own scale drops out here, so that it need not be stored.
    unit: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return unit


def _cached(embedder: Embedder) -> Path:
    name = hashlib.sha256(f"{embedder.id}/{embedder.dims}/{goals_hash()}".encode()).hexdigest()[:24]
    return user_cache_path("prospection", appauthor=False) / "library" / f"{name}.npz"


def _keep(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    unfinished.write_bytes(data)
    unfinished.replace(path)
