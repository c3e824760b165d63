"""What a memory holds: to look at, to take along, to erase."""

from __future__ import annotations

from collections.abc import Sequence

from prospection.memory.opening import Opening, checked, page
from prospection.types import Erased, Fact, Record, SessionRecord, SessionState

__all__ = ["Holds"]


class Holds(Opening):
    """Look at what is held, move it, erase it."""

    async def facts(
        self, *, user: str, history: bool = False, after: str | None = None, limit: int = 100
    ) -> list[Fact]:
        """Page through a user's facts in the order of ids; `after` is the last id seen.

        Args:
            history: Include facts that later ones have replaced.
        """
        return await (await self._open()).store.facts(checked(user), history=history, after=after, limit=page(limit))

    async def fact(self, fid: str, *, user: str) -> Fact | None:
        """Return one fact, current or not, or None."""
        found = await (await self._open()).store.facts(checked(user), fids=[fid])
        return found[0] if found else None

    async def sessions(
        self,
        *,
        user: str,
        states: frozenset[SessionState] | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> list[SessionRecord]:
        """Page through a user's sessions in the order of arrival; `after` is the last id seen."""
        return await (await self._open()).store.sessions(checked(user), states=states, after=after, limit=page(limit))

    async def session(self, session_id: str, *, user: str) -> SessionRecord | None:
        """Return one session with its messages and its state, or None."""
        return await (await self._open()).store.session(checked(user), session_id)

    async def users(self, *, after: str | None = None, limit: int = 100) -> list[str]:
        """Page through the names of all users, for operators."""
        return await (await self._open()).store.users(after=after, limit=page(limit))

    async def statistics(self, *, user: str | None = None) -> dict[str, int]:
        """Count sessions by state, facts, cues, vectors and traces, of one user or of all."""
        return await (await self._open()).store.statistics(None if user is None else checked(user))

    async def forget(self, *, user: str, session: str | None = None, fid: str | None = None) -> Erased:
        """Erase a user, a session with the facts that stand on it alone, or a fact, without a trace.

        Returns:
            What was erased, counted.
        """
        return await (await self._open()).store.forget(checked(user), session=session, fid=fid)

    async def dump(self, *, user: str, after: Record | None = None, limit: int = 100) -> list[Record]:
        """Page through everything a user has, facts without their vectors; `after` is the last record seen.

        `prospection.exchange.archive` writes it to a file and reads it back.
        """
        return await (await self._open()).store.dump(checked(user), after=after, limit=page(limit))

    async def restore(self, records: Sequence[Record], *, user: str) -> None:
        """Write what `dump` gave, here or elsewhere, to the last detail: ids, versions, times, states.

        Facts are embedded with this memory's encoder. What is held just so already is left alone.

        Raises:
            ConflictError: Something else is held in a record's place.
            ModelError: The encoder's endpoint failed.
        """
        from prospection.remember.vectors import with_vectors

        opened = await self._open()
        await opened.store.restore(checked(user), await with_vectors(records, opened.embedder))
