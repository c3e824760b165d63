"""OpenAI Agents SDK: our memory as tools of one user, and as what a session leaves behind (extra `openai-agents`)."""

from __future__ import annotations

from typing import Any, cast

from prospection.errors import MissingExtraError
from prospection.integrations.bound import BoundMemory, MemoryTools, Recalls

try:
    from agents import FunctionTool, Session, SessionSettings, TResponseInputItem, function_tool
except ImportError as error:
    raise MissingExtraError("OpenAI Agents", "openai-agents") from error

__all__ = ["RememberingSession", "memory_tools"]


def memory_tools(
    memory: Recalls,
    *,
    user: str | None = None,
    policy: str | None = None,
    limit: int | None = None,
    remember: bool = True,
) -> list[FunctionTool]:
    """Return the tools `recall` and `remember` for an agent; see `BoundMemory` for the arguments.

    Errors are raised, not told to the model.

    Args:
        remember: Offer `remember` too; False for a memory that the agent may only read.
    """
    tools = MemoryTools(BoundMemory(memory, user=user, policy=policy, limit=limit))
    offered = [tools.recall, tools.remember] if remember else [tools.recall]
    return [function_tool(tool, failure_error_function=None) for tool in offered]


class RememberingSession:
    """A session whose conversation also goes into long-term memory.

    The history of the conversation, with its tool calls, stays with the session inside; what the person and the
    assistant said goes to the memory as well, under the same session id. What `pop_item` and `clear_session` take out
    of the history stays remembered: `Memory.forget(user=..., session=...)` takes it out of memory.
    """

    def __init__(self, inner: Session, memory: Recalls, *, user: str, wait: bool = True) -> None:
        """Put a memory beside a session.

        Args:
            inner: Keeps the history, for example the SDK's `SQLiteSession`.
            user: Whose memory.
            wait: Extract facts at once; otherwise messages are kept until `Memory.retry`.
        """
        self._inner = inner
        self._memory = BoundMemory(memory, user=user)
        self._wait = wait
        self.session_id = inner.session_id
        self.session_settings: SessionSettings | None = inner.session_settings

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the history; see the SDK's `Session`."""
        return await self._inner.get_items(limit)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add to the history, and remember what was said in it."""
        await self._inner.add_items(items)
        messages = [message for item in items if (message := _message(cast("dict[str, Any]", item))) is not None]
        if messages:
            await self._memory.add(messages, session=self.session_id, wait=self._wait)

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the latest item out of the history."""
        return await self._inner.pop_item()

    async def clear_session(self) -> None:
        """Empty the history."""
        await self._inner.clear_session()


def _message(item: dict[str, Any]) -> dict[str, Any] | None:
    """Return what a person or the assistant said; None for tool calls, their results, reasoning and instructions."""
    if item.get("role") not in {"user", "assistant"}:
        return None
    content = item.get("content")
    if not isinstance(content, str):
        content = "\n".join(part["text"] for part in content or () if part.get("text"))
    return {"role": item["role"], "content": content} if content.strip() else None
