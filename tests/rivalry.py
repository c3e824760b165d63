"""A memory for tests of rivals: facts of "ada" in a real store, and requests to it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from prospection.evaluation.cases import EvalQuery
from prospection.protocols import FactStore
from prospection.types import Add, Candidate, FactType, Message, Session, Source
from remembered import NOW, WordEmbedder

__all__ = ["ask", "remember"]


async def remember(store: FactStore, *infos: str, sessions: Sequence[int] = ()) -> None:
    """Store facts f1, f2, ... in sessions of the given sizes, a day apart; without sizes, in one session."""
    sizes = sessions or [len(infos)]
    start = 0
    for number, size in enumerate(sizes):
        texts = infos[start : start + size]
        at = NOW + timedelta(days=number)
        name = f"s{number}"
        messages = tuple(Message(role="user", content=text) for text in texts)
        await store.put_session("ada", Session(id=name, at=at, messages=messages))
        await store.claim_session("ada", name, now=at, lease=60.0)
        vectors = await WordEmbedder().embed(texts)
        operations = [
            Add(
                candidate=Candidate(info=text, type=FactType.EVENT, provenance=(Source(session=name, message=place),)),
                vector=vector,
                cue_vectors=vectors[:0],
            )
            for place, (text, vector) in enumerate(zip(texts, vectors, strict=True))
        ]
        await store.finish_session("ada", name, operations, extracted=size, now=at)
        start += size


def ask(text: str) -> EvalQuery:
    """Return a request of ada's."""
    return EvalQuery(id="q1", user="ada", text=text, at=NOW, references=(frozenset({"f1"}),))
