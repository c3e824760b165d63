"""The worker: turns, retries, ceilings, stopping, and dying at any point."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest

from prospection.config import CeilingSettings, RememberBudgetSettings, RememberSettings
from prospection.errors import CredentialError, EndpointError, ModelError, ReplyError, StoreError
from prospection.protocols import ChatReply, ChatRequest
from prospection.remember.remember import Remembering
from prospection.remember.status import session_status
from prospection.remember.worker import Worker
from prospection.store.sqlite import SQLiteStore
from prospection.types import Failed, Outcome, SessionState, SessionStatus, Stored, Usage
from remembered import WordEmbedder
from working import AT, COST, NOW, Clock, Parrot, session, state_of

pytestmark = pytest.mark.anyio

ENCODER = (WordEmbedder.id, WordEmbedder.dims)
DYING = Path(__file__).with_name("dying.py")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SQLiteStore]:
    async with await SQLiteStore.open(tmp_path / "memory.db", encoder=ENCODER) as opened:
        yield opened


def settings(**changes: Any) -> RememberSettings:
    budget = {key: changes.pop(key) for key in ("day", "user", "run") if key in changes}
    return RememberSettings(
        lease=60, poll=0.01, backoff=60, upsert="rules", budget=RememberBudgetSettings(**budget), **changes
    )


def worker(store: SQLiteStore, model: Parrot | None, clock: Clock, **changes: Any) -> Worker:
    return Worker(store, WordEmbedder(), model, settings(**changes), clock=clock)


async def queue(store: SQLiteStore, **sessions: int) -> None:
    for user, count in sessions.items():
        for n in range(count):
            await store.put_session(user, session(f"{user}{n}", f"I own {n} cats of {user}."))


async def states(store: SQLiteStore, user: str) -> list[SessionState]:
    return [record.state for record in await store.sessions(user)]


async def until(store: SQLiteStore, user: str, *wanted: SessionState) -> None:
    while await states(store, user) != list(wanted):  # noqa: ASYNC110 - nobody tells
        await anyio.sleep(0.01)


@pytest.mark.parametrize("model", [Parrot(), None])
async def test_the_queue_of_all_users_is_drained(store: SQLiteStore, model: Parrot | None) -> None:
    await queue(store, ada=3, bob=1, eve=2)
    told: list[tuple[str, Outcome]] = []
    work = await worker(store, model, Clock()).run(once=True, told=lambda user, outcome: told.append((user, outcome)))
    assert (work.sessions, work.facts, work.failed, work.stopped) == (6, 6, 0, None)
    assert work.usage.calls == (6 if model else 0)
    assert sorted(user for user, _ in told) == ["ada", "ada", "ada", "bob", "eve", "eve"]
    assert all(isinstance(outcome, Stored) for _, outcome in told)
    facts = await store.facts("ada")
    assert [fact.provenance[0].session for fact in facts] == ["ada0", "ada1", "ada2"]
    assert (await worker(store, model, Clock()).run(once=True)).sessions == 0


class Together(Parrot):
    """Answers when so many are being asked at once; counts how many ever are."""

    def __init__(self, wanted: int) -> None:
        super().__init__()
        self.now, self.most = 0, 0
        self._wanted, self._enough = wanted, anyio.Event()

    async def complete(self, request: ChatRequest[Any]) -> ChatReply[Any]:
        self.now += 1
        self.most = max(self.most, self.now)
        if self.now == self._wanted:
            self._enough.set()
        with anyio.fail_after(20):
            await self._enough.wait()
        await anyio.sleep(0.01)
        self.now -= 1
        return await super().complete(request)


@pytest.mark.parametrize(("sessions", "most"), [({"ada": 4}, 1), ({"ada": 2, "bob": 2, "eve": 2, "kim": 2}, 3)])
async def test_so_many_at_a_time_and_a_user_once(store: SQLiteStore, sessions: dict[str, int], most: int) -> None:
    await queue(store, **sessions)
    model = Together(most)
    await worker(store, model, Clock()).run(once=True, concurrency=3)
    assert model.most == most


async def test_what_fails_is_tried_again_later_and_at_last_left_alone(store: SQLiteStore) -> None:
    await queue(store, ada=1)
    await store.put_session("ada", session("good", "I sing."))
    clock = Clock()

    def fails(request: ChatRequest[Any]) -> ModelError | None:
        return ReplyError("no JSON", raw="oops", usage=COST) if "cats" in request.user else None

    for attempt in range(1, 4):
        work = await worker(store, Parrot(fails=fails), clock, max_attempts=3).run(once=True)
        assert (work.failed, work.sessions) == (1, 1 if attempt == 1 else 0)
        bad, good = await store.sessions("ada")
        assert good.state is SessionState.DONE
        assert (bad.state, bad.attempts, bad.reason, bad.raw) == (SessionState.FAILED, attempt, "no JSON", "oops")
        if attempt < 3:
            pause = timedelta(seconds=60 * 2 ** (attempt - 1))
            assert bad.retry_at == clock.now + pause
            clock.now += pause - timedelta(seconds=1)
            assert (await worker(store, Parrot(), clock).run(once=True)).sessions == 0
            clock.move(seconds=1)
    assert bad.retry_at is None
    clock.move(days=365)
    assert (await worker(store, Parrot(), clock).run(once=True)).sessions == 0
    (outcome,) = await Remembering(store, WordEmbedder(), Parrot(), settings()).drain("ada", now=clock.now)
    assert isinstance(outcome, Stored)


async def test_a_session_that_kills_its_worker_is_given_up(store: SQLiteStore) -> None:
    await queue(store, ada=1)
    clock = Clock()
    for _ in range(3):
        assert await store.claim_next(now=clock.now, lease=60) is not None
        clock.move(minutes=2)
    told: list[Outcome] = []
    work = await worker(store, Parrot(), clock, max_attempts=3).run(once=True, told=lambda _, done: told.append(done))
    assert (work.failed, work.sessions) == (1, 0)
    (record,) = await store.sessions("ada")
    assert (record.state, record.retry_at) == (SessionState.FAILED, None)
    assert "begun 3 times and never ended" in (record.reason or "")
    assert isinstance(told[0], Failed)


@pytest.mark.parametrize("error", [EndpointError("away"), CredentialError("refused")])
async def test_once_ends_when_the_model_is_away(store: SQLiteStore, error: ModelError) -> None:
    await queue(store, ada=1, bob=1, eve=1)
    model = Parrot(fails=lambda _: error)
    work = await worker(store, model, Clock()).run(once=True, concurrency=1)
    assert (work.failed, work.stopped, len(model.requests)) == (1, str(error), 1)


async def test_a_running_worker_waits_for_an_endpoint_that_comes_back(store: SQLiteStore) -> None:
    await queue(store, ada=1, bob=1, eve=1)
    clock, away = Clock(), [EndpointError("away"), EndpointError("away")]
    model = Parrot(fails=lambda _: away.pop() if away else None)
    done = 0
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:

            def told(_: str, outcome: Outcome) -> None:
                nonlocal done
                done += isinstance(outcome, Stored)
                clock.move(minutes=10)
                if done == 3:
                    group.cancel_scope.cancel()

            group.start_soon(lambda: worker(store, model, clock).run(concurrency=1, told=told))
    assert len(model.requests) == 5


async def test_a_running_worker_finds_what_comes_later(store: SQLiteStore) -> None:
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(worker(store, Parrot(), Clock()).run)
            await anyio.sleep(0.05)
            await queue(store, ada=1)
            await until(store, "ada", SessionState.DONE)
            group.cancel_scope.cancel()


async def test_stopping_sets_free_what_is_under_way(store: SQLiteStore) -> None:
    await queue(store, ada=2, bob=1)
    before = await state_of(store, ["ada", "bob"])

    class Endless(Parrot):
        async def complete(self, request: ChatRequest[Any]) -> ChatReply[Any]:
            self.requests.append(request)
            await anyio.sleep_forever()
            raise AssertionError

    model = Endless()
    async with anyio.create_task_group() as group:
        group.start_soon(worker(store, model, Clock()).run)
        await until(store, "bob", SessionState.EXTRACTING)
        await until(store, "ada", SessionState.EXTRACTING, SessionState.PENDING)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    assert await state_of(store, ["ada", "bob"]) == before
    assert [record.attempts for record in await store.sessions("ada")] == [0, 0]
    spent = await store.usage(since=NOW.date())  # the calls were made, whatever they cost
    assert (spent.calls, spent.failed_calls) == (2, 2)


# --- ceilings


async def test_a_users_ceiling_leaves_the_user_for_tomorrow(store: SQLiteStore) -> None:
    await queue(store, ada=3, bob=1)
    clock, limits = Clock(), CeilingSettings(max_calls=2)
    work = await worker(store, Parrot(), clock, user=limits).run(once=True)
    assert (work.sessions, work.failed, work.stopped) == (3, 0, None)
    last = (await store.sessions("ada"))[-1]
    assert (last.state, last.attempts) == (SessionState.PENDING, 0)
    assert (await worker(store, Parrot(), clock, user=limits).run(once=True)).sessions == 0  # also after a restart
    clock.move(days=1)
    assert (await worker(store, Parrot(), clock, user=limits).run(once=True)).sessions == 1


@pytest.mark.parametrize(
    "limits", [CeilingSettings(max_calls=2), CeilingSettings(max_tokens=800), CeilingSettings(max_cost=0.5)]
)
@pytest.mark.parametrize("concurrency", [1, 4])
async def test_a_days_ceiling_holds_for_all_together(
    store: SQLiteStore, limits: CeilingSettings, concurrency: int
) -> None:
    await queue(store, ada=2, bob=2, eve=2)
    clock, model = Clock(), Parrot()
    for _ in range(3):
        work = await worker(store, model, clock, day=limits).run(once=True, concurrency=concurrency)
        assert "all users on 2025-03-05" in (work.stopped or "")
    spent = await store.usage(since=clock.now.date())
    assert spent.calls == len(model.requests)
    # What is under way when a ceiling of tokens or dollars is reached may pass it by its own reply.
    assert 1 <= spent.calls <= 2 + (concurrency if limits.max_cost else 0)
    records = [record for user in ("ada", "bob", "eve") for record in await store.sessions(user)]
    assert [record.attempts for record in records] == [0] * 6


async def test_a_runs_ceiling_ends_the_run(store: SQLiteStore) -> None:
    await queue(store, ada=2, bob=2)
    limits = CeilingSettings(max_calls=3)
    work = await worker(store, Parrot(), Clock(), run=limits).run(once=True)
    assert (work.sessions, work.usage.calls) == (3, 3)
    assert "max_calls is 3" in (work.stopped or "")
    assert (await worker(store, Parrot(), Clock(), run=limits).run(once=True)).sessions == 1


async def test_a_running_worker_goes_on_tomorrow(store: SQLiteStore) -> None:
    await queue(store, ada=2)
    clock = Clock()
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(worker(store, Parrot(), clock, day=CeilingSettings(max_calls=1)).run)
            await until(store, "ada", SessionState.DONE, SessionState.PENDING)
            await anyio.sleep(0.05)
            await until(store, "ada", SessionState.DONE, SessionState.PENDING)
            clock.move(days=1)
            await until(store, "ada", SessionState.DONE, SessionState.DONE)
            group.cancel_scope.cancel()


async def test_the_ledger_counts_what_is_remembered_at_once_too(store: SQLiteStore) -> None:
    limits = settings(day=CeilingSettings(max_calls=1))
    path = Remembering(store, WordEmbedder(), Parrot(), limits)
    assert isinstance(await path.add("ada", session("s1", "I sing."), now=NOW), Stored)
    refused = await path.add("bob", session("s2", "I dance."), now=NOW)
    assert isinstance(refused, Failed)
    assert "1 calls are made and max_calls is 1 for all users on 2025-03-05 (UTC)" in refused.reason
    assert await states(store, "bob") == [SessionState.PENDING]
    assert await store.usage("ada", since=NOW.date()) == await store.usage(since=NOW.date()) == COST
    assert isinstance(await path.add("bob", session("s2", "I dance."), now=NOW + timedelta(days=1)), Stored)


async def test_a_price_that_is_not_known_keeps_no_ceiling_of_cost(store: SQLiteStore) -> None:
    await queue(store, ada=2)
    await store.add_usage("ada", Usage(calls=1, cost=None), day=NOW.date())
    work = await worker(store, Parrot(), Clock(), day=CeilingSettings(max_cost=5)).run(once=True)
    assert (work.sessions, "a price is not known" in (work.stopped or "")) == (0, True)


# --- what happens meanwhile


async def test_what_is_forgotten_while_it_is_extracted_leaves_nothing(store: SQLiteStore) -> None:
    await queue(store, ada=1, bob=1)

    class Forgetting(Parrot):
        async def complete(self, request: ChatRequest[Any]) -> ChatReply[Any]:
            if "ada" in request.user:
                await store.forget("ada")
            return await super().complete(request)

    work = await worker(store, Forgetting(), Clock()).run(once=True)
    assert (await store.users(), work.failed, work.facts) == (["bob"], 0, 1)


async def test_a_store_that_fails_ends_the_work(store: SQLiteStore) -> None:
    await queue(store, ada=1, bob=1)

    class Closing(Parrot):
        async def complete(self, request: ChatRequest[Any]) -> ChatReply[Any]:
            await store.close()
            return await super().complete(request)

    with pytest.raises(StoreError, match="closed"):
        await worker(store, Closing(), Clock()).run(once=True)


async def test_how_far_a_session_is(store: SQLiteStore) -> None:
    await store.put_session("ada", session("s", "I sing.", "I dance."))
    assert await session_status(store, "ada", "s") == SessionStatus(
        session="s", state=SessionState.PENDING, messages=2, extracted=0, facts=0, attempts=0
    )
    await worker(store, Parrot(), Clock()).run(once=True)
    assert await session_status(store, "ada", "s") == SessionStatus(
        session="s", state=SessionState.DONE, messages=2, extracted=2, facts=2, attempts=0
    )
    assert await session_status(store, "bob", "s") is None


@pytest.mark.skipif(sys.platform == "win32", reason="forks")
async def test_dying_at_any_point_neither_loses_nor_doubles(tmp_path: Path) -> None:
    users = ["ada", "bob", "eve"]
    states_of = []
    for name, lives in (("undisturbed.db", 0), ("killed.db", 20)):
        path = tmp_path / name
        async with await SQLiteStore.open(path, encoder=ENCODER) as store:
            for n in range(15):
                for user in users:
                    # Every third statement was made before: it reinforces, and a source of its own is added.
                    texts = (f"I own {n} cats.", f"I sang {n // 3} songs.")
                    await store.put_session(user, session(f"s{n}", *texts, at=AT + timedelta(hours=n)))
        command = [sys.executable, str(DYING), "worker", str(path), str(lives)]
        where = {"PYTHONPATH": str(DYING.parents[1])}
        said = await anyio.run_process(command, env=os.environ | where, stderr=None)
        assert said.stdout.decode().split() == ["killed"] * lives + ["done"]
        async with await SQLiteStore.open(path, encoder=ENCODER) as store:
            states_of.append(await state_of(store, users))
            counts = await store.statistics()
            assert (counts["sessions_done"], counts["facts"], counts["cues"]) == (45, 60, 60)
            assert counts["vectors"] == 120
    assert states_of[0] == states_of[1]
