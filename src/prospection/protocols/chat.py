"""What a language model has to be able to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar, runtime_checkable

from prospection.types import CHARACTERS_PER_TOKEN, Usage

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["ChatModel", "ChatReply", "ChatRequest", "ReplyT", "StreamingChat"]

ReplyT = TypeVar("ReplyT", bound="BaseModel | str")
"""What a reply has to fit: a pydantic model, or `str` for free text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest(Generic[ReplyT]):
    """One question to a language model.

    Attributes:
        stage: Name of the stage, which is the name of its prompt file.
        subject: What the call is about, stable between runs: recorded replies are found by (stage, subject).
        system: The instructions. Never holds text that came from a user or from memory.
        user: The material, with untrusted text in named tags.
        prompt: Hash of the prompt file.
        reply: The pydantic model the reply must fit, or `str` for free text.
    """

    stage: str
    subject: str
    system: str
    user: str
    prompt: str
    reply: type[ReplyT]

    @property
    def tokens(self) -> int:
        """About how many tokens it takes to send: for ceilings, which hold before anybody has counted."""
        return (len(self.system) + len(self.user)) // CHARACTERS_PER_TOKEN


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatReply(Generic[ReplyT]):
    """A reply that parsed, and what it cost, including failed attempts on the way."""

    value: ReplyT
    usage: Usage
    model: str


class ChatModel(Protocol):
    """A language model that answers in a given shape."""

    @property
    def name(self) -> str:
        """For traces and manifests, for example "openai:gpt-4o"."""
        ...

    async def complete(self, request: ChatRequest[ReplyT]) -> ChatReply[ReplyT]:
        """Ask once; repair and bounded retries happen inside.

        Raises:
            ReplyError: The reply never parsed; `raw` keeps it.
            ModelError: Anything else that kept a reply from coming; `usage` says what the attempts cost.
        """
        ...


@runtime_checkable
class StreamingChat(Protocol):
    """A `ChatModel` that lets its replies be read while they are being written."""

    async def stream(self, request: ChatRequest[ReplyT], heard: Callable[[str], None]) -> ChatReply[ReplyT]:
        """Ask as `complete` does, with the same result and the same errors.

        A callback rather than an iterator, so that retries, ceilings and cancelling stay inside one call.

        Args:
            heard: Called with all of the reply so far whenever more of it has come. When a reply turns out to be
                unusable and is asked for again, the text begins anew.
        """
        ...
