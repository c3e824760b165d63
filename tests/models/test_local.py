"""The local encoder, with the real weights."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.embedder_contract import EmbedderContract
from prospection.errors import ConfigError
from prospection.models.local import LocalEncoder, open_local, plan_runs

SHARED = LocalEncoder()


class TestContract(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> LocalEncoder:
        return SHARED


@pytest.mark.anyio
async def test_known_cosines() -> None:
    # Measured with the fp32 model of sentence-transformers; int8 weights move a cosine by about 0.01.
    man, woman, tax = await SHARED.embed(["A man is eating food.", "A man is eating a piece of bread.", "Tax forms."])
    assert man @ woman == pytest.approx(0.755, abs=0.02)
    assert man @ tax < 0.15


@pytest.mark.anyio
async def test_long_texts_are_cut_at_256_tokens() -> None:
    long, longer = await SHARED.embed(["word " * 254 + "volcano", "word " * 254 + "harbour tax bridge"])
    np.testing.assert_allclose(long, longer, atol=1e-6)
    short, shorter = await SHARED.embed(["word " * 253 + "volcano", "word " * 253 + "harbour"])
    assert not np.allclose(short, shorter, atol=1e-4)


@pytest.mark.anyio
async def test_a_wrong_file_is_refused(tmp_path: Path) -> None:
    wrong = tmp_path / "model.onnx"
    wrong.write_bytes(b"not the weights")
    with pytest.raises(ConfigError, match=r"SHA-256 is .* expected 8199be6f"):
        await LocalEncoder(model=wrong).embed(["x"])
    with pytest.raises(ConfigError, match=r"SHA-256 is .* expected be50c362"):
        await LocalEncoder(tokenizer=wrong).embed(["x"])
    with pytest.raises(ConfigError, match=r"cannot read .*missing\.onnx"):
        await LocalEncoder(model=tmp_path / "missing.onnx").embed(["x"])


def test_threads_share_one_load() -> None:
    import anyio

    encoder = LocalEncoder()
    rows: list[np.ndarray] = []

    def embed() -> None:
        rows.append(anyio.run(encoder.embed, ["the same text"]))

    threads = [threading.Thread(target=embed) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(rows) == 4
    for row in rows:
        np.testing.assert_array_equal(row, rows[0])


@pytest.mark.anyio
async def test_an_argument_is_refused() -> None:
    with pytest.raises(ConfigError, match="takes no argument, got 'big'"):
        await open_local("big", call_timeout=1, retries=0)


def test_runs_by_hand() -> None:
    assert plan_runs([5, 2, 9, 2], run_tokens=10) == [[1, 3], [0], [2]]
    assert plan_runs([], run_tokens=10) == []
    assert plan_runs([50], run_tokens=10) == [[0]]


@given(st.lists(st.integers(1, 256)), st.integers(1, 2000))
def test_runs_hold_every_text_once_and_keep_the_limit(lengths: list[int], run_tokens: int) -> None:
    runs = plan_runs(lengths, run_tokens=run_tokens)
    assert sorted(position for run in runs for position in run) == list(range(len(lengths)))
    for run in runs:
        assert len(run) == 1 or len(run) * max(lengths[i] for i in run) <= run_tokens


def test_nothing_is_reported_to_anybody(tmp_path: Path) -> None:
    # Where its runtime reports to its maker, it keeps the reports in the cache folder until they are sent.
    code = "import anyio; from prospection.models.local import LocalEncoder; anyio.run(LocalEncoder().embed, ['tea'])"
    silencing = {"CI", "ORT_DISABLE_TELEMETRY", "ORT_RUNNING_UNIT_TESTS", "XDG_CACHE_HOME"}
    kept = {name: value for name, value in os.environ.items() if name not in silencing}
    subprocess.run([sys.executable, "-c", code], env={**kept, "HOME": str(tmp_path)}, timeout=60, check=True)
    assert list(tmp_path.rglob("*")) == []
