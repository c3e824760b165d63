"""What a conversation came to: a session in, what it did to each fact out. Reads only."""

from __future__ import annotations

from prospection.errors import InputError
from prospection.protocols import FactStore
from prospection.types import Fact, Review, Reviewed

__all__ = ["review"]

_PAGE = 1000


async def review(user: str, session_id: str, store: FactStore) -> Review:
    """Return what a session added, reinforced and revised, each with the words it rests on.

    Raises:
        InputError: There is no such session.
        StoreError: The store failed.
    """
    record = await store.session(user, session_id)
    if record is None:
        raise InputError(f"user {user!r} has no session {session_id!r}; list the sessions to see their ids")
    touched: list[Fact] = []
    while page := await store.facts(
        user, history=True, session=session_id, after=touched[-1].fid if touched else None, limit=_PAGE
    ):
        touched += page
    return Review(session=record, facts=tuple([await _reviewed(user, session_id, fact, store) for fact in touched]))


async def _reviewed(user: str, session_id: str, fact: Fact, store: FactStore) -> Reviewed:
    replaced = tuple(await store.facts(user, fids=fact.supersedes)) if fact.supersedes else ()
    inherited = {source for old in replaced for source in old.provenance}
    own = [source for source in fact.provenance if source not in inherited]
    again = bool(own) and own[0].session != session_id
    return Reviewed(
        fact=fact,
        change="reinforced" if again else "revised" if replaced else "added",
        sources=tuple(source for source in fact.provenance if source.session == session_id),
        replaced=() if again else replaced,
        now=await _now(user, fact, store),
    )


async def _now(user: str, fact: Fact, store: FactStore) -> Fact | None:
    """Follow what replaced a fact to its end; None where nothing did."""
    latest: Fact | None = None
    successor = fact.superseded_by
    while successor is not None and (found := await store.facts(user, fids=[successor])):
        latest = found[0]
        successor = latest.superseded_by
    return latest
