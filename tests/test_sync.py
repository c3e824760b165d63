"""`Memory`: the same methods without `await`."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from prospection import AsyncMemory, Memory, Settings
from prospection.errors import UnknownUserError
from prospection.types import Stored
from remembered import WordEmbedder

SAID = [{"role": "user", "content": "My mother has dialysis every Monday and Wednesday morning."}]


def over(path: Path) -> Memory:
    return Memory(path / "memory.db", encoder=WordEmbedder(), settings=Settings())


def public(kind: type) -> dict[str, inspect.Signature]:
    methods = inspect.getmembers(kind, inspect.isfunction)
    return {name: inspect.signature(method) for name, method in methods if not name.startswith("_")}


def test_the_two_have_the_same_methods_and_arguments() -> None:
    own, other = public(Memory), public(AsyncMemory)
    # One iterates, the other iterates asynchronously.
    own["recall_stream"], other["recall_stream"] = (
        found["recall_stream"].replace(return_annotation=None) for found in (own, other)
    )
    assert own == other
    assert inspect.signature(Memory.__init__) == inspect.signature(AsyncMemory.__init__)


def test_it_remembers_and_recalls(tmp_path: Path) -> None:
    with over(tmp_path) as memory:
        assert isinstance(memory.add(SAID, user="ada"), Stored)
        assert [item.fid for item in memory.recall("Plan two weeks in Italy", user="ada").facts] == ["f1"]
        with pytest.raises(UnknownUserError):
            memory.recall("x", user="eve")


def test_threads_may_share_it(tmp_path: Path) -> None:
    with over(tmp_path) as memory, ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(lambda n: memory.add(SAID, user=f"user{n}"), range(16)))
        assert all(isinstance(outcome, Stored) for outcome in outcomes)
        assert len(memory.users()) == 16


@pytest.mark.anyio
async def test_it_works_inside_a_running_event_loop(tmp_path: Path) -> None:
    with over(tmp_path) as memory:
        assert memory.users() == []


def test_closing_twice_and_using_it_again(tmp_path: Path) -> None:
    memory = over(tmp_path)
    memory.close()
    memory.add(SAID, user="ada")
    memory.close()
    memory.close()
    assert memory.users() == ["ada"]
    memory.close()


def test_a_program_that_never_closes_it_ends_all_the_same(tmp_path: Path) -> None:
    code = "from prospection import Memory; print(Memory('memory.db').users())"
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    assert (ended.stdout, ended.stderr) == ("[]\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_fork_is_told_to_make_its_own(tmp_path: Path) -> None:
    code = """
import os
from prospection import Memory
memory = Memory("memory.db")
print(memory.users(), flush=True)
if os.fork() == 0:
    try:
        with memory:
            memory.users()
    except Exception as error:
        print(type(error).__name__, "make a Memory of its own" in str(error), Memory("memory.db").users())
else:
    os.wait()
    print(memory.users())
"""
    # Newer Pythons warn of every fork beside threads.
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert (ended.stdout, ended.stderr) == ("[]\nConfigError True []\n[]\n", "")
