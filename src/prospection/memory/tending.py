"""Tending a memory: facts by hand, merging, cues, another encoder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from prospection.config import load_settings
from prospection.errors import ConfigError
from prospection.memory.opening import Opened, Opening, checked, instant, now
from prospection.protocols import Embedder, Progress
from prospection.types import Budget, Consolidation, CueBackfill, Fact, FactType, Unmerge

if TYPE_CHECKING:
    from prospection.models.meter import MeteredChat
    from prospection.remember.by_hand import ByHand

__all__ = ["Tends"]


class Tends(Opening):
    """Correct and tidy what is held."""

    async def add_fact(
        self,
        info: str,
        *,
        user: str,
        kind: FactType | None = None,
        cues: Sequence[str] = (),
        pinned: bool = False,
        at: datetime | None = None,
    ) -> Fact:
        """Store a statement as it stands; no model is asked. One that is stored already is reinforced.

        Args:
            info: One statement about the person.
            kind: By default guessed from its words.
            cues: Future situations in which it will matter.
            pinned: Put it in front of every context; no model ever replaces it.
            at: When it was said, aware; by default now.

        Raises:
            InputError: The statement is empty, or the time naive.
        """
        return await (await self._by_hand(user)).add(info, at=instant(at), kind=kind, cues=cues, pinned=pinned)

    async def edit_fact(
        self,
        fid: str,
        info: str,
        *,
        user: str,
        kind: FactType | None = None,
        cues: Sequence[str] | None = None,
        at: datetime | None = None,
    ) -> Fact:
        """Write a new version of a current fact and return it. The old version stays as history.

        Raises:
            InputError: There is no such fact, or the statement is empty.
            ConflictError: The fact has been replaced or removed.
        """
        return await (await self._by_hand(user)).edit(fid, info, at=instant(at), kind=kind, cues=cues)

    async def pin_fact(self, fid: str, *, user: str, pinned: bool = True) -> Fact:
        """Pin a current fact: it heads every context and no model replaces it. Or take the pin out.

        Raises:
            InputError: There is no such fact.
            ConflictError: The fact has been replaced or removed.
        """
        return await (await self._by_hand(user)).pin(fid, at=now(), pinned=pinned)

    async def remove_fact(self, fid: str, *, user: str, at: datetime | None = None) -> Fact:
        """End a current fact: it is not recalled any more and stays as history. `forget` erases.

        Raises:
            InputError: There is no such fact.
            ConflictError: The fact has been replaced or removed already.
        """
        return await (await self._by_hand(user)).remove(fid, at=instant(at))

    async def consolidate(
        self,
        *,
        user: str,
        dry_run: bool = False,
        order: Literal["published", "improved"] | None = None,
        budget: Budget | None = None,
        progress: Progress | None = None,
    ) -> Consolidation:
        """Merge facts that belong together, among those that came since the last consolidation and their neighbours.

        Sources stay as history, and a merge can be taken back with `unmerge`. Without a language model only repeats of
        one statement are merged.

        Args:
            dry_run: Only say which facts would be looked at together; nothing is asked or changed.
            order: How facts are grouped; by default as the settings say.
            budget: Ceilings; at a ceiling the result says so, and the next run goes on.
            progress: Called with the groups dealt with and in all.

        Raises:
            ModelError: The model failed; merges made before stay.
        """
        from prospection.remember.consolidation import Consolidating

        opened = await self._open()
        work = Consolidating(
            user=checked(user),
            store=opened.store,
            embedder=opened.embedder,
            model=_metered(opened, user, budget),
            settings=opened.settings.remember,
        )
        return await work.run(preview=dry_run, order=order, progress=progress)

    async def unmerge(self, fid: str, *, user: str) -> tuple[Fact, ...]:
        """Take a merge back: return the facts it was made of, current again.

        Raises:
            ConflictError: There is no such fact, it is not current, or it was not merged from others.
        """
        return await (await self._open()).store.edit_facts(checked(user), [Unmerge(fid=fid)], at=now())

    async def backfill_cues(
        self,
        *,
        user: str,
        fids: Sequence[str] | None = None,
        budget: Budget | None = None,
        progress: Progress | None = None,
    ) -> CueBackfill:
        """Write future cues for the facts that have none, twenty facts a call; run it again to go on where it ended.

        Args:
            fids: Write the cues of these facts anew instead.
            budget: Ceilings of this run.
            progress: Called with the facts dealt with and in all.

        Raises:
            ConfigError: There is no language model.
            ModelError: The model failed; cues stored before stay.
        """
        from prospection.remember.cues import CueWriting

        opened = await self._open()
        model = _metered(opened, user, budget)
        if model is None:
            raise ConfigError("cues are written by a language model; name one, for example model='openai:gpt-4o'")
        work = CueWriting(
            user=checked(user),
            store=opened.store,
            embedder=opened.embedder,
            model=model,
            settings=opened.settings.remember,
        )
        return await work.run(at=now(), fids=fids, progress=progress)

    async def reembed(self, encoder: str | Embedder, *, progress: Progress | None = None) -> int:
        """Make all vectors of the file anew with another encoder, and use that one from then on. For operators.

        Memory can be used throughout, and no recall mixes encoders. Work that was cut short goes on where it stood
        when it is begun again. Others who have the file open find and add nothing from then on until they open it with
        the new encoder: name it in the settings.

        Args:
            encoder: Name of an encoder, or an `Embedder`.
            progress: Told how many texts are embedded, and of how many.

        Returns:
            How many texts were embedded.

        Raises:
            ConfigError: The memory is not in a file, or in a store that was given.
            ConflictError: Somebody else has begun to re-embed with a third encoder.
            ModelError: The encoder's endpoint failed; begin again.
        """
        from prospection.remember.reembed import reembed

        settings = self._given_settings or load_settings()
        if self._given_store is not None or os.fspath(self._path or settings.store.path or "") == ":memory:":
            raise ConfigError(
                "only a memory in a file of its own can be re-embedded here; for a store that you opened yourself, "
                "await prospection.remember.reembed.reembed(store, embedder) and open it again with that encoder"
            )
        chosen = await self._embedder(encoder, settings)
        async with await self._open_file(settings, None) as store:

            async def cut_over() -> bool:
                async with self._opening:  # whoever comes now opens the memory with the new encoder
                    if not await store.use_encoder((chosen.id, chosen.dims)):
                        return False
                    if self._opened is not None:
                        self._former.append(self._opened.store)  # recalls under way may still read from it
                    self._opened, self._encoder = None, chosen
                    return True

            return await reembed(store, chosen, cut_over=cut_over, progress=progress)

    async def _by_hand(self, user: str) -> ByHand:
        from prospection.remember.by_hand import ByHand

        opened = await self._open()
        return ByHand(user=checked(user), store=opened.store, embedder=opened.embedder)


def _metered(opened: Opened, user: str, budget: Budget | None) -> MeteredChat | None:
    from prospection.models.meter import MeteredChat

    model = opened.remembering.chat(user, now=now())
    return None if model is None else MeteredChat(model, budget)
