"""Facts that a person writes, corrects, pins or removes with their own hand.

They are facts like all others, with `BY_HAND` in place of a conversation as their source: recall finds them, history
keeps their versions, `forget` erases them. No model is asked: what a person writes is stored as it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from prospection.errors import InputError
from prospection.protocols import Embedder, FactLedger
from prospection.remember.rules.kinds import entities, guess_type
from prospection.remember.upsert import additions
from prospection.types import BY_HAND, Candidate, Close, Cue, Fact, FactType, Pin, Revise, Source, whole_text

__all__ = ["ByHand"]

_SOURCE = (Source(session=BY_HAND),)


@dataclass(frozen=True, slots=True, kw_only=True)
class ByHand:
    """Changes one user's facts as the person says."""

    user: str
    store: FactLedger
    embedder: Embedder

    async def add(
        self,
        info: str,
        *,
        at: datetime,
        kind: FactType | None = None,
        cues: Sequence[str] = (),
        pinned: bool = False,
    ) -> Fact:
        """Store a statement. One that is stored already is reinforced.

        Args:
            at: When it was written down.
            kind: None: guessed by words.
            cues: Future situations in which it will matter.
            pinned: Pin it, too.

        Raises:
            InputError: The statement is empty, or is no text that can be stored.
            ModelError: The encoder failed.
        """
        info = _checked(info)
        candidate = Candidate(
            info=info,
            type=kind or guess_type(info),
            related_entities=entities(info),
            provenance=_SOURCE,
            cues=tuple(Cue(text=text) for text in cues),
            pinned=pinned,
        )
        (fact,) = await self.store.edit_facts(self.user, await additions([candidate], self.embedder), at=at)
        return fact

    async def edit(
        self,
        fid: str,
        info: str,
        *,
        at: datetime,
        kind: FactType | None = None,
        cues: Sequence[str] | None = None,
    ) -> Fact:
        """Write a new version of a current fact; the old one stays as history. What is not given stays as it was.

        Raises:
            InputError: There is no such fact, or the statement is empty.
            ConflictError: The fact has been replaced or removed.
            ModelError: The encoder failed.
        """
        info = _checked(info)
        old = await self._fact(fid)
        named = [name for name in old.related_entities if name.casefold() in info.casefold()]
        candidate = Candidate(
            info=info,
            type=kind or old.type or guess_type(info),
            related_entities=tuple(dict.fromkeys([*named, *entities(info)])),
            provenance=_SOURCE,
            event_time=old.event_time,
            cues=old.cues if cues is None else tuple(Cue(text=text) for text in cues),
            pinned=old.pinned,
        )
        (new,) = await additions([candidate], self.embedder)
        revise = Revise(fids=(fid,), candidate=new.candidate, vector=new.vector, cue_vectors=new.cue_vectors)
        (fact,) = await self.store.edit_facts(self.user, [revise], at=at)
        return fact

    async def pin(self, fid: str, *, at: datetime, pinned: bool = True) -> Fact:
        """Pin a current fact, or take the pin out.

        Raises:
            InputError: There is no such fact.
            ConflictError: The fact has been replaced or removed.
        """
        await self._fact(fid)
        (fact,) = await self.store.edit_facts(self.user, [Pin(fid=fid, pinned=pinned)], at=at)
        return fact

    async def remove(self, fid: str, *, at: datetime) -> Fact:
        """End a current fact. It stays as history; to erase it is another thing.

        Raises:
            InputError: There is no such fact.
            ConflictError: The fact has been replaced or removed.
        """
        await self._fact(fid)
        (fact,) = await self.store.edit_facts(self.user, [Close(fid=fid)], at=at)
        return fact

    async def _fact(self, fid: str) -> Fact:
        found = await self.store.facts(self.user, fids=[fid])
        if not found:
            raise InputError(f"user {self.user!r} has no fact {fid!r}; list them to see their ids")
        return found[0]


def _checked(info: str) -> str:
    text = " ".join(whole_text(info, "the statement").split())
    if not text:
        raise InputError(f"the statement {info!r} is empty; write what shall be remembered")
    return text
