"""What a store of memory promises, by topic; `FactStore` is all of it together."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Protocol

from prospection.types import (
    Edit,
    Erased,
    Fact,
    Hit,
    Operation,
    Record,
    SearchFilter,
    SearchProbe,
    Session,
    SessionRecord,
    SessionState,
    Trace,
    Unembedded,
    Usage,
    Vectors,
)

__all__ = [
    "EVERYTHING_CURRENT",
    "Archive",
    "EncoderSwitch",
    "FactLedger",
    "FactStore",
    "SessionLog",
    "TraceLog",
    "UsageLedger",
]

EVERYTHING_CURRENT = SearchFilter()
"""What a search looks at that names no filter."""


class SessionLog(Protocol):
    """Conversations: durable before anything clever is done with them, and taken for extraction one lease at a time."""

    async def put_session(self, user: str, session: Session) -> SessionRecord:
        """Make a session durable before anything clever is done with it.

        The same id again is idempotent: messages already held are not held twice, and new ones are appended, which
        puts the session back to `PENDING`. On return the messages survive the death of the process.
        """
        ...

    async def claim_session(self, user: str, session_id: str, *, now: datetime, lease: float) -> SessionRecord | None:
        """Take a session for extraction for `lease` seconds, counting an attempt.

        Returns:
            The record in state `EXTRACTING`, or None when there is nothing to extract or somebody else holds it.
        """
        ...

    async def claim_next(
        self, *, now: datetime, lease: float, after: str | None = None, skip: frozenset[str] = frozenset()
    ) -> tuple[str, SessionRecord] | None:
        """Take the next session that is due, of any user. For an operator's worker; never for a user.

        Due are sessions that wait, that failed with a `retry_at` that has come, and that are being extracted under a
        lease that ran out. A user's sessions come one at a time, in the order of arrival: while one is being
        extracted under a lease that still runs, the user's others wait.

        Args:
            after: The user served last; the round goes on from there, so that nobody waits for another's backlog.
            skip: Users to pass over.

        Returns:
            The user and the record in state `EXTRACTING`, or None when nothing is due.
        """
        ...

    async def fail_session(
        self, user: str, session_id: str, *, reason: str, raw: str | None = None, retry_at: datetime | None = None
    ) -> None:
        """Mark a session as failed. Its messages stay.

        Args:
            retry_at: From when on `claim_next` may take it again; None: not before it is claimed by name.
        """
        ...

    async def release_session(self, user: str, session_id: str) -> None:
        """Put a claimed session back: it waits again and the attempt does not count. Does nothing to any other."""
        ...

    async def sessions(
        self,
        user: str,
        *,
        states: frozenset[SessionState] | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> list[SessionRecord]:
        """Page through a user's sessions in the order of arrival; `after` is the id of the last one seen."""
        ...

    async def session(self, user: str, session_id: str) -> SessionRecord | None:
        """One session, or None."""
        ...


class FactLedger(Protocol):
    """Facts with their versions: what extraction and edits make of them, and how they are searched."""

    async def finish_session(
        self,
        user: str,
        session_id: str,
        operations: Sequence[Operation],
        *,
        extracted: int,
        since: int | None = None,
        now: datetime,
    ) -> tuple[Fact, ...]:
        """Carry out the operations and mark the first `extracted` messages as done, in one transaction.

        An `Add` whose normalised text a current fact already has becomes a `Reinforce`; a `Revise` replaces such a
        fact as well. Facts begin to be valid at the session's time and were said at the session's time.

        Args:
            since: The claimed record's `extracted`. When somebody else has got further meanwhile, because a lease ran
                out, nothing is stored twice. None: not checked.

        Returns:
            The new, reinforced and revised facts as they now stand, one for each operation, in order.

        Raises:
            ConflictError: A fact to reinforce or revise is not current any more, or is pinned and would be replaced by
                one that is not; or the session was finished by somebody else.
        """
        ...

    async def edit_facts(self, user: str, edits: Sequence[Edit], *, at: datetime) -> tuple[Fact, ...]:
        """Carry out what comes from no conversation, in one transaction.

        Additions, and revisions that name a source, are valid from `at` and said at `at`; without a source of their
        own they name `BY_HAND`. A merge (a `Revise` of several) has no source but those of its facts; pass the latest
        time at which one of them was said, and it takes their place on the time line.

        Returns:
            The facts concerned as they now stand, in the order of the edits; of an `Unmerge` all those that take the
            merge's place.

        Raises:
            ConflictError: A fact to change is not current any more, is pinned and would be replaced by one that is not,
                or is no merge to be taken back.
        """
        ...

    async def facts(
        self,
        user: str,
        *,
        fids: Sequence[str] | None = None,
        history: bool = False,
        session: str | None = None,
        pinned: bool = False,
        after: str | None = None,
        limit: int = 100,
    ) -> list[Fact]:
        """Page through a user's facts in the order of ids, or fetch some by id, in the order asked, if there.

        Args:
            history: Include facts that a later one has replaced. Facts asked for by id are found either way.
            session: Only facts that this session itself added, reinforced or revised.
            pinned: Only pinned facts.
        """
        ...

    async def search(
        self,
        user: str,
        probes: Sequence[SearchProbe],
        *,
        k: int,
        min_similarity: float = -1.0,
        where: SearchFilter = EVERYTHING_CURRENT,
    ) -> list[list[Hit]]:
        """Compare every probe with the user's facts, their cues or their words, as each probe says, in one round trip.

        Filters and threshold (inclusive) act before the limit; ties go by id. Over cues a fact appears once, with its
        best cue. Reads see all writes that were acknowledged before, by this process or another.

        Returns:
            One list for each probe, best first.
        """
        ...

    async def vectors(self, user: str, fids: Sequence[str]) -> Vectors:
        """Return the vectors of some of the user's facts.

        Returns:
            (n, d) float32 unit rows in the order of `fids`, current or not.

        Raises:
            StoreError: A fact is not there.
        """
        ...


class EncoderSwitch(Protocol):
    """Vectors of another encoder beside those in use, until they can take over."""

    async def prepare_encoder(self, encoder: tuple[str, int]) -> int:
        """Make room for vectors of another encoder beside those in use. For operators.

        Searches go on with the encoder in use, and new facts come with its vectors. One encoder at a time can be on
        its way: preparing a third gives up the second.

        Args:
            encoder: Id and width.

        Returns:
            How many statements and cues, those of replaced facts too, have no vector of it yet.
        """
        ...

    async def unembedded(
        self, encoder: tuple[str, int], *, after: tuple[int, int] | None = None, limit: int = 100
    ) -> list[Unembedded]:
        """Page through all users' statements and cues that have no vector of a prepared encoder. For operators.

        Args:
            after: `place` of the last one seen. What comes in later may stand before it: begin again until [] comes
                back from the beginning.
        """
        ...

    async def put_vectors(self, encoder: tuple[str, int], texts: Sequence[Unembedded], vectors: Vectors) -> None:
        """Keep (n, d) float32 unit rows of n texts. A text that was forgotten or changed meanwhile gets none.

        Raises:
            ConflictError: Another encoder was prepared since.
        """
        ...

    async def use_encoder(self, encoder: tuple[str, int]) -> bool:
        """Search with the prepared encoder from now on, in one transaction, if no vector is missing. For operators.

        Afterwards a store that was opened with the former encoder, in whatever process, neither searches nor adds
        facts any more: it raises EncoderMismatchError.

        Returns:
            Whether the encoder is in use now; False: vectors are missing, see `unembedded`.
        """
        ...

    async def drop_unused_vectors(self) -> int:
        """Remove the vectors of encoders that are not in use nor prepared; return how many. For operators."""
        ...


class UsageLedger(Protocol):
    """What has been spent on whom, so that ceilings survive a restart."""

    async def add_usage(self, user: str, usage: Usage, *, day: date) -> None:
        """Add to what has been spent on a user on a day (UTC)."""
        ...

    async def usage(self, user: str | None = None, *, since: date) -> Usage:
        """Sum what has been spent from a day on: on a user, or on all, forgotten ones included."""
        ...


class TraceLog(Protocol):
    """The stories of recalls."""

    async def put_trace(self, user: str, trace: Trace) -> None:
        """Keep a trace, unless it shows a fact or a user that has been forgotten meanwhile."""
        ...

    async def traces(self, user: str, *, before: str | None = None, limit: int = 20) -> list[Trace]:
        """Newest first."""
        ...

    async def trace(self, user: str, trace_id: str) -> Trace | None:
        """One trace, or None."""
        ...


class Archive(Protocol):
    """Everything of a user, to take along."""

    async def dump(self, user: str, *, after: Record | None = None, limit: int = 100) -> list[Record]:
        """Page through all that a user has, facts without their vectors, in an order in which `restore` takes it.

        Args:
            after: The last record seen. The first page may be short; [] comes after the last one.
        """
        ...

    async def restore(self, user: str, records: Sequence[Record]) -> None:
        """Write records that `dump` gave, here or elsewhere, to the last detail, in one transaction.

        Records that are held just so already are left alone: what was cut short can be done again from the beginning.
        Facts bring the vectors of this store's encoder. A session that was being extracted waits again.

        Raises:
            ConflictError: Something else is held in a record's place.
            InputError: A fact's id or times are not such as a store gives.
            StoreError: A fact comes without vectors.
        """
        ...


class FactStore(SessionLog, FactLedger, EncoderSwitch, UsageLedger, TraceLog, Archive, Protocol):
    """Where sessions, facts, vectors and traces live.

    A user is an argument of every call: there is no call that sees two users' facts, but for those that are marked as
    an operator's. Methods are coroutines because a store may be on a network. Every write is one transaction: it
    happened whole or not at all.
    """

    async def users(self, *, after: str | None = None, limit: int = 100) -> list[str]:
        """Names of the users that have anything here, in alphabetical order. For operators; never for a user."""
        ...

    async def forget(self, user: str, *, session: str | None = None, fid: str | None = None) -> Erased:
        """Erase every trace of a user, of one session and the facts that stand on it alone, or of one fact."""
        ...

    async def statistics(self, user: str | None = None) -> dict[str, int]:
        """Counts of sessions by state, facts, cues, vectors and traces."""
        ...

    async def close(self) -> None:
        """Release files and connections. Idempotent."""
        ...
