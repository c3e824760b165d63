"""The whole path of remembering: a real SQLite file, a model over real HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import numpy as np
import pytest

from loopback import Loopback, Reply, Slow, Status, embedding
from prospection.config import RememberSettings
from prospection.errors import EndpointError
from prospection.models.chat import PydanticAIChat
from prospection.models.open import build_model
from prospection.protocols import ChatModel, Progress, TextRole
from prospection.remember.remember import Remembering
from prospection.store.sqlite import SQLiteStore
from prospection.types import (
    Calibration,
    Failed,
    Message,
    Nothing,
    Queued,
    SearchProbe,
    Session,
    SessionState,
    Stored,
    Usage,
    Vectors,
)

pytestmark = pytest.mark.anyio

AT = datetime(2025, 3, 5, 12, tzinfo=UTC)
NOW = datetime(2025, 3, 5, 13, tzinfo=UTC)
PENS = {"info": "The person carries two adrenaline pens.", "type": "Identity", "cues": ["a long lunch abroad"]}
ALLERGY = "I've carried two adrenaline pens everywhere since 2019."


class Hashed:
    """Vectors of hashed words; keeps the batches it was asked for."""

    id = "hashed"
    dims = 64
    calibration = Calibration(noise_mean=0.0, noise_sd=0.1, tau=0.3, tau_o=0.6)

    def __init__(self, *, broken: bool = False) -> None:
        self.batches: list[list[str]] = []
        self._broken = broken

    async def embed(
        self, texts: Sequence[str], *, role: TextRole = "passage", progress: Progress | None = None
    ) -> Vectors:
        self.batches.append(list(texts))
        if self._broken:
            raise EndpointError("the encoder is away", usage=Usage(calls=1, failed_calls=1))
        return np.array([embedding(text) for text in texts], dtype=np.float32).reshape(-1, self.dims)


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as running:
        yield running


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SQLiteStore]:
    async with await SQLiteStore.open(tmp_path / "memory.db", encoder=(Hashed.id, Hashed.dims)) as opened:
        yield opened


def chat_at(server: Loopback) -> PydanticAIChat:
    return PydanticAIChat(build_model("tiny", server.url), name="tiny", retries=1, backoff=0.001)


def remembering(store: SQLiteStore, model: ChatModel | None = None, embedder: Hashed | None = None) -> Remembering:
    return Remembering(store, embedder or Hashed(), model, RememberSettings(lease=60))


def session(*texts: str, name: str = "s1") -> Session:
    return Session(id=name, at=AT, messages=tuple(Message(role="user", content=text) for text in texts))


async def test_without_a_model_rules_extract(store: SQLiteStore) -> None:
    outcome = await remembering(store).add("ada", session("Hello!", ALLERGY), now=NOW)
    assert isinstance(outcome, Stored)
    assert [fact.info for fact in outcome.facts] == [ALLERGY]
    assert outcome.usage == Usage()
    (fact,) = await store.facts("ada")
    assert (fact.said_at, fact.provenance[0].message, fact.provenance[0].quote) == (AT, 1, ALLERGY)


async def test_with_a_model_facts_and_cues_are_embedded_in_one_batch(store: SQLiteStore, server: Loopback) -> None:
    server.script(Reply({"facts": [PENS, PENS]}, tokens=(100, 20)))
    embedder = Hashed()
    outcome = await remembering(store, chat_at(server), embedder).add("ada", session(ALLERGY), now=NOW)
    assert isinstance(outcome, Stored)
    assert (outcome.usage.calls, outcome.usage.tokens_in, outcome.usage.tokens_out) == (1, 100, 20)
    assert embedder.batches == [[PENS["info"], "a long lunch abroad"]]
    (vector,) = await embedder.embed(["a long lunch abroad"])
    ((hit,),) = await store.search("ada", [SearchProbe(over="cues", text="", vector=vector)], k=5)
    assert (hit.fact.info, hit.cue) == (PENS["info"], "a long lunch abroad")


async def test_small_talk_is_nothing_and_final(store: SQLiteStore, server: Loopback) -> None:
    server.script({"facts": []})
    path = remembering(store, chat_at(server))
    assert isinstance(await path.add("ada", session("Hello!"), now=NOW), Nothing)
    assert isinstance(await path.add("ada", session("Hello!"), now=NOW), Nothing)
    assert len(server.chats) == 1
    assert await path.drain("ada", now=NOW) == []


async def test_a_session_that_grows_is_extracted_from_where_it_ended(store: SQLiteStore) -> None:
    path = remembering(store)
    await path.add("ada", session(ALLERGY), now=NOW)
    grown = session(ALLERGY, "I have a sister in Thun who is a nurse.")
    outcome = await path.add("ada", grown, now=NOW)
    assert isinstance(outcome, Stored)
    assert [fact.info for fact in outcome.facts] == ["I have a sister in Thun who is a nurse."]
    assert [fact.frequency for fact in await store.facts("ada")] == [1, 1]


async def test_the_same_statement_in_another_session_reinforces(store: SQLiteStore) -> None:
    path = remembering(store)
    await path.add("ada", session(ALLERGY), now=NOW)
    await path.add("ada", session(ALLERGY, name="s2"), now=NOW)
    (fact,) = await store.facts("ada")
    assert fact.frequency == 2
    assert [source.session for source in fact.provenance] == ["s1", "s2"]


async def test_what_waits_is_drained_in_the_order_of_arrival(store: SQLiteStore) -> None:
    path = remembering(store)
    for name in ("b", "a", "c"):
        assert await path.add("ada", session(f"I own {name} cats.", name=name), now=NOW, wait=False) == Queued(
            session=name
        )
    steps: list[tuple[int, int]] = []
    outcomes = await path.drain("ada", now=NOW, progress=lambda done, total: steps.append((done, total)))
    assert [outcome.session for outcome in outcomes] == ["b", "a", "c"]
    assert steps == [(0, 3), (1, 3), (2, 3), (3, 3)]
    assert await path.drain("ada", now=NOW) == []


async def test_a_failed_model_keeps_the_session_and_says_what_it_cost(store: SQLiteStore, server: Loopback) -> None:
    server.handler = lambda _: Reply("no JSON here", tokens=(50, 5))
    path = remembering(store, chat_at(server))
    outcome = await path.add("ada", session(ALLERGY), now=NOW)
    assert isinstance(outcome, Failed)
    assert outcome.usage.calls == outcome.usage.failed_calls == len(server.chats) > 1
    record = await store.session("ada", "s1")
    assert record is not None
    assert (record.state, record.reason, record.raw) == (SessionState.FAILED, outcome.reason, "no JSON here")
    assert record.session.messages[0].content == ALLERGY
    assert await store.facts("ada") == []
    server.handler = None
    server.script({"facts": [PENS]})
    (retried,) = await path.drain("ada", now=NOW)
    assert isinstance(retried, Stored)


async def test_draining_stops_when_the_endpoint_is_away(store: SQLiteStore, server: Loopback) -> None:
    server.handler = lambda _: Status(401)
    path = remembering(store, chat_at(server))
    for name in "abc":
        await path.add("ada", session(ALLERGY, name=name), now=NOW, wait=False)
    outcomes = await path.drain("ada", now=NOW)
    assert [type(outcome) for outcome in outcomes] == [Failed, Queued, Queued]
    assert len(server.chats) == 1
    waiting = await store.sessions("ada")
    assert [record.state for record in waiting] == [SessionState.FAILED, SessionState.PENDING, SessionState.PENDING]


async def test_a_failed_encoder_is_a_failed_session(store: SQLiteStore) -> None:
    outcome = await remembering(store, embedder=Hashed(broken=True)).add("ada", session(ALLERGY), now=NOW)
    assert isinstance(outcome, Failed)
    assert outcome.reason == "the encoder is away"
    assert outcome.usage.failed_calls == 1


async def test_somebody_else_is_at_it(store: SQLiteStore) -> None:
    await store.put_session("ada", session(ALLERGY))
    assert await store.claim_session("ada", "s1", now=NOW, lease=60) is not None
    path = remembering(store)
    assert await path.add("ada", session(ALLERGY), now=NOW) == Queued(session="s1")
    assert await path.drain("ada", now=NOW) == [Queued(session="s1")]
    (late,) = await path.drain("ada", now=NOW + timedelta(seconds=61))
    assert isinstance(late, Stored)


async def test_a_cancelled_extraction_frees_the_session_at_once(store: SQLiteStore, server: Loopback) -> None:
    server.script(Slow(30))
    path = remembering(store, chat_at(server))
    with anyio.move_on_after(0.3) as scope:
        await path.add("ada", session(ALLERGY), now=NOW)
    assert scope.cancelled_caught
    record = await store.session("ada", "s1")
    assert record is not None
    assert (record.state, record.attempts) == (SessionState.PENDING, 0)
    (outcome,) = await remembering(store).drain("ada", now=NOW)
    assert isinstance(outcome, Stored)


async def test_users_are_apart(store: SQLiteStore) -> None:
    path = remembering(store)
    await path.add("ada", session(ALLERGY), now=NOW)
    assert await store.facts("bob") == []
    assert await path.drain("bob", now=NOW) == []
