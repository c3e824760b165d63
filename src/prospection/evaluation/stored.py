"""A data set put into a store: facts and cues of all people in, the ids that the store gave them out.

Facts go in as ready facts, session by session in the order of dates, through the same calls that remembering makes;
nothing is extracted. The store's ids are what systems see: a data set's own ids can leak the answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from prospection.errors import ConflictError, InputError
from prospection.evaluation.cases import Dataset, EvalFact, EvalQuery, EvalUser
from prospection.protocols import Embedder, FactStore, Progress
from prospection.types import Add, Candidate, FactType, Message, Session, Source, Vectors

__all__ = ["StoredDataset", "store_dataset"]

LEASE = 600.0
"""Seconds for which a session is claimed; nobody else works on a store that is being filled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDataset:
    """Where a data set's facts stand in the store.

    Attributes:
        fids: By user, the store's id of each of their facts. Facts with the same normalised text share one.
    """

    fids: Mapping[str, Mapping[str, str]]

    @property
    def facts(self) -> int:
        """How many facts the store holds, all users together."""
        return sum(len(set(fids.values())) for fids in self.fids.values())

    def references(self, query: EvalQuery) -> tuple[frozenset[str], ...]:
        """The query's references in the store's ids."""
        fids = self.fids[query.user]
        return tuple(frozenset(fids[fact] for fact in reference) for reference in query.references)


async def store_dataset(
    dataset: Dataset, *, store: FactStore, embedder: Embedder, progress: Progress | None = None
) -> StoredDataset:
    """Embed and store all facts, one batch of texts a user.

    Args:
        dataset: As `load_dataset` returns it.
        store: An empty store: a measurement may not meet anybody's memory.
        embedder: Embeds facts and cues as passages.
        progress: Called with the texts embedded so far and in all.

    Raises:
        InputError: The store is not empty.
        ModelError: The encoder failed.
    """
    if await store.users(limit=1):
        raise InputError("the store to measure in already holds somebody's memory; pass an empty one")
    total = sum(len(_texts(user)) for user in dataset.users)
    done = 0
    fids: dict[str, Mapping[str, str]] = {}
    for user in dataset.users:
        texts = _texts(user)
        vectors = await embedder.embed(texts, progress=_shifted(progress, done, total))
        done += len(texts)
        fids[user.id] = await _store_user(user, store, vectors)
    return StoredDataset(fids=fids)


def _texts(user: EvalUser) -> list[str]:
    return [text for fact in user.facts for text in (fact.text, *(cue.text for cue in fact.cues))]


def _shifted(progress: Progress | None, before: int, total: int) -> Progress | None:
    return None if progress is None else lambda done, _: progress(before + done, total)


async def _store_user(user: EvalUser, store: FactStore, vectors: Vectors) -> dict[str, str]:
    sessions: defaultdict[str, list[tuple[EvalFact, Vectors]]] = defaultdict(list)
    row = 0
    for fact in user.facts:
        rows = 1 + len(fact.cues)
        sessions[fact.session].append((fact, vectors[row : row + rows]))
        row += rows
    fids: dict[str, str] = {}
    for name, facts in sorted(sessions.items(), key=lambda item: item[1][0][0].at):
        fids |= await _store_session(user.id, name, facts, store)
    return fids


async def _store_session(
    user: str, name: str, facts: Sequence[tuple[EvalFact, Vectors]], store: FactStore
) -> dict[str, str]:
    at = facts[0][0].at
    messages = tuple(Message(role="user", content=fact.text) for fact, _ in facts)
    await store.put_session(user, Session(id=name, at=at, messages=messages))
    if await store.claim_session(user, name, now=at, lease=LEASE) is None:
        raise ConflictError(
            f"session {name!r} of {user!r} was taken by another process; measure in a store of your own"
        )
    operations = [_add(fact, vectors, name, place) for place, (fact, vectors) in enumerate(facts)]
    stored = await store.finish_session(user, name, operations, extracted=len(messages), now=at)
    return {fact.id: as_stored.fid for (fact, _), as_stored in zip(facts, stored, strict=True)}


def _add(fact: EvalFact, vectors: Vectors, session: str, place: int) -> Add:
    candidate = Candidate(
        info=fact.text,
        # A candidate must have a kind. Sets that give none cannot be asked by kind, so that any will do.
        type=fact.type or FactType.EVENT,
        related_entities=fact.entities,
        provenance=(Source(session=session, message=place, quote=fact.text),),
        cues=fact.cues,
    )
    return Add(candidate=candidate, vector=vectors[0], cue_vectors=vectors[1:])
