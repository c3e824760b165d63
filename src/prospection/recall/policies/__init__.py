"""Policies: how memory is searched, one file a policy, one registry for all.

A policy is a value (its parameters) with one method. Built-in and foreign policies come through the same door: an
entry point of the group `prospection.policies` names a callable that takes `RecallSettings` and returns a `Policy`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import entry_points

from prospection.config import RecallSettings
from prospection.errors import UnknownNameError
from prospection.recall.policy import Policy

__all__ = ["build_policy", "policy_names"]

GROUP = "prospection.policies"

_BUILT_IN = {
    "auto": "prospection.recall.policies.auto:Auto",
    "direct": "prospection.recall.policies.direct:Direct",
    "foresight": "prospection.recall.policies.foresight:Foresight",
    "hybrid": "prospection.recall.policies.hybrid:Hybrid",
    "hyde": "prospection.recall.policies.hyde:Hyde",
    "lexical": "prospection.recall.policies.lexical:Lexical",
    "library": "prospection.recall.policies.library:Library",
    "pgr": "prospection.recall.policies.pgr:Pgr",
    "recollect": "prospection.recall.policies.recollect:Recollect",
    "rewrite": "prospection.recall.policies.rewrite:Rewrite",
    "scan": "prospection.recall.policies.scan:Scan",
}


def policy_names() -> tuple[str, ...]:
    """Names of all policies, in alphabetical order."""
    return tuple(sorted({*_BUILT_IN, *(point.name for point in entry_points(group=GROUP))}))


def build_policy(name: str, settings: RecallSettings) -> Policy:
    """Return the policy of that name with its parameters from the settings.

    Raises:
        UnknownNameError: There is none; the message offers the nearest name.
    """
    loaded: Callable[[RecallSettings], Policy]
    if name in _BUILT_IN:
        module, _, attribute = _BUILT_IN[name].partition(":")
        loaded = getattr(import_module(module), attribute).from_settings
    else:
        found = [point for point in entry_points(group=GROUP) if point.name == name]
        if not found:
            raise UnknownNameError("policy", name, policy_names())
        loaded = found[0].load()
    return loaded(settings)
