"""mem0: its memories of one user, agent or run as a memory (extra `mem0`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from prospection.errors import InputError
from prospection.integrations.found import Found, instant
from prospection.integrations.function import FunctionRetriever, call, search_each

__all__ = ["Searchable", "retriever"]


class Searchable(Protocol):
    """`mem0.Memory` or `mem0.AsyncMemory`, from version 2 on."""

    @property
    def search(self) -> Any:  # noqa: ANN401 - plain or async
        """From a query, `filters`, `top_k` and `threshold` to {"results": [...]}."""
        ...


def retriever(
    memory: Searchable, *, user: str | None = None, filters: Mapping[str, Any] | None = None, most: int = 100
) -> FunctionRetriever:
    """Return a `Retriever` over mem0.

    The score is mem0's own, in [0, 1]: the vector store's similarity, averaged with words and entities where mem0
    finds any. Its threshold is set to 0, since most of what thinking ahead looks for is not near to the request.

    Args:
        user: mem0's `user_id`.
        filters: More of mem0's filters, or other ones: `agent_id`, `run_id`, metadata.
        most: Memories of one probe at most.

    Raises:
        InputError: Neither user nor filters.
    """
    chosen = {**({"user_id": user} if user is not None else {}), **(filters or {})}
    if not chosen:
        raise InputError("mem0 keeps memories of many; say whose, for example user='ada' or filters={'agent_id': 'a1'}")

    async def ask(texts: list[str], k: int) -> list[list[Found]]:
        async def one(text: str) -> list[Found]:
            reply = await call(memory.search, text, filters=dict(chosen), top_k=k, threshold=0.0)
            return [
                Found(
                    id=str(item["id"]),
                    text=item["memory"],
                    score=float(item["score"]),
                    said_at=instant(item.get("updated_at") or item.get("created_at")),
                )
                for item in reply["results"]
            ]

        return await search_each(one, texts)

    return FunctionRetriever(ask, most=most)
