"""The seams of the system: what a plug has to be able to do.

Each protocol has few methods; the contract suites in `tests/contracts` run unchanged on every implementation.
"""

from __future__ import annotations

from prospection.protocols.chat import ChatModel, ChatReply, ChatRequest, ReplyT, StreamingChat
from prospection.protocols.encoders import Embedder, Progress, TextRole
from prospection.protocols.retrieval import Retriever, VectorSource
from prospection.protocols.store import (
    EVERYTHING_CURRENT,
    Archive,
    EncoderSwitch,
    FactLedger,
    FactStore,
    SessionLog,
    TraceLog,
    UsageLedger,
)

__all__ = [
    "EVERYTHING_CURRENT",
    "Archive",
    "ChatModel",
    "ChatReply",
    "ChatRequest",
    "Embedder",
    "EncoderSwitch",
    "FactLedger",
    "FactStore",
    "Progress",
    "ReplyT",
    "Retriever",
    "SessionLog",
    "StreamingChat",
    "TextRole",
    "TraceLog",
    "UsageLedger",
    "VectorSource",
]
