"""What a plan may set of a rival, by name and by kind. Defaults are what docs/rivals.md describes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from prospection.errors import ConfigError, UnknownNameError
from prospection.evaluation.rivals.tacitree.clusters import Reduction

__all__ = ["RIVAL_KEYS", "keys_in_force"]


class RivalKeys(BaseModel):
    """A rival without keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Mem0gKeys(RivalKeys):
    """Of `mem0g`: memories and relations shown, and the cosine from which two names mean one entity."""

    limit: int = Field(default=100, ge=1)
    similarity: float = Field(default=0.7, ge=-1, le=1)


class TaciTreeKeys(RivalKeys):
    """Of `tacitree`: how vectors are reduced before they are clustered."""

    reduction: Reduction = "pca"


RIVAL_KEYS: Mapping[str, type[RivalKeys]] = {
    "full_context": RivalKeys,
    "graphrag": RivalKeys,
    "mem0g": Mem0gKeys,
    "tacitree": TaciTreeKeys,
}
"""By name of the rival."""


def keys_in_force(rival: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return all keys of a rival, those that are not given with their defaults.

    Raises:
        UnknownNameError: It has no such key; the message offers the nearest.
        ConfigError: A value does not fit.
    """
    keys = RIVAL_KEYS[rival]
    for key in given:
        if key not in keys.model_fields:
            raise UnknownNameError(f"key of rival {rival!r}:", key, keys.model_fields)
    try:
        return keys.model_validate(given).model_dump()
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ConfigError(f"{where} = {first['input']!r} of rival {rival!r}: {first['msg']}; correct it") from error
