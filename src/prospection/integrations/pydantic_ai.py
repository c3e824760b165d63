"""pydantic-ai: our memory as a toolset of one user (extra `llm`)."""

from __future__ import annotations

from typing import Any

from prospection.errors import MissingExtraError
from prospection.integrations.bound import BoundMemory, MemoryTools, Recalls

try:
    from pydantic_ai import FunctionToolset
except ImportError as error:
    raise MissingExtraError("pydantic-ai", "llm") from error

__all__ = ["memory_toolset"]


def memory_toolset(
    memory: Recalls,
    *,
    user: str | None = None,
    policy: str | None = None,
    limit: int | None = None,
    remember: bool = True,
) -> FunctionToolset[Any]:
    """Return the tools `recall` and `remember` for an agent; see `BoundMemory` for the arguments.

    Args:
        remember: Offer `remember` too; False for a memory that the agent may only read.
    """
    bound = BoundMemory(memory, user=user, policy=policy, limit=limit)
    tools = MemoryTools(bound)
    return FunctionToolset([tools.recall, tools.remember] if remember else [tools.recall])
