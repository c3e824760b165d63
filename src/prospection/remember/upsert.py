"""From candidates to what the store is asked to do (paper, section 3.2, "upsert").

In go a session's candidates; out come operations. Every candidate is laid beside the stored facts nearest to it, found
in one search. An exact repeat reinforces and never reaches a model. The rest is for the model to judge, in one call a
session, or for rules where there is none. A judgement that does not hold up falls back to a plain addition: then a line
too many is stored, and nothing is lost. Nothing here deletes anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from prospection.config import RememberSettings
from prospection.errors import ReplyError
from prospection.protocols import ChatModel, Embedder, FactLedger
from prospection.remember.judgement import Judged, Neighbourhood, Revision, judge_by_model
from prospection.remember.statements import Statement, is_repeat
from prospection.search.lexical import normalise
from prospection.types import Add, Calibration, Candidate, Fact, Hit, Operation, Reinforce, Revise, SearchProbe, Source

__all__ = ["Upsert", "additions", "distinct", "similarity_at", "statement_of"]


def distinct(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Join candidates that say the same, letter case, punctuation at the end and white space apart.

    The first one stays, in its place, with the sources of all.
    """
    kept: dict[str, Candidate] = {}
    for candidate in candidates:
        key = normalise(candidate.info)
        first = kept.get(key)
        kept[key] = candidate if first is None else replace(first, provenance=_joined(first, candidate))
    return list(kept.values())


async def additions(candidates: Sequence[Candidate], embedder: Embedder) -> list[Add]:
    """Embed all statements and all cues in one batch and propose to store every candidate as it is, in order.

    Raises:
        ModelError: The encoder failed.
    """
    texts = [candidate.info for candidate in candidates] + [cue.text for each in candidates for cue in each.cues]
    vectors = await embedder.embed(texts, role="passage")
    found: list[Add] = []
    cue = len(candidates)
    for row, candidate in enumerate(candidates):
        end = cue + len(candidate.cues)
        found.append(Add(candidate=candidate, vector=vectors[row], cue_vectors=vectors[cue:end]))
        cue = end
    return found


def similarity_at(calibration: Calibration, sd: float) -> float:
    """Return the cosine that lies so many standard deviations above an encoder's noise, 0.99 at most."""
    return min(0.99, calibration.noise_mean + sd * calibration.noise_sd)


def statement_of(fact: Fact | Candidate) -> Statement:
    """Return what a fact says, with its entities."""
    return Statement(info=fact.info, entities=fact.related_entities)


@dataclass(frozen=True, slots=True, kw_only=True)
class Upsert:
    """Decides what becomes of new facts beside the stored ones.

    Attributes:
        model: Who judges; None: rules do.
        settings: How many neighbours, from which similarity on, who judges.
    """

    store: FactLedger
    embedder: Embedder
    model: ChatModel | None
    settings: RememberSettings

    async def propose(self, user: str, new: Sequence[Add], *, subject: str, at: datetime) -> list[Operation]:
        """Propose what the store should do.

        A model whose replies never parse is taken for one that cannot judge: then rules do. Any other failure of a
        model is raised, so that the session is kept and tried again.

        Args:
            user: Whose memory.
            new: The candidates as additions, without repeats among them.
            subject: Id of the session, under which replies are recorded.
            at: When the session took place. It revises nothing that was said later.

        Returns:
            Operations: first what reinforces, then the rest in the order of the candidates. A candidate that a stored
            fact covers has none.

        Raises:
            ModelError: The encoder failed, or the model could not be reached.
            StoreError: The store failed.
        """
        if not new:
            return []
        hits = await self._neighbours(user, new)
        reinforced: list[Operation] = []
        rest: list[Operation] = []
        unclear: list[Neighbourhood] = []
        for add, near in zip(new, hits, strict=True):
            same = next((hit.fact for hit in near if normalise(hit.fact.info) == normalise(add.candidate.info)), None)
            if same is not None:
                reinforced.append(Reinforce(fid=same.fid, provenance=add.candidate.provenance))
            elif near:
                unclear.append(Neighbourhood(add=add, near=tuple(near)))
            else:
                rest.append(add)
        if not unclear:
            return reinforced + rest
        for operation in await self._judged(unclear, subject, at):
            (reinforced if isinstance(operation, Reinforce) else rest).append(operation)
        return reinforced + rest

    async def _neighbours(self, user: str, new: Sequence[Add]) -> list[list[Hit]]:
        probes = [SearchProbe(over="facts", text=add.candidate.info, vector=add.vector) for add in new]
        near = similarity_at(self.embedder.calibration, self.settings.neighbour_sd)
        return await self.store.search(user, probes, k=self.settings.neighbours, min_similarity=near)

    async def _judged(self, unclear: Sequence[Neighbourhood], subject: str, at: datetime) -> list[Operation]:
        if self.model is not None and self.settings.upsert == "model":
            try:
                judged = await judge_by_model(
                    unclear, self.model, subject=subject, at=at, cues=self.settings.cues_per_fact
                )
            except ReplyError:
                pass  # counted with the failed calls; asked again, the model would fail again
            else:
                return await self._operations(judged)
        return [self._by_rules(each) for each in unclear]

    def _by_rules(self, each: Neighbourhood) -> Operation:
        near = similarity_at(self.embedder.calibration, self.settings.duplicate_sd)
        candidate = each.add.candidate
        for hit in each.near:
            if hit.similarity >= near and is_repeat(
                statement_of(candidate), statement_of(hit.fact), overlap=self.settings.duplicate_overlap
            ):
                return Reinforce(fid=hit.fact.fid, provenance=candidate.provenance)
        return each.add

    async def _operations(self, judged: Sequence[Judged]) -> list[Operation]:
        """Put operations together; statements that the model wrote are embedded in one batch."""
        written = [each.joined for each in judged if isinstance(each, Revision) and each.joined is not None]
        joined = iter(await additions(written, self.embedder) if written else [])
        operations: list[Operation] = []
        for each in judged:
            if not isinstance(each, Revision):
                operations.append(each)
                continue
            new = each.add if each.joined is None else next(joined)
            operations.append(
                Revise(
                    fids=(each.old.fid,),
                    candidate=new.candidate,
                    vector=new.vector,
                    cue_vectors=new.cue_vectors,
                    parts=() if each.joined is None else (each.add,),
                )
            )
        return operations


def _joined(first: Candidate, second: Candidate) -> tuple[Source, ...]:
    return tuple(dict.fromkeys([*first.provenance, *second.provenance]))
