"""Whole runs over HTTP: rows, failures, ceilings, kills, retries, and replay without a model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from assistant import OUTLOOK, assistant
from loopback import Behaviour, Chat, Loopback, Status
from measured import run_of
from openai_protocol import Json, smallest
from prospection.config import Settings
from prospection.errors import ConfigError, CredentialError, InputError, UnknownNameError
from prospection.evaluation.judge.pairs import pair_answers
from prospection.evaluation.runs import session
from prospection.evaluation.runs.folder import RunFolder
from prospection.evaluation.runs.rows import Row

QUEST = Path(__file__).parents[2] / "data" / "evaluation" / "quest"

PLAN = """
name = "small"
concurrency = 2
[budget]
max_calls = {calls}
[[datasets]]
name = "quest"
path = "nowhere"
[[systems]]
name = "direct"
policy = "direct"
[[systems]]
name = "tree"
policy = "pgr"
[[systems]]
name = "chain"
policy = "pgr"
shape = "chain"
iterative = false
summary = false
[[systems]]
name = "foresight"
policy = "foresight"
"""


def answer(chat: Chat) -> Behaviour | Json | str:
    """Answer every stage of ours, and a rival's with the smallest reply that fits."""
    wanted = (chat.schema or {}).get("properties", {})
    if "steps" in wanted:
        return {"steps": ["Renew the passport", "Find somebody for the hives"]}
    if chat.schema is None or wanted.keys() & {"rewrites", "branches", "selected", "query"}:
        return assistant(chat)
    return cast("Json", smallest(chat.schema, chat.schema))


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback(answer) as opened:
        yield opened


def begun(tmp_path: Path, url: str | None, *, calls: int = 1000, plan: str = PLAN) -> session.Begun:
    file = tmp_path / "small.toml"
    file.write_text(plan.replace("{calls}", str(calls)))
    models = {"encoder": f"words@{url}", "chat": "tiny", "base_url": url, "retries": 0} if url else {}
    settings = Settings(models=models, evaluation={"embedding_cache": False})
    return session.begin(str(file), {"quest": QUEST}, settings)


def without_seconds(rows: list[Row]) -> dict[tuple[str, str, int, str], Row]:
    return {row.key: replace(row, seconds=0.0, usage=replace(row.usage, seconds=0.0)) for row in rows}


@pytest.mark.anyio
async def test_every_case_is_a_row_with_its_cost(tmp_path: Path, server: Loopback) -> None:
    stopped, rows = await session.measure(begun(tmp_path, server.url), tmp_path / "run", None)
    assert stopped is None
    assert len(rows) == 4 * 3
    by_system = {name: [row for row in rows if row.system == name] for name in ("direct", "tree", "chain", "foresight")}
    assert {row.usage.calls for row in by_system["direct"]} == {0}
    # Augmentation and simulation; with refinement and summary two more. A small memory is selected from as it is.
    assert {row.usage.calls for row in by_system["chain"]} == {2}
    assert {row.usage.calls for row in by_system["tree"]} == {4}
    assert {row.usage.calls for row in by_system["foresight"]} == {1}
    assert all(row.usage.tokens_in > 0 for row in by_system["tree"])
    assert sum(row.usage.calls for row in rows) == len(server.chats)
    first = next(row for row in by_system["direct"] if row.query == "user2-q1")
    assert sorted(rank for rank in first.ranks if rank) == sorted(first.relevant)
    assert len(first.ranks) == len(first.similarities) == len(first.tokens) == 3
    assert all(-1.0 <= value <= 1.0 for value in first.similarities)


@pytest.mark.anyio
async def test_a_replay_makes_the_same_rows_without_an_endpoint(tmp_path: Path) -> None:
    with Loopback(answer) as server:
        server.script(Status(500))
        _, rows = await session.measure(begun(tmp_path, server.url), tmp_path / "run", None)
        asked = len(server.requests)
    assert sum(row.error is not None for row in rows) == 1
    assert asked > 0
    assert await session.replay(tmp_path / "run", {"quest": QUEST}, Settings()) == []


@pytest.mark.anyio
async def test_a_replay_says_which_rows_differ(tmp_path: Path, server: Loopback) -> None:
    await session.measure(begun(tmp_path, server.url), tmp_path / "run", None)
    rows = tmp_path / "run" / "rows.jsonl"
    lines = [json.loads(line) for line in rows.read_text().splitlines()]
    lines[0]["fids"].reverse()
    lines[1]["ranks"][0] = 99
    lines[2]["usage"]["tokens_in"] += 1
    lines[3]["seconds"] += 1.0  # never the same twice
    rows.write_text("".join(json.dumps(line) + "\n" for line in lines))
    differing = await session.replay(tmp_path / "run", {"quest": QUEST}, Settings())
    assert differing == [f"quest/{line['system']}/0/{line['query']}" for line in lines[:3]]


@pytest.mark.anyio
async def test_other_data_is_no_replay(tmp_path: Path, server: Loopback) -> None:
    await session.measure(begun(tmp_path, server.url), tmp_path / "run", None)
    with pytest.raises(InputError, match=r"made with another datasets\.quest\.\w+: .*start a new run"):
        await session.replay(tmp_path / "run", {"quest": QUEST.parent / "common"}, Settings())


@pytest.mark.anyio
async def test_a_failed_case_is_a_row_and_can_be_asked_again(tmp_path: Path, server: Loopback) -> None:
    server.script(Status(500))
    run = begun(tmp_path, server.url)
    _, rows = await session.measure(run, tmp_path / "run", None)
    (failed,) = [row for row in rows if row.error is not None]
    assert failed.error is not None
    assert failed.error.startswith("EndpointError: ")
    assert failed.fids == ()
    assert set(failed.ranks) == {None}
    assert failed.usage.failed_calls == 1
    _, rows = await session.measure(run, tmp_path / "run", "unfinished")
    assert [row.error is None for row in rows].count(False) == 1  # a resume does not ask it again
    _, rows = await session.measure(run, tmp_path / "run", "failed")
    (again,) = [row for row in rows if row.key == failed.key]
    assert (again.error, again.attempt, len(rows)) == (None, 2, 12)
    assert await session.replay(tmp_path / "run", {"quest": QUEST}, Settings()) == []


@pytest.mark.anyio
async def test_at_the_ceiling_the_run_stops_and_goes_on_with_a_higher_one(tmp_path: Path, server: Loopback) -> None:
    stopped, rows = await session.measure(begun(tmp_path, server.url, calls=5), tmp_path / "run", None)
    assert stopped == "5 calls are made and max_calls is 5"
    assert len(server.chats) == 5
    assert len(rows) < 12
    assert all(row.notes == () for row in rows)  # nobody's cut result was written down
    stopped, rows = await session.measure(begun(tmp_path, server.url), tmp_path / "run", "unfinished")
    assert (stopped, len(rows)) == (None, 12)
    # What was paid for before the ceiling was played, not asked again.
    assert len(server.chats) == sum(row.usage.calls for row in rows)


@pytest.mark.anyio
async def test_a_kill_leaves_what_was_done(tmp_path: Path, server: Loopback) -> None:
    run = begun(tmp_path, server.url)
    _, whole = await session.measure(run, tmp_path / "whole", None)
    _, _ = await session.measure(run, tmp_path / "run", None)
    calls = len(server.chats)
    for name, kept in (("rows.jsonl", 4), ("recording.jsonl", 3)):  # as if killed in the middle of a line
        lines = (tmp_path / "run" / name).read_text().splitlines(keepends=True)
        (tmp_path / "run" / name).write_text("".join(lines[:kept]) + lines[kept][:20])
    _, rows = await session.measure(run, tmp_path / "run", "unfinished")
    assert without_seconds(rows) == without_seconds(whole)
    assert len(server.chats) < calls + calls // 2
    assert len((tmp_path / "run" / "rows.jsonl").read_text().splitlines()) == 12


@pytest.mark.anyio
async def test_a_refused_key_ends_the_run_and_is_no_row(tmp_path: Path, server: Loopback) -> None:
    server.script(Status(401, "Incorrect API key provided."))
    run = begun(tmp_path, server.url, plan=PLAN.replace("concurrency = 2", "concurrency = 1"))
    with pytest.raises(CredentialError, match="HTTP 401"):
        await session.measure(run, tmp_path / "run", None)
    assert all(row.error is None for row in RunFolder(tmp_path / "run").rows().values())
    _, rows = await session.measure(run, tmp_path / "run", "unfinished")
    assert len(rows) == 12


@pytest.mark.anyio
async def test_a_folder_holds_one_run(tmp_path: Path, server: Loopback) -> None:
    await session.measure(begun(tmp_path, server.url), tmp_path / "run", None)
    with pytest.raises(InputError, match="holds a run already; go on with it"):
        await session.measure(begun(tmp_path, server.url), tmp_path / "run", None)
    other = begun(tmp_path, server.url, plan=PLAN.replace('shape = "chain"', 'shape = "tree"'))
    with pytest.raises(InputError, match="made with another plan"):
        await session.measure(other, tmp_path / "run", "unfinished")


@pytest.mark.anyio
async def test_two_processes_do_not_measure_one_run(tmp_path: Path, server: Loopback) -> None:
    run = begun(tmp_path, server.url)
    with RunFolder(tmp_path / "run").held(), pytest.raises(InputError, match="another process works in"):
        await session.measure(run, tmp_path / "run", None)
    assert server.chats == []
    assert not RunFolder(tmp_path / "run").exists()


def test_a_manifest_that_was_cut_is_said(tmp_path: Path) -> None:
    folder = run_of(tmp_path / "run", [])
    path = tmp_path / "run" / "manifest.json"
    path.write_text(path.read_text()[:20])
    with pytest.raises(InputError, match=r"manifest\.json' is no manifest: .*; put it back, or start a new run"):
        folder.manifest()


@pytest.mark.anyio
async def test_a_run_goes_on_under_what_it_was_begun_with(tmp_path: Path, server: Loopback) -> None:
    run = begun(tmp_path, server.url, calls=5)
    await session.measure(run, tmp_path / "run", None)
    asked = len(server.chats)

    async def resumed(**changed: object) -> None:
        models = run.settings.models.model_copy(update={**changed, "context_tokens": None})
        recall = run.settings.recall.model_copy(update={"context_tokens": changed.get("context_tokens", 2000)})
        settings = run.settings.model_copy(update={"models": models, "recall": recall})
        await session.measure(replace(run, settings=settings), tmp_path / "run", "unfinished")

    for changed, said in (
        ({"chat": "larger"}, "another chat: 'tiny', now 'larger'"),
        ({"encoder": f"others@{server.url}"}, r"another encoder\.id: .*others"),
        ({"max_output_tokens": 99}, r"another settings\.max_output_tokens: 4096, now 99"),
        ({"context_tokens": 99}, r"another settings\.context_tokens: 2000, now 99"),
    ):
        with pytest.raises(InputError, match=said):
            await resumed(**changed)
    assert len(server.chats) == asked
    await resumed(timeout=7.0, retries=1)
    manifest = RunFolder(tmp_path / "run").manifest()
    assert manifest["attempts"] == {"timeout": 7.0, "retries": 1}


@pytest.mark.anyio
async def test_the_manifest_names_what_made_the_rows_and_no_machine(tmp_path: Path, server: Loopback) -> None:
    await session.measure(begun(tmp_path, server.url), tmp_path / "run", None)
    text = (tmp_path / "run" / "manifest.json").read_text()
    manifest = json.loads(text)
    assert (manifest["chat"], manifest["encoder"]["dims"]) == ("tiny", 64)
    assert manifest["systems"]["chain"]["parameters"]["shape"] == "chain"
    assert manifest["datasets"]["quest"]["queries"] == 3
    assert len(manifest["datasets"]["quest"]["sha256"]) == 64
    assert {"simulate", "foresee"} <= set(manifest["prompts"])
    assert str(tmp_path) not in text
    assert str(QUEST) not in text


@pytest.mark.anyio
async def test_a_rival_builds_its_index_once_and_pays_for_it_apart(tmp_path: Path, server: Loopback) -> None:
    plan = PLAN.partition("[[systems]]")[0] + '[[systems]]\nname = "graph"\nrival = "mem0g"\n'
    _, rows = await session.measure(begun(tmp_path, server.url, plan=plan), tmp_path / "run", None)
    indexes = RunFolder(tmp_path / "run").indexes()
    assert sorted(index.user for index in indexes) == ["user10", "user2"]
    assert sum(index.usage.calls for index in indexes) + sum(row.usage.calls for row in rows) == len(server.chats)
    assert await session.replay(tmp_path / "run", {"quest": QUEST}, Settings()) == []


@pytest.mark.anyio
async def test_a_ceiling_that_cannot_be_kept_is_refused_before_anything_is_asked(
    tmp_path: Path, server: Loopback
) -> None:
    run = begun(tmp_path, server.url, plan=PLAN.replace("max_calls = {calls}", "max_cost = 1.0"))
    with pytest.raises(ConfigError, match="the price of 'tiny', which system 'direct' asks, is not known; write max_c"):
        await session.measure(run, tmp_path / "run", None)
    assert not server.requests


@pytest.mark.anyio
async def test_an_estimate_asks_nobody(tmp_path: Path, server: Loopback) -> None:
    estimates = {one.system: one for one in await session.estimate(begun(tmp_path, server.url))}
    assert server.chats == []
    assert (estimates["direct"].calls, estimates["direct"].cost) == (0.0, None)
    assert estimates["chain"].calls == pytest.approx(2 * 3)
    assert estimates["tree"].calls >= 4 * 3
    assert (estimates["tree"].tokens_in or 0) > (estimates["chain"].tokens_in or 0) > 0


@pytest.mark.anyio
async def test_an_index_is_rehearsed_for_one_person_and_counted_for_all(tmp_path: Path, server: Loopback) -> None:
    plan = PLAN.partition("[[systems]]")[0] + '[[systems]]\nname = "graph"\nrival = "mem0g"\n'
    (both,) = await session.estimate(begun(tmp_path, server.url, plan=plan))
    (one,) = await session.estimate(begun(tmp_path, server.url, plan=plan.replace("path =", "users = 1\npath =")))
    assert both.index_calls == 2 * one.index_calls > 0
    assert server.chats == []


@pytest.mark.anyio
async def test_without_a_model_recorded_probes_stand_in(tmp_path: Path, server: Loopback) -> None:
    run = begun(tmp_path, server.url, plan=PLAN.replace('name = "quest"', 'name = "quest"\nqueries = 1'))
    bare = run.settings.models.model_copy(update={"chat": None, "base_url": None})
    run = replace(run, settings=run.settings.model_copy(update={"models": bare}))
    _, rows = await session.measure(run, tmp_path / "run", None)
    assert all(row.error is None for row in rows)
    assert server.chats == []


def test_a_data_set_that_the_plan_does_not_name(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text(PLAN.replace("{calls}", "1"))
    with pytest.raises(UnknownNameError, match="'qest'; did you mean 'quest'"):
        session.begin(str(file), {"qest": QUEST}, Settings())


@pytest.mark.anyio
async def test_answers_are_paid_for_apart_and_written_for_the_judge(tmp_path: Path, server: Loopback) -> None:
    plan = PLAN.replace("concurrency = 2", "concurrency = 2\nanswers = true")
    _, rows = await session.measure(begun(tmp_path, server.url, plan=plan), tmp_path / "run", None)
    assert {row.answer_usage.calls for row in rows} == {1}
    assert {row.usage.calls for row in rows if row.system == "direct"} == {0}
    files = session.answers(tmp_path / "run", {"quest": QUEST}, Settings(), tmp_path / "answers")
    assert sorted(file.name for file in files) == ["chain.jsonl", "direct.jsonl", "foresight.jsonl", "tree.jsonl"]
    pairs = pair_answers(tmp_path / "answers" / "tree.jsonl", tmp_path / "answers" / "direct.jsonl").pairs
    assert len(pairs) == 3
    assert {pair.user for pair in pairs} == {"user2", "user10"}
    assert any(OUTLOOK in chat.user for chat in server.chats if "<remembered>" in chat.user)  # the summary is given
    assert await session.replay(tmp_path / "run", {"quest": QUEST}, Settings()) == []


@pytest.mark.anyio
async def test_an_answer_that_failed_can_be_asked_again_from_what_was_found(tmp_path: Path) -> None:
    plan = PLAN.replace("concurrency = 2", "answers = true").partition("[[systems]]")[0]
    plan += '[[systems]]\nname = "chain"\npolicy = "pgr"\niterative = false\n'
    failing = [Status(500)]

    def model(chat: Chat) -> Behaviour | Json | str:
        return failing.pop() if failing and "<remembered>" in chat.user else answer(chat)

    with Loopback(model) as server:
        run = begun(tmp_path, server.url, plan=plan)
        _, rows = await session.measure(run, tmp_path / "run", None)
        (failed,) = [row for row in rows if row.answer is None]
        assert failed.error is None
        assert "no answer: " in failed.notes[-1]
        asked = len(server.chats)

        _, rows = await session.measure(run, tmp_path / "run", "unfinished")
        assert (len(rows), len(server.chats)) == (3, asked)  # a resume does not ask for it again
        _, rows = await session.measure(run, tmp_path / "run", "failed")
        assert len(server.chats) == asked + 1

    (again,) = [row for row in rows if row.key == failed.key]
    assert (again.attempt, again.answer_attempt, again.usage, again.seconds) == (1, 2, failed.usage, failed.seconds)
    assert again.fids == failed.fids
    assert again.answer is not None
    assert again.notes == ()
    assert await session.replay(tmp_path / "run", {"quest": QUEST}, Settings()) == []
