"""Future cues: which are worth keeping, and new ones for facts that have none.

A cue pays when it leads from a situation to a fact that the situation's words do not lead to. One that repeats its own
fact adds nothing, and one that stands at many facts is a topic: both only push other facts down. They are left out
before anything is stored. The backfill asks a model for cues, batch by batch, and stores each batch at once, so that it
can end at any point and go on later.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
from pydantic import BaseModel, Field

from prospection.config import RememberSettings
from prospection.errors import BudgetExceededError, ConflictError
from prospection.models.meter import MeteredChat
from prospection.prompts import load_prompt
from prospection.protocols import ChatRequest, Embedder, FactLedger, Progress
from prospection.remember.replies import plain_cues
from prospection.types import Add, Candidate, Cue, CueBackfill, Fact, FactType, Recue, SearchProbe

__all__ = ["BATCH", "CueWriting", "CuedFact", "Cues", "read_facts", "with_telling_cues"]

STAGE = "cues"
BATCH = 20
"""Facts in one call."""
_CROWD_SD = 5.0
"""Two cues nearer than this many standard deviations above the encoder's noise are the same cue."""
_PAGE = 1000


class CuedFact(BaseModel):
    """The cues of one fact."""

    fact: int = Field(description="Number of the fact")
    cues: list[str] = Field(description="Future situations in which it will matter")


class Cues(BaseModel):
    """The reply of the cues stage."""

    facts: list[CuedFact]


async def with_telling_cues(
    user: str, new: Sequence[Add], store: FactLedger, embedder: Embedder, *, crowd: int
) -> list[Add]:
    """Leave out the cues of new facts that would not tell them from others.

    A cue goes when its cosine with its own fact reaches the encoder's `tau_o`, or when `crowd` other current facts, or
    facts of this batch, have one within 5 standard deviations of it. Measured: docs/remembering.md.

    Args:
        crowd: 0 looks only at each cue's own fact.

    Raises:
        StoreError: The store failed.
    """
    near = embedder.calibration
    crowded = min(0.99, near.noise_mean + _CROWD_SD * near.noise_sd)
    rows = [(place, n) for place, add in enumerate(new) for n in range(len(add.candidate.cues))]
    if not rows:
        return list(new)
    vectors = np.concatenate([add.cue_vectors for add in new if len(add.cue_vectors)])
    owners = np.array([place for place, _ in rows])
    own = np.einsum("ij,ij->i", vectors, np.stack([new[place].vector for place, _ in rows]))
    keep = own < near.tau_o
    if crowd:
        probes = [SearchProbe(over="cues", text="", vector=vector) for vector in vectors]
        stored = [len(hits) for hits in await store.search(user, probes, k=crowd, min_similarity=crowded)]
        alike = vectors @ vectors.T >= crowded
        beside = [len(set(owners[row].tolist()) - {owner}) for row, owner in zip(alike, owners.tolist(), strict=True)]
        keep &= np.add(stored, beside) < crowd
    kept = {row for row, stays in zip(rows, keep, strict=True) if stays}
    return [
        _with_cues(add, [n for n in range(len(add.candidate.cues)) if (place, n) in kept])
        for place, add in enumerate(new)
    ]


async def read_facts(store: FactLedger, user: str) -> list[Fact]:
    """Return all current facts of a user, page by page."""
    found: list[Fact] = []
    while page := await store.facts(user, after=found[-1].fid if found else None, limit=_PAGE):
        found += page
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class CueWriting:
    """Writes the cues of one user's facts.

    Attributes:
        model: With the budget in force; at a ceiling the result says so.
        settings: Cues for each fact, and how many make a crowd.
    """

    user: str
    store: FactLedger
    embedder: Embedder
    model: MeteredChat
    settings: RememberSettings

    async def run(
        self, *, at: datetime, fids: Sequence[str] | None = None, progress: Progress | None = None
    ) -> CueBackfill:
        """Write cues for the current facts that have none, or anew for the facts named.

        What is stored stays when it ends early, at a ceiling or by an error; the next run goes on with what is left.

        Args:
            at: Now.
            fids: Rewrite the cues of these.
            progress: Called with the facts dealt with and in all.

        Raises:
            ModelError: The model or the encoder failed.
            StoreError: The store failed.
        """
        facts = await read_facts(self.store, self.user)
        wanted = [fact for fact in facts if (not fact.cues if fids is None else fact.fid in set(fids))]
        most = self.settings.cues_per_fact
        done = 0
        partial = None
        for start in range(0, len(wanted), BATCH):
            batch = wanted[start : start + BATCH]
            if progress:
                progress(start, len(wanted))
            try:
                reply = await self.model.complete(_request(batch, most))
            except BudgetExceededError as error:
                partial = str(error)
                break
            found = {line.fact: plain_cues(line.cues, most) for line in reply.value.facts}
            pairs = [(fact, found.get(number, ())) for number, fact in enumerate(batch, start=1)]
            done += await self._store([pair for pair in pairs if pair[1]], at)
        if progress:
            progress(len(wanted), len(wanted))
        return CueBackfill(facts=done, left=len(wanted) - done, usage=self.model.usage, partial=partial)

    async def _store(self, pairs: Sequence[tuple[Fact, tuple[Cue, ...]]], at: datetime) -> int:
        """Store the cues that tell something, and return how many facts have some now."""
        if not pairs:
            return 0
        texts = [cue.text for _, cues in pairs for cue in cues]
        vectors = await self.embedder.embed(texts, role="passage")
        own = await self.store.vectors(self.user, [fact.fid for fact, _ in pairs])
        adds: list[Add] = []
        row = 0
        for place, (fact, cues) in enumerate(pairs):
            candidate = Candidate(info=fact.info, type=fact.type or FactType.EVENT, cues=cues)
            adds.append(Add(candidate=candidate, vector=own[place], cue_vectors=vectors[row : row + len(cues)]))
            row += len(cues)
        telling = await with_telling_cues(self.user, adds, self.store, self.embedder, crowd=self.settings.cue_crowd)
        edits = [
            Recue(fid=fact.fid, cues=add.candidate.cues, cue_vectors=add.cue_vectors)
            for (fact, _), add in zip(pairs, telling, strict=True)
            if add.candidate.cues
        ]
        try:
            return len(await self.store.edit_facts(self.user, edits, at=at))
        except ConflictError:  # somebody replaced one of them meanwhile; the others get theirs one by one
            stored = 0
            for edit in edits:
                with suppress(ConflictError):
                    stored += len(await self.store.edit_facts(self.user, [edit], at=at))
            return stored


def _request(batch: Sequence[Fact], cues: int) -> ChatRequest[Cues]:
    prompt = load_prompt(STAGE)
    lines = [f"[{number}] {fact.info}" for number, fact in enumerate(batch, start=1)]
    return ChatRequest(
        stage=STAGE,
        subject=f"{batch[0].fid}-{batch[-1].fid}",
        system=prompt.system,
        user=prompt.render({"facts": "\n".join(lines), "cues": str(cues)}),
        prompt=prompt.hash,
        reply=Cues,
    )


def _with_cues(add: Add, kept: Sequence[int]) -> Add:
    if len(kept) == len(add.candidate.cues):
        return add
    cues = tuple(add.candidate.cues[n] for n in kept)
    return replace(add, candidate=replace(add.candidate, cues=cues), cue_vectors=add.cue_vectors[list(kept)])
