"""Whatever models propose and people undo, no statement is lost and history is whole.

Random lives over a real store: sessions whose judgements are random, valid or not, consolidations with random
statements in both orders, merges taken back, facts pinned and corrected by hand.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st

from prospection.config import RememberSettings
from prospection.errors import ConflictError
from prospection.models.meter import MeteredChat
from prospection.protocols import ChatReply, ChatRequest
from prospection.remember.by_hand import ByHand
from prospection.remember.consolidation import Consolidating
from prospection.remember.remember import Remembering
from prospection.store.sqlite import SQLiteStore
from prospection.types import BY_HAND, Fact, Message, Session, Unmerge, Usage
from remembered import WordEmbedder

AT = datetime(2025, 3, 1, 9, tzinfo=UTC)
PLACES = ("Siemens", "Bosch", "Miele")
STATEMENTS = tuple(
    f"Ada {what} at {where}{more}." for what in ("works", "sings") for where in PLACES for more in ("", " on Mondays")
)


class Moody:
    """A model that says anything that fits the shape."""

    name = "moody"

    def __init__(self, random: Random, said: list[str]) -> None:
        self._random, self._said = random, said

    async def complete(self, request: ChatRequest[Any]) -> ChatReply[Any]:
        reply: dict[str, Any]
        if request.stage == "extract":
            reply = {"facts": [{"info": info, "type": "Identity"} for info in self._said]}
        elif request.stage == "upsert":
            reply = {"proposals": [self._proposal() for _ in range(self._random.randrange(5))]}
        else:
            reply = {"merges": [{"group": n, "statement": self._statement()} for n in (1, 2, 3)]}
        return ChatReply(value=request.reply.model_validate(reply), usage=Usage(calls=1), model=self.name)

    def _proposal(self) -> dict[str, Any]:
        return {
            "new": self._random.randrange(4),
            "action": self._random.choice(["add", "reinforce", "revise", "revise"]),
            "stored": self._random.choice([None, 0, 1, 1, 2, 3]),
            "statement": self._random.choice([None, self._statement()]),
        }

    def _statement(self) -> str:
        return " and ".join(self._random.sample(STATEMENTS, self._random.choice([1, 1, 2])))


@dataclass
class Life:
    store: SQLiteStore
    random: Random
    said: list[tuple[str, str]] = field(default_factory=list)
    days: int = 0

    async def talk(self) -> None:
        self.days += 1
        infos = self.random.sample(STATEMENTS, self.random.choice([1, 2, 3]))
        at = AT + timedelta(days=self.random.choice([self.days, self.days - 4]))
        session = Session(id=f"s{self.days}", at=at, messages=(Message(role="user", content="I talk."),))
        model = Moody(self.random, infos)
        await Remembering(self.store, WordEmbedder(), model, RememberSettings()).add("ada", session, now=at)
        self.said += [(session.id, info) for info in infos]

    async def consolidate(self) -> None:
        await Consolidating(
            user="ada",
            store=self.store,
            embedder=WordEmbedder(),
            model=self.random.choice([None, MeteredChat(Moody(self.random, []))]),
            settings=RememberSettings(consolidate_sd=4.0),
        ).run(order=self.random.choice(["published", "improved"]))

    async def undo(self) -> None:
        for fact in await self.store.facts("ada"):
            if len(fact.supersedes) > 1:
                await self.store.edit_facts("ada", [Unmerge(fid=fact.fid)], at=AT)
                return

    async def correct(self) -> None:
        facts = await self.store.facts("ada")
        if not facts:
            return
        hand = ByHand(user="ada", store=self.store, embedder=WordEmbedder())
        fact = self.random.choice(facts)
        try:
            await hand.pin(fact.fid, at=AT, pinned=self.random.choice([True, False]))
            await hand.edit(fact.fid, self.random.choice(STATEMENTS), at=AT + timedelta(days=self.days))
        except ConflictError as error:
            raise AssertionError("nobody else writes") from error

    async def check(self) -> None:
        history = {fact.fid: fact for fact in await self.store.facts("ada", history=True)}
        for fact in history.values():
            if fact.superseded_by is not None:
                successor = history[fact.superseded_by]
                assert fact.fid in successor.supersedes
                assert _sessions(fact) <= _sessions(successor), (fact, successor)
                assert fact.valid_until is not None
            else:
                assert fact.valid_until is None
            assert fact.valid_from is not None
            assert fact.valid_until is None or fact.valid_from <= fact.valid_until
            assert fact.frequency == max(len(_sessions(fact)), 1)
        current = [fact for fact in history.values() if fact.valid_until is None]
        heard = set().union(*map(_sessions, current)) if current else set()
        assert {session for session, _ in self.said} <= heard
        infos = {fact.info for fact in history.values()}
        for session, info in self.said:
            assert info in infos or any(session in _sessions(fact) for fact in current)


def _sessions(fact: Fact) -> set[str]:
    return {source.session for source in fact.provenance}


@settings(max_examples=20, deadline=None)
@given(
    st.integers(0, 2**32), st.lists(st.sampled_from(["talk", "talk", "consolidate", "undo", "correct"]), max_size=14)
)
def test_nothing_is_lost(seed: int, steps: list[str]) -> None:
    async def live() -> None:
        embedder = WordEmbedder()
        async with await SQLiteStore.open(":memory:", encoder=(embedder.id, embedder.dims)) as store:
            life = Life(store, Random(seed))
            for step in ["talk", *steps]:
                await getattr(life, step)()
                await life.check()

    anyio.run(live)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 9))
def test_forgetting_a_conversation_leaves_every_other_statement(seed: int, length: int) -> None:
    async def live() -> None:
        embedder = WordEmbedder()
        async with await SQLiteStore.open(":memory:", encoder=(embedder.id, embedder.dims)) as store:
            life = Life(store, Random(seed))
            for n in range(length):
                await life.talk()
                if n % 3 == 2:
                    await life.consolidate()
            gone = f"s{life.random.randint(1, length)}"
            await store.forget("ada", session=gone)
            left = await store.facts("ada", history=True)
            heard = {source.session for fact in left for source in fact.provenance}
            assert gone not in heard
            assert {session for session, _ in life.said} - {gone} <= heard | {BY_HAND}
            for fact in left:
                assert fact.provenance, fact

    anyio.run(live)
