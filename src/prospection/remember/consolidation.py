"""Facts that belong together become one (paper, section 3.2, "consolidation").

In go a user's current facts; out comes what was merged, and what was not and why. A merge is written by a model,
checked by code, and carried out in one transaction that replaces the sources by the merged fact: until then they are
current, afterwards they are history, and the merge can be taken back. A merge that loses a name, a number, a day or a
"not", or brings one that no source has, is refused. Without a model only repeats of one statement are merged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, TypeAlias

import anyio.to_thread
from pydantic import BaseModel, Field

from prospection.config import RememberSettings
from prospection.errors import BudgetExceededError, ConflictError, ReplyError
from prospection.models.meter import MeteredChat
from prospection.prompts import load_prompt
from prospection.protocols import ChatRequest, Embedder, FactStore, Progress
from prospection.remember.clusters import Item, Pair, improved_groups, near_pairs, published_groups
from prospection.remember.cues import read_facts, with_telling_cues
from prospection.remember.replies import plain, plain_cues
from prospection.remember.statements import Statement, is_repeat, lost
from prospection.remember.upsert import additions, similarity_at, statement_of
from prospection.types import (
    Candidate,
    Consolidated,
    Consolidation,
    Cue,
    Fact,
    FactType,
    Merge,
    Revise,
    Usage,
)

__all__ = ["Consolidating", "MergedGroup", "MergedGroups", "Order"]

STAGE = "consolidate"
BATCH = 8
"""Groups in one call."""
_NEVER = datetime.min.replace(tzinfo=UTC)

Order: TypeAlias = Literal["published", "improved"]
Group: TypeAlias = tuple[Fact, ...]


class MergedGroup(BaseModel):
    """The statement that takes the place of a group."""

    group: int = Field(description="Number of the group")
    statement: str
    cues: list[str] = Field(default_factory=list, description="Future situations in which it will matter")


class MergedGroups(BaseModel):
    """The reply of the consolidation stage. Groups that are left out stay as they are."""

    merges: list[MergedGroup]


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidating:
    """Consolidates one user's facts.

    Attributes:
        model: Writes the merged statements, with the budget in force; None: only repeats are merged.
        settings: Thresholds, window, size, order.
    """

    user: str
    store: FactStore
    embedder: Embedder
    model: MeteredChat | None
    settings: RememberSettings

    async def run(
        self, *, preview: bool = False, order: Order | None = None, progress: Progress | None = None
    ) -> Consolidation:
        """Look at all facts that came since the last consolidation, with their neighbours among all facts.

        Pinned facts are left out. Each merge is stored as soon as it is checked. What was looked at is only ticked off
        at the end, and only where a model looked, so that a run that was cut short is made up for by the next one.

        Args:
            preview: Only say which facts would be merged; nothing is asked or changed.
            order: "published" or "improved"; None: as the settings say.
            progress: Called with the groups dealt with and in all.

        Raises:
            ModelError: The model or the encoder failed; merges made before stay.
            StoreError: The store failed.
        """
        facts = await read_facts(self.store, self.user)
        new = min((await self.store.statistics(self.user))["facts_new"], len(facts))
        groups = await self._groups(facts, len(facts) - new, order or self.settings.consolidate_order)
        if preview:
            merges = tuple(Merge(sources=group, refused=_at_different_times(group)) for group in groups)
            return Consolidation(facts=len(facts), new=new, merges=merges, usage=Usage(), preview=True)
        found: list[Merge] = []
        partial = None
        for start in range(0, len(groups), BATCH):
            if progress:
                progress(start, len(groups))
            try:
                found += await self._merge(groups[start : start + BATCH])
            except BudgetExceededError as error:
                partial = str(error)
                break
        if progress:
            progress(len(groups), len(groups))
        if partial is None and facts and self.model is not None:
            await self._tick_off(facts[-1], found)
        usage = Usage() if self.model is None else self.model.usage
        return Consolidation(facts=len(facts), new=new, merges=tuple(found), usage=usage, partial=partial)

    async def _groups(self, facts: Sequence[Fact], first_new: int, order: Order) -> list[Group]:
        settings = self.settings
        chosen = [fact for fact in facts if not fact.pinned]
        first = sum(not fact.pinned for fact in facts[:first_new])
        if first == len(chosen):
            return []
        vectors = await self.store.vectors(self.user, [fact.fid for fact in chosen])
        sd = settings.consolidate_sd if self.model is not None else settings.duplicate_sd
        threshold = similarity_at(self.embedder.calibration, sd)

        def work() -> list[list[int]]:
            pairs = near_pairs(vectors, threshold=threshold, first_new=first)
            if self.model is None:
                return _repeating(chosen, pairs, settings)
            return _grouped(chosen, pairs, order, settings)

        groups = await anyio.to_thread.run_sync(work)
        return [tuple(chosen[place] for place in group) for group in groups if group[-1] >= first]

    async def _merge(self, groups: Sequence[Group]) -> list[Merge]:
        """Merge a batch of groups, each in a transaction of its own."""
        at_odds = [Merge(sources=group, refused=why) for group in groups if (why := _at_different_times(group))]
        open_groups = [group for group in groups if not _at_different_times(group)]
        if not open_groups:
            return at_odds
        written = await self._written(open_groups)
        return at_odds + [
            await self._carry_out(group, each) if isinstance(each, Candidate) else Merge(sources=group, refused=each)
            for group, each in zip(open_groups, written, strict=True)
        ]

    async def _written(self, groups: Sequence[Group]) -> list[Candidate | str]:
        """Return for each group what takes its place, or why nothing does."""
        if self.model is None:
            return [_candidate(group, max(group, key=lambda fact: len(fact.info)).info, ()) for group in groups]
        try:
            reply = await self.model.complete(_request(groups, self.settings.cues_per_fact))
        except ReplyError as error:
            return [f"the model's reply could not be used: {error}"] * len(groups)
        statements = {line.group: line for line in reversed(reply.value.merges)}
        found: list[Candidate | str] = []
        for number, group in enumerate(groups, start=1):
            line = statements.get(number)
            statement = plain(line.statement) if line else ""
            if line is None or not statement:
                found.append("the model left them apart")
            else:
                found.append(_candidate(group, statement, plain_cues(line.cues, self.settings.cues_per_fact)))
        return found

    async def _carry_out(self, group: Group, candidate: Candidate) -> Merge:
        refused = _fault(group, candidate.info)
        if refused:
            return Merge(sources=group, statement=candidate.info, refused=refused)
        (new,) = await with_telling_cues(
            self.user,
            await additions([candidate], self.embedder),
            self.store,
            self.embedder,
            crowd=self.settings.cue_crowd,
        )
        revise = Revise(
            fids=tuple(fact.fid for fact in group),
            candidate=new.candidate,
            vector=new.vector,
            cue_vectors=new.cue_vectors,
        )
        try:
            (fact,) = await self.store.edit_facts(self.user, [revise], at=max(_said(fact) for fact in group))
        except ConflictError as error:
            return Merge(sources=group, statement=candidate.info, refused=str(error))
        return Merge(sources=group, statement=fact.info, fact=fact)

    async def _tick_off(self, last: Fact, merges: Sequence[Merge]) -> None:
        """Note how far the facts have been looked at: to the last one read, and merges that follow it directly."""
        made = {merge.fact.fid for merge in merges if merge.fact is not None}
        seen = last.fid
        while made and (following := await self.store.facts(self.user, history=True, after=seen, limit=1)):
            if following[0].fid not in made:
                break
            seen = following[0].fid
        await self.store.edit_facts(self.user, [Consolidated(fid=seen)], at=_said(last))


def _grouped(facts: Sequence[Fact], pairs: Sequence[Pair], order: Order, settings: RememberSettings) -> list[list[int]]:
    window = timedelta(days=settings.consolidate_days)
    items = [Item(at=_said(fact), apart=fact.type) for fact in facts]
    if order == "published":
        return published_groups(pairs, items, window=window)
    pairs = [pair for pair in pairs if not _at_different_times((facts[pair[1]], facts[pair[2]]))]
    return improved_groups(pairs, items, window=window, most=settings.consolidate_most)


def _repeating(facts: Sequence[Fact], pairs: Sequence[Pair], settings: RememberSettings) -> list[list[int]]:
    """Group facts of which every two say the same, so that the fullest of them says all."""
    overlap = settings.duplicate_overlap

    def repeats(pair: Pair) -> bool:
        left, right = statement_of(facts[pair[1]]), statement_of(facts[pair[2]])
        return is_repeat(left, right, overlap=overlap) or is_repeat(right, left, overlap=overlap)

    return _grouped(facts, [pair for pair in pairs if repeats(pair)], "improved", settings)


def _at_different_times(group: Sequence[Fact]) -> str | None:
    times = {fact.event_time for fact in group if fact.event_time is not None}
    return f"they happen at {len(times)} different times, of which one fact could keep one" if len(times) > 1 else None


def _fault(group: Group, statement: str) -> str | None:
    """Say what a merged statement loses or invents; None when it holds."""
    sources = [statement_of(fact) for fact in group]
    if missing := lost(sources, statement):
        return f"the merged statement lacks {', '.join(missing)}"
    if invented := lost([Statement(info=statement)], "\n".join(fact.info for fact in group)):
        return f"the merged statement brings in {', '.join(invented)}, which no source says"
    return None


def _candidate(group: Group, statement: str, cues: tuple[Cue, ...]) -> Candidate:
    """Return the merged fact: what most sources are, all their entities, the time that one of them has."""
    kinds = Counter(fact.type for fact in group if fact.type is not None)
    fullest = max(group, key=lambda fact: len(fact.info))
    return Candidate(
        info=statement,
        type=kinds.most_common(1)[0][0] if kinds else FactType.EVENT,
        related_entities=tuple(dict.fromkeys(name for fact in group for name in fact.related_entities)),
        event_time=next((fact.event_time for fact in group if fact.event_time is not None), None),
        cues=cues or fullest.cues,
    )


def _request(groups: Sequence[Group], cues: int) -> ChatRequest[MergedGroups]:
    prompt = load_prompt(STAGE)
    lines: list[str] = []
    for number, group in enumerate(groups, start=1):
        lines.append(f"Group {number}")
        lines += [f"- {f'({fact.said_at:%Y-%m-%d}) ' if fact.said_at else ''}{fact.info}" for fact in group]
    return ChatRequest(
        stage=STAGE,
        subject=",".join(group[0].fid for group in groups),
        system=prompt.system,
        user=prompt.render({"groups": "\n".join(lines), "cues": str(cues)}),
        prompt=prompt.hash,
        reply=MergedGroups,
    )


def _said(fact: Fact) -> datetime:
    return fact.said_at or _NEVER
