"""From entries of a plan to systems, each bound to the store that is being measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from prospection.config import ModelsSettings, RecallSettings
from prospection.evaluation.recall import System
from prospection.evaluation.rivals import build_rival
from prospection.evaluation.rivals.keys import keys_in_force
from prospection.evaluation.rivals.packaged.environment import PACKAGED
from prospection.evaluation.runs.plan import SystemEntry
from prospection.evaluation.systems import build_system
from prospection.library.library import GoalLibrary
from prospection.protocols import ChatModel, Embedder, FactStore
from prospection.recall.policies import build_policy

__all__ = ["ModelOf", "PackageOf", "address_of", "describe_system", "open_system"]

ModelOf = Callable[[str | None], ChatModel | None]
"""The language model of that name; for None the run's own, which may be none."""

PackageOf = Callable[[SystemEntry, FactStore], System]
"""The rival's package that an entry names, over a store."""


def address_of(model: str | None, models: ModelsSettings) -> str | None:
    """Return the base URL that a model of a run is asked at; None: its provider's.

    A base URL belongs to the run's own model; models that systems name besides find theirs.
    """
    return models.base_url if model == models.chat else None


def open_system(
    entry: SystemEntry,
    recall: RecallSettings,
    *,
    store: FactStore,
    embedder: Embedder,
    library: GoalLibrary,
    model_of: ModelOf,
    package_of: PackageOf,
) -> System:
    """Return the system of an entry.

    Raises:
        UnknownNameError, ConfigError: As `build_system` and `build_rival`.
    """
    if entry.rival in PACKAGED:
        return package_of(entry, store)
    model = model_of(entry.model)
    if entry.rival is not None:
        return build_rival(entry.rival, store=store, embedder=embedder, model=model, parameters=entry.parameters)
    return build_system(
        str(entry.policy),
        recall,
        store=store,
        embedder=embedder,
        library=library,
        model=model,
        equal_budget=entry.equal_budget,
        parameters=entry.parameters,
    )


def describe_system(entry: SystemEntry, recall: RecallSettings, model: str | None) -> Mapping[str, Any]:
    """Return what decides how a system works, for the manifest."""
    if entry.rival in PACKAGED:
        requirements = list(PACKAGED[entry.rival].requirements)
        return {"rival": entry.rival, "package": requirements, "model": model, **entry.parameters}
    if entry.rival is not None:
        return {"rival": entry.rival, "model": model, "parameters": keys_in_force(entry.rival, entry.parameters)}
    known = build_policy(str(entry.policy), recall).parameters
    return {
        "policy": entry.policy,
        "model": model,
        "equal_budget": entry.equal_budget,
        "parameters": {**known, **entry.parameters},
    }
