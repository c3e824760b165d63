"""Vectors of texts to search with, for memories that hold vectors and leave embedding to their users."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from prospection.errors import InputError
from prospection.integrations.function import call
from prospection.protocols import Embedder

__all__ = ["Embed", "embed_queries"]

Embed: TypeAlias = "Embedder | Callable[[list[str]], Sequence[Sequence[float]] | Awaitable[Sequence[Sequence[float]]]]"
"""The encoder that the memory's vectors were made with: an `Embedder`, or a function from n texts to n vectors."""


async def embed_queries(embed: Embed, texts: list[str]) -> list[list[float]]:
    """Return one vector for each text, as plain floats.

    Raises:
        InputError: The function returned another number of vectors.
    """
    if callable(embed):
        rows = await call(embed, texts)
    else:
        rows = await embed.embed(texts, role="query")
    if len(rows) != len(texts):
        raise InputError(f"embed({len(texts)} texts) returned {len(rows)} vectors; return one for each text, in order")
    return [[float(value) for value in row] for row in rows]
