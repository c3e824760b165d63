"""Rivals' own packages as systems of a run: one process each, on tape, resumed and replayed without them.

The environment is made here: its Python is this one, and its `mem0` is twenty lines that ask a model for every memory
as the package does. The packages themselves are in `rivals/test_packaged.py`, wherever they are installed.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from loopback import Loopback, Status
from prospection.config import Settings
from prospection.errors import ConfigError, InputError, UnknownNameError
from prospection.evaluation.rivals.packaged.environment import READY
from prospection.evaluation.runs import session
from prospection.evaluation.runs.folder import RunFolder
from prospection.evaluation.runs.plan import parse_plan

QUEST = Path(__file__).parents[2] / "data" / "evaluation" / "quest"

PLAN = """
name = "packages"
[[datasets]]
name = "quest"
path = "nowhere"
[[systems]]
name = "its own code"
rival = "mem0-1"
embedding = "words"
dims = 64
[[systems]]
name = "direct"
policy = "direct"
"""

MEM0 = """
import json
from pathlib import Path
from openai import OpenAI

class Memory:
    @classmethod
    def from_config(cls, config):
        self = cls()
        asked = config["llm"]["config"]
        self.client = OpenAI(base_url=asked["openai_base_url"], api_key=asked["api_key"], max_retries=0)
        self.model = asked["model"]
        self.file = Path(config["history_db_path"]).with_name("memories.jsonl")
        return self

    def add(self, messages, user_id, metadata):
        self.client.chat.completions.create(model=self.model, messages=messages)
        with self.file.open("a") as file:
            file.write(json.dumps({"memory": messages[0]["content"], "metadata": metadata}) + "\\n")

    def search(self, query, user_id, limit):
        self.client.chat.completions.create(model=self.model, messages=[{"role": "user", "content": query}])
        found = [json.loads(line) for line in self.file.read_text().splitlines()]
        return {"results": found[:limit], "relations": []}
"""


@pytest.fixture
def environments(tmp_path: Path) -> Path:
    """Make an environment of mem0-1 as `eval rivals install` leaves one."""
    folder = tmp_path / "environments" / "mem0-1"
    (folder / "bin").mkdir(parents=True)
    (folder / "mem0.py").write_text(MEM0)
    python = folder / "bin" / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={folder} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    (folder / READY).write_text("mem0ai")
    return folder.parent


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as opened:
        yield opened


def begun(tmp_path: Path, url: str, environments: Path, *, chat: str = "tiny") -> session.Begun:
    file = tmp_path / "packages.toml"
    file.write_text(PLAN)
    models = {"chat": chat, "base_url": url, "retries": 0}
    settings = Settings(models=models, evaluation={"embedding_cache": False, "rivals": environments})
    return session.begin(str(file), {"quest": QUEST}, settings)


@pytest.mark.anyio
async def test_a_package_is_built_searched_and_replayed(tmp_path: Path, environments: Path, server: Loopback) -> None:
    run, place = begun(tmp_path, server.url, environments), tmp_path / "run"
    stopped, rows = await session.measure(run, place, None)
    assert stopped is None
    own = [row for row in rows if row.system == "its own code"]
    assert len(own) == 3
    assert {row.error for row in own} == {None}
    built = {index.user: index.usage.calls for index in RunFolder(place).indexes()}
    assert {row.user: len(row.fids) for row in own} == built  # one call a fact, and it returns them all
    assert {row.usage.calls for row in own} == {1}
    assert all(row.usage.tokens_in > 0 for row in own)
    assert {row.usage.cost for row in own} == {None}  # nobody knows the price of "tiny"
    assert len(server.chats) == sum(built.values()) + 3

    shutil.rmtree(environments)
    shutil.rmtree(place / "packages")
    assert await session.replay(place, {"quest": QUEST}, Settings()) == []


@pytest.mark.anyio
async def test_a_run_goes_on_with_the_index_that_it_has(tmp_path: Path, environments: Path, server: Loopback) -> None:
    run, place = begun(tmp_path, server.url, environments), tmp_path / "run"
    await session.measure(run, place, None)
    lines = (place / "rows.jsonl").read_text().splitlines(keepends=True)
    recorded = (place / "recording.jsonl").read_text().splitlines(keepends=True)
    searches = [number for number, line in enumerate(recorded) if '"stage":"search"' in line]
    # As a kill during the last search of the package would leave it.
    (place / "rows.jsonl").write_text("".join(lines[:2]))
    (place / "recording.jsonl").write_text("".join(recorded[: searches[-1]]))
    before = len(server.chats)

    _, rows = await session.measure(run, place, "unfinished")

    assert len(server.chats) == before + 1
    assert [row.error for row in rows] == [None] * len(rows)

    # Without its index a package would begin an empty one and find nothing.
    shutil.rmtree(place / "packages")
    (place / "rows.jsonl").write_text("".join(lines[:2]))
    (place / "recording.jsonl").write_text("".join(recorded[: searches[-1]]))
    _, rows = await session.measure(run, place, "unfinished")
    (failed,) = [row for row in rows if row.error is not None]
    assert "the index is gone; start a new run" in str(failed.error)


@pytest.mark.anyio
async def test_a_build_that_fails_is_an_error_in_its_rows(tmp_path: Path, environments: Path, server: Loopback) -> None:
    run, place = begun(tmp_path, server.url, environments), tmp_path / "run"
    server.script(Status(500))
    _, rows = await session.measure(run, place, None)
    failed = [row for row in rows if row.error is not None]
    assert {row.system for row in failed} == {"its own code"}
    assert all("index: 'mem0-1' failed: InternalServerError" in str(row.error) for row in failed)

    _, rows = await session.measure(run, place, "failed")
    assert not [row for row in rows if row.error is not None]
    assert await session.replay(place, {"quest": QUEST}, Settings()) == []


@pytest.mark.anyio
async def test_what_a_package_lacks_is_said_before_anything_is_asked(
    tmp_path: Path, environments: Path, server: Loopback
) -> None:
    run = begun(tmp_path, server.url, tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match="run: prospection eval rivals install mem0-1"):
        await session.measure(run, tmp_path / "run", None)
    models = run.settings.models.model_copy(update={"chat": "anthropic:claude", "base_url": None})
    evaluation = run.settings.evaluation.model_copy(update={"rivals": environments})
    run = session.Begun(
        plan=run.plan,
        text=run.text,
        datasets=run.datasets,
        settings=run.settings.model_copy(update={"models": models, "evaluation": evaluation}),
    )
    with pytest.raises(ConfigError, match=r"cannot use 'anthropic:claude': .* name a model openai:"):
        await session.measure(run, tmp_path / "run", None)
    assert not server.requests
    assert not (tmp_path / "run").exists()


def test_a_plan_says_which_encoder_a_package_asks() -> None:
    (package, _) = parse_plan(PLAN).systems
    assert package.parameters == {"embedding": "words", "dims": 64}
    with pytest.raises(InputError, match=r"system 'its own code': dims: Field required"):
        parse_plan(PLAN.replace("dims = 64", ""))
    with pytest.raises(UnknownNameError, match="'dim'; did you mean 'dims'"):
        parse_plan(PLAN.replace("dims = 64", "dim = 64"))
    with pytest.raises(UnknownNameError, match="did you mean 'mem0-1'"):
        parse_plan(PLAN.replace("mem0-1", "mem0-11"))


@pytest.mark.anyio
async def test_a_dry_run_says_how_many_calls_a_package_makes(tmp_path: Path, server: Loopback) -> None:
    run = begun(tmp_path, server.url, tmp_path)
    package, direct = await session.estimate(run)
    facts = sum(len(user.facts) for user in run.datasets["quest"].users)
    assert (package.calls, package.index_calls, package.tokens_in, package.cost) == (3, 5 * facts, None, None)
    assert (direct.calls, direct.cost) == (0, None)
    assert not server.requests
