"""How far the extraction of a session is. Reads only."""

from __future__ import annotations

from prospection.protocols import FactStore
from prospection.types import SessionStatus

__all__ = ["session_status"]

_PAGE = 500


async def session_status(store: FactStore, user: str, session_id: str) -> SessionStatus | None:
    """Return where a session of a user stands; None when there is none of that id."""
    record = await store.session(user, session_id)
    if record is None:
        return None
    facts, after = 0, None
    while page := await store.facts(user, session=session_id, history=True, after=after, limit=_PAGE):
        facts, after = facts + len(page), page[-1].fid
    return SessionStatus(
        session=session_id,
        state=record.state,
        messages=len(record.session.messages),
        extracted=record.extracted,
        facts=facts,
        attempts=record.attempts,
        reason=record.reason,
        retry_at=record.retry_at,
    )
