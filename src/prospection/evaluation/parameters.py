"""A policy with other parameters: what a plan or a search over settings asks for, checked by name and by type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from prospection.errors import ConfigError, UnknownNameError
from prospection.recall.policy import Policy

__all__ = ["with_parameters"]


def with_parameters(policy: Policy, parameters: Mapping[str, Any]) -> Policy:
    """Return the policy with these parameters and its others as they are; the policy itself for none.

    Args:
        policy: A dataclass, as our own are.

    Raises:
        UnknownNameError: It has no such parameter; the message offers the nearest.
        ConfigError: A value is of another kind, or the policy is no dataclass.
    """
    if not parameters:
        return policy
    known = policy.parameters
    for name in parameters:
        if name not in known:
            raise UnknownNameError(f"parameter of policy {policy.name!r}:", name, known)
    if not is_dataclass(type(policy)):
        raise ConfigError(f"policy {policy.name!r} takes its parameters from the settings alone; set them there")
    try:
        changed: Policy = TypeAdapter(type(policy)).validate_python({**known, **parameters})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ConfigError(
            f"parameter {where} = {first['input']!r} of policy {policy.name!r}: {first['msg']}; correct it"
        ) from error
    return changed
