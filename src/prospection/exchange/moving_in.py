"""From an export into memory.

In goes a path and whose memory; out comes a `MovingIn`: what is new, grown, known, skipped and why. Conversations are
stored oldest first and wait there for extraction. Their ids are the export's: a second run adds nothing, a run that was
killed goes on where it ended, and a conversation that has grown since gets its new messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from zoneinfo import ZoneInfo

import anyio.to_thread

from prospection.exchange.conversations import Conversation, Reading, Skipped
from prospection.exchange.sources import open_parts
from prospection.exchange.survey import Survey, Wanted, survey
from prospection.memory import AsyncMemory
from prospection.protocols import Progress
from prospection.remember.conversation import as_session
from prospection.types import Message, Session, SessionRecord, SessionState

__all__ = ["MovingIn", "move_in"]

_AT_ONCE = 32
"""Conversations that are parsed in one trip to a thread, and stored in one transaction."""


@dataclass(slots=True, kw_only=True)
class MovingIn:
    """What came of an import.

    Attributes:
        layouts: Titles of the layouts found.
        size: Bytes read.
        conversations: Conversations in the export that were wanted.
        messages: Messages in them.
        new: Ids of those that memory did not hold.
        grown: Ids of those of which it held a beginning, or which went on differently.
        known: How many it held already, whole.
        skipped: What was not imported, and why.
        left_out: How much was left out of the conversations that were, by reason.
    """

    layouts: Sequence[str]
    size: int
    conversations: int
    messages: int
    new: list[str] = field(default_factory=list)
    grown: list[str] = field(default_factory=list)
    known: int = 0
    skipped: Sequence[Skipped]
    left_out: Mapping[str, int]


async def move_in(
    memory: AsyncMemory,
    path: Path,
    *,
    user: str,
    wanted: Wanted | None = None,
    zone: str = "UTC",
    speaker: str | None = None,
    dry_run: bool = False,
    reading: Progress | None = None,
    storing: Progress | None = None,
) -> MovingIn:
    """Store the conversations of an export; `memory.retry` or a worker extracts them.

    Args:
        memory: Where to.
        path: File, folder or .zip.
        user: Whose memory.
        wanted: Which conversations; all by default.
        zone: IANA name of the person's time zone, in which times without a zone were written down as well.
        speaker: Which speaker is the person, in layouts that name speakers.
        dry_run: Only say what would be done.
        reading: Called with (bytes read, bytes in all).
        storing: Called with (conversations stored, conversations in all).

    Raises:
        InputError: The export cannot be read; nothing was stored.
        StoreError: It could not be written; what was stored before is kept.
    """
    how = Reading(zone=ZoneInfo(zone), speaker=speaker)
    with ExitStack() as stack:
        found = await anyio.to_thread.run_sync(lambda: _look(path, how, wanted or Wanted(), reading, stack))
        result = MovingIn(
            layouts=found.titles,
            size=found.size,
            conversations=len(found.entries),
            messages=sum(entry.messages for entry in found.entries),
            skipped=found.skipped,
            left_out=found.left_out,
        )
        mover = _Mover(memory, user, zone, dry_run, result, empty=not await memory.sessions(user=user, limit=1))
        conversations = found.conversations()
        stack.callback(conversations.close)
        while batch := await anyio.to_thread.run_sync(lambda: list(islice(conversations, _AT_ONCE))):
            await mover.take(batch)
            if storing:
                storing(mover.done, len(found.entries))
    return result


def _look(path: Path, how: Reading, wanted: Wanted, progress: Progress | None, stack: ExitStack) -> Survey:
    return survey(stack.enter_context(open_parts(path)), how, wanted, progress)


@dataclass(slots=True)
class _Mover:
    """Puts conversations into memory. `empty`: it held none of this user when the import began."""

    memory: AsyncMemory
    user: str
    zone: str
    dry_run: bool
    result: MovingIn
    empty: bool
    done: int = 0

    async def take(self, conversations: Sequence[Conversation]) -> None:
        fresh: list[SessionRecord] = []
        for conversation in conversations:
            record = None if self.empty else await self.memory.session(conversation.id, user=self.user)
            if record is None:
                self.result.new.append(conversation.id)
                fresh.append(SessionRecord(session=self._session(conversation), state=SessionState.PENDING))
            else:
                await self._continue(record.session.messages, conversation)
        if fresh and not self.dry_run:  # in one transaction: waiting for the disk is what importing takes longest for
            await self.memory.restore(fresh, user=self.user)
        self.done += len(conversations)

    async def _continue(self, held: Sequence[Message], conversation: Conversation) -> None:
        shared = _shared(held, conversation.messages)
        if shared == len(conversation.messages):
            self.result.known += 1
            return
        self.result.grown.append(conversation.id)
        # One that goes on differently, after an edited message, keeps what was said before and gets the new end.
        messages = conversation.messages if shared == len(held) else conversation.messages[shared:]
        if not self.dry_run:
            await self.memory.add(
                messages,
                user=self.user,
                session=conversation.id,
                at=conversation.at,
                zone=self.zone,
                wait=False,
            )

    def _session(self, conversation: Conversation) -> Session:
        assert conversation.at is not None  # noqa: S101 - the survey dates every conversation
        return as_session(conversation.messages, id=conversation.id, at=conversation.at, zone=self.zone)


def _shared(held: Sequence[Message], sent: Sequence[Message]) -> int:
    """Return how many messages both begin with. An erased message, held without words, is the one in its place."""
    for place, (old, new) in enumerate(zip(held, sent, strict=False)):
        if old.content and (old.role, old.content, old.name) != (new.role, new.content, new.name):
            return place
    return min(len(held), len(sent))
