"""Conversations, as they come and as a store holds them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal

__all__ = ["Message", "Role", "Session", "SessionRecord", "SessionState", "SessionStatus"]

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a conversation.

    Attributes:
        recalled: The text was given *to* the assistant out of memory. It is stored with its session and never
            extracted again: otherwise memories breed copies of themselves.
    """

    role: Role
    content: str
    name: str | None = None
    at: datetime | None = None
    recalled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A dated conversation.

    Attributes:
        id: The caller's name for it, unique per user.
        at: When it took place. Relative times inside ("yesterday") are resolved against it.
        zone: IANA name of the person's time zone, for example "Europe/Zurich".
    """

    id: str
    at: datetime
    messages: tuple[Message, ...]
    zone: str | None = None


class SessionState(StrEnum):
    """Where a stored session stands. `PENDING` and `FAILED` keep every message and can be run again."""

    PENDING = "pending"
    EXTRACTING = "extracting"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """A session as the store holds it.

    Attributes:
        extracted: How many of its messages have been turned into facts; the rest is new.
        reason: Why it is `FAILED`, in one sentence.
        raw: The reply that could not be used, when there was one.
        attempts: How often extraction has been started since the last success.
        retry_at: When a worker will try again a session that is `FAILED`; None: not before it is retried by hand.
        erased: Messages whose text was erased, as (place, echo): 32 bits by which one is known when it is sent again.
    """

    session: Session
    state: SessionState
    extracted: int = 0
    attempts: int = 0
    reason: str | None = None
    raw: str | None = None
    erased: tuple[tuple[int, int], ...] = ()
    retry_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStatus:
    """How far the extraction of a session is.

    Attributes:
        messages: How many messages it has.
        extracted: How many of them have been turned into facts.
        facts: How many facts it added, reinforced or revised.
        attempts: How often extraction has been started since the last success.
        reason: Why it is `FAILED`.
        retry_at: When a worker will try again a session that is `FAILED`; None: not before it is retried by hand.
    """

    session: str
    state: SessionState
    messages: int
    extracted: int
    facts: int
    attempts: int
    reason: str | None = None
    retry_at: datetime | None = None
