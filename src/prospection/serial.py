"""Values to JSON data and back.

In goes any value of `prospection.types`; out comes plain JSON data, and the same value again from it. Pydantic does
the work and is imported when first used, so that importing prospection stays fast.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = ["from_json", "from_text", "to_json", "to_text"]

T = TypeVar("T")


@lru_cache(maxsize=64)
def _adapter(kind: Hashable) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(cast("type[Any]", kind))


def to_json(value: object) -> Any:  # noqa: ANN401 - JSON data
    """Return `value` as JSON data: dicts, lists, strings, numbers, booleans and None."""
    return _adapter(cast("Hashable", type(value))).dump_python(value, mode="json")


def from_json(kind: type[T], data: Any) -> T:  # noqa: ANN401 - JSON data
    """Return the value of type `kind` that `to_json` turned into `data`.

    Raises:
        pydantic.ValidationError: The data does not describe such a value.
    """
    return cast("T", _adapter(cast("Hashable", kind)).validate_python(data, strict=False))


def to_text(value: object) -> str:
    """Return `value` as one line of JSON."""
    return _adapter(cast("Hashable", type(value))).dump_json(value).decode()


def from_text(kind: type[T], text: str | bytes) -> T:
    """Return the value of type `kind` from its JSON text."""
    return cast("T", _adapter(cast("Hashable", kind)).validate_json(text))
