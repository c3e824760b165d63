"""What a run was made with, so that somebody else can judge it and make it again.

In go the plan and what was opened for it; out comes JSON data. It names no machine, no path and no person.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import prospection
from prospection.config import Settings
from prospection.errors import InputError
from prospection.evaluation.cases import Dataset
from prospection.evaluation.runs.plan import Plan, SystemEntry
from prospection.prompts import load_prompt, prompt_names
from prospection.protocols import Embedder
from prospection.serial import to_json

__all__ = ["build_manifest", "check_same", "data_hash"]

_FIXED = ("plan", "encoder", "chat", "systems", "datasets", "settings")
"""What may not change between the parts of one run; prompts may be added, and may not change either."""

_COMPUTES = {"tacitree": "scikit-learn", "graphrag": "graspologic-native"}
"""Packages whose version decides what a rival of ours builds."""


def build_manifest(
    plan: Plan, *, datasets: Mapping[str, Dataset], embedder: Embedder, settings: Settings, systems: Mapping[str, Any]
) -> dict[str, Any]:
    """Gather everything that decides the rows of a run.

    Under "attempts" stands what decides only whether a call comes through: it may change from part to part.

    Args:
        settings: With the plan's models on top.
        systems: By name, the parameters in force.
    """
    chat = settings.models.chat
    return {
        "plan": json.loads(plan.model_dump_json(exclude={"datasets": {"__all__": {"path"}}, "budget": True})),
        "version": prospection.__version__,
        "commit": commit(),
        "encoder": {"id": embedder.id, "dims": embedder.dims, "calibration": to_json(embedder.calibration)},
        "chat": chat,
        "systems": dict(systems),
        "settings": {
            "context_tokens": settings.recall.context_tokens,
            "max_output_tokens": settings.models.max_output_tokens,
            "packages": {name: _version(name) for entry in plan.systems for name in _packages(entry)},
        },
        "attempts": {"timeout": settings.models.timeout, "retries": settings.models.retries},
        "datasets": {
            name: {
                "sha256": data_hash(dataset),
                "users": len(dataset.users),
                "facts": sum(len(user.facts) for user in dataset.users),
                "queries": len(dataset.queries),
                "notes": list(dataset.notes),
            }
            for name, dataset in datasets.items()
        },
        "prompts": {name: load_prompt(name).hash for name in prompt_names()},
    }


def check_same(before: Mapping[str, Any], now: Mapping[str, Any], *, what: str) -> None:
    """Make sure that a run goes on, or is replayed, with what it was begun with.

    Args:
        what: The run, as errors name it.

    Raises:
        InputError: Something differs; the message says what.
    """
    prompts = before.get("prompts", {})
    # Runs of earlier versions have no settings.
    pairs = [(part, before[part], now.get(part)) for part in _FIXED if part in before]
    pairs.append(("prompt", prompts, {name: now["prompts"].get(name) for name in prompts}))
    for part, old, new in pairs:
        if old != new:
            where = _difference(old, new)
            raise InputError(f"{what} was made with another {part}{where}; start a new run in another folder (--out)")


def _packages(entry: SystemEntry) -> list[str]:
    found = [_COMPUTES[entry.rival]] if entry.rival in _COMPUTES else []
    return [*found, "umap-learn"] if entry.parameters.get("reduction") == "umap" else found


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _difference(before: object, now: object) -> str:
    """Return the path to the first difference and the two values there."""
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        key = next(key for key in (*before, *now) if before.get(key) != now.get(key))
        return f".{key}{_difference(before.get(key), now.get(key))}"
    return f": {before!r}, now {now!r}"


def data_hash(dataset: Dataset) -> str:
    """Return the SHA-256 of everything that a data set says: the same in every layout, on every machine."""
    content = [to_json(dataset.users), [_query(query) for query in to_json(dataset.queries)]]
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def _query(query: dict[str, Any]) -> dict[str, Any]:
    # Alternatives are a set and come in any order.
    return {**query, "references": [sorted(reference) for reference in query["references"]]}


def commit() -> str | None:
    """Return the commit of the checkout that this package runs from, "+" behind it when files were changed since.

    Returns:
        None when it is installed, also inside of somebody's checkout, or there is no git.
    """
    here = Path(prospection.__file__).parent
    try:
        _git(here, "ls-files", "--error-unmatch", "__init__.py")
        found, changes = _git(here, "rev-parse", "HEAD"), _git(here, "status", "--porcelain", "--", ".")
    except (OSError, subprocess.SubprocessError):
        return None
    return found[:12] + ("+" if changes else "")


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()  # noqa: S603
