"""What operators do with a whole memory: draining the queue, asking how far it is, changing the encoder."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from prospection import AsyncMemory, Memory, Settings
from prospection.errors import ConfigError, EncoderMismatchError, InputError
from prospection.types import Nothing, Queued, SessionState, Usage
from remembered import WordEmbedder
from working import COST, LetterEmbedder, Parrot

SETTINGS = Settings.model_validate({"remember": {"upsert": "rules", "cue_crowd": 0}})


def said(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def test_what_is_queued_is_worked_off_and_can_be_asked_about(tmp_path: Path) -> None:
    with Memory(tmp_path / "memory.db", model=Parrot(), encoder=WordEmbedder(), settings=SETTINGS) as memory:
        queued = memory.add(said("I sing."), user="ada", wait=False)
        assert isinstance(queued, Queued)
        memory.add(said("I dance."), user="bob", wait=False)
        before = memory.operation(queued.session, user="ada")
        assert before is not None
        assert (before.state, before.facts) == (SessionState.PENDING, 0)
        work = memory.work(once=True)
        assert (work.sessions, work.facts, work.failed, work.stopped) == (2, 2, 0, None)
        after = memory.operation(queued.session, user="ada")
        assert after is not None
        assert (after.state, after.facts, after.messages) == (SessionState.DONE, 1, 1)
        assert memory.operation(queued.session, user="bob") is None
        assert isinstance(memory.add(said("I sing."), user="ada", session=queued.session), Nothing)
        assert memory.usage() == work.usage
        assert memory.usage(user="ada") == COST
        memory.forget(user="ada")
        assert memory.usage(user="ada") == Usage()
        with pytest.raises(InputError, match="empty"):
            memory.usage(user=" ")


@pytest.mark.anyio
async def test_a_memory_is_used_on_while_its_encoder_changes(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    async with AsyncMemory(path, encoder=WordEmbedder(), settings=SETTINGS) as memory:
        for n in range(40):
            await memory.add(said(f"I own {n} cats in town {n}."), user="ada")
        encoders = set()
        done = anyio.Event()

        async def recall() -> None:
            while not done.is_set():
                found = await memory.recall("I own 7 cats in town 7.", user="ada", policy="direct", limit=1)
                assert [fact.info for fact in found.facts] == ["I own 7 cats in town 7."]
                encoders.add(found.trace.encoder)

        async def remember() -> None:
            n = 0
            while not done.is_set():
                await memory.add(said(f"I know {n} songs by heart."), user="bob", session=f"s{n}")
                n += 1

        async with anyio.create_task_group() as group:
            group.start_soon(recall)
            group.start_soon(recall)
            group.start_soon(remember)
            assert await memory.reembed(LetterEmbedder()) >= 40
            await anyio.sleep(0.1)
            done.set()
        assert encoders == {"words", "letters"}
        counts = await memory.statistics()
        assert counts["vectors"] == counts["facts"] + counts["facts_replaced"] + counts["cues"]
        assert counts["sessions_done"] == counts["sessions"]
    async with AsyncMemory(path, encoder=WordEmbedder(), settings=SETTINGS) as memory:
        with pytest.raises(EncoderMismatchError, match="'letters'"):
            await memory.facts(user="ada")
        await memory.reembed(WordEmbedder())
        assert len(await memory.facts(user="ada")) == 40


@pytest.mark.anyio
async def test_only_a_file_can_be_reembedded(tmp_path: Path) -> None:
    async with AsyncMemory(":memory:", encoder=WordEmbedder(), settings=SETTINGS) as memory:
        with pytest.raises(ConfigError, match="file of its own"):
            await memory.reembed(LetterEmbedder())
