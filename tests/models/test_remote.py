"""Encoders behind an endpoint, over real HTTP, and the registry that names all encoders."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from contracts.embedder_contract import EmbedderContract
from loopback import Drop, Garbage, Loopback, Reply, Status, embedding
from prospection.errors import (
    ConfigError,
    CredentialError,
    EndpointError,
    MissingExtraError,
    RateLimitError,
    UnknownNameError,
)
from prospection.models.attempts import Endpoint
from prospection.models.batching import BatchingEmbedder
from prospection.models.encoders import encoder_names, open_encoder
from prospection.models.local import LocalEncoder
from prospection.models.remote import RemoteEncoder
from prospection.protocols import Embedder
from prospection.types import Calibration

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as running:
        yield running


def encoder_at(server: Loopback, *, retries: int = 2) -> RemoteEncoder:
    return RemoteEncoder(
        Endpoint(where=server.url, model="tiny", timeout=5, retries=retries, backoff=0.001),
        key="none",
        encoder_id="compatible:tiny",
        dims=64,
        calibration=Calibration(noise_mean=0.1, noise_sd=0.1, tau=0.25, tau_o=0.55),
    )


class TestContract(EmbedderContract):
    @pytest.fixture
    async def embedder(self, server: Loopback) -> Embedder:
        opened = await open_encoder(f"tiny@{server.url}")
        assert isinstance(opened, BatchingEmbedder)  # callers side by side share requests
        return opened


async def test_an_unknown_encoder_is_calibrated_by_unrelated_pairs(server: Loopback) -> None:
    encoder = await open_encoder(f"org/tiny@{server.url}")
    assert encoder.id == "compatible:org/tiny"
    assert encoder.dims == 64
    assert [len(texts) for texts in server.embeddings] == [128]
    sent = np.array([embedding(text) for text in server.embeddings[0]])
    unit = sent / np.linalg.norm(sent, axis=1, keepdims=True)
    cosines = (unit[0::2] * unit[1::2]).sum(axis=1)
    assert encoder.calibration.noise_mean == pytest.approx(cosines.mean(), abs=1e-5)
    assert encoder.calibration.noise_sd == pytest.approx(cosines.std(ddof=1), abs=1e-5)
    assert encoder.calibration.tau == pytest.approx(cosines.mean() + 1.5 * cosines.std(ddof=1), abs=0.006)


async def test_the_published_encoder_needs_no_call(monkeypatch: pytest.MonkeyPatch, server: Loopback) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    encoder = await open_encoder("openai:text-embedding-3-small")
    assert (encoder.id, encoder.dims) == ("openai:text-embedding-3-small", 1536)
    assert (encoder.calibration.tau, encoder.calibration.tau_o) == (0.3, 0.6)
    assert not server.requests
    with pytest.raises(EndpointError, match="vectors of width 64 for 'text-embedding-3-small', before 1536"):
        await encoder.embed(["x"])
    other = await open_encoder("openai:text-embedding-3-large")
    assert other.id == "openai:text-embedding-3-large"
    assert server.requests[-1].headers["authorization"] == "Bearer secret"


@pytest.mark.parametrize(
    ("model", "query", "passage"),
    [
        ("nomic-embed-text", "search_query: cats", "search_document: cats"),
        ("intfloat/multilingual-e5-small", "query: cats", "passage: cats"),
        ("some-e5000", "cats", "cats"),
    ],
)
async def test_texts_are_marked_where_the_model_wants_it(
    server: Loopback, model: str, query: str, passage: str
) -> None:
    encoder = await open_encoder(f"{model}@{server.url}")
    assert encoder.id == f"compatible:{model}" + ("+prefixes" if query != "cats" else "")
    await encoder.embed(["cats"], role="query")
    await encoder.embed(["cats"])
    assert server.embeddings[1:] == [[query], [passage]]


async def test_requests_are_batched_and_counted(server: Loopback) -> None:
    encoder = encoder_at(server)
    await encoder.embed([f"text {i}" for i in range(300)] + ["long " * 30_000, "long " * 30_000])
    assert [len(texts) for texts in server.embeddings] == [128, 128, 45, 1]
    assert encoder.usage.calls == 4
    assert encoder.usage.tokens_in > 300


async def test_rows_follow_the_index_of_the_answer(server: Loopback) -> None:
    data = [{"object": "embedding", "index": i, "embedding": [0.0] * i + [2.0] + [0.0] * (63 - i)} for i in (1, 0)]
    server.script_embeddings(Reply({"object": "list", "model": "tiny", "data": data}))
    rows = await encoder_at(server).embed(["a", "b"])
    np.testing.assert_array_equal(rows[:, :2], np.eye(2))


@pytest.mark.parametrize("vectors", [[], [[1.0] * 64], [[0.0] * 64] * 2, [[1.0] * 64, [1.0] * 63], [["x"] * 64] * 2])
async def test_answers_that_are_no_vectors(server: Loopback, vectors: list[list[float]]) -> None:
    data = [{"object": "embedding", "index": i, "embedding": vector} for i, vector in enumerate(vectors)]
    server.script_embeddings(Reply({"object": "list", "model": "tiny", "data": data}))
    with pytest.raises(EndpointError, match="check that 'tiny' is an embedding model"):
        await encoder_at(server).embed(["a", "b"])


async def test_failures_are_tried_again_and_counted(server: Loopback) -> None:
    server.script_embeddings(Status(429, retry_after=0), Status(500))
    encoder = encoder_at(server)
    await encoder.embed(["x"])
    assert (encoder.usage.calls, encoder.usage.failed_calls) == (3, 2)


@pytest.mark.parametrize(
    ("failure", "kind", "calls"),
    [
        (Status(401), CredentialError, 1),
        (Status(429, retry_after=0), RateLimitError, 3),
        (Status(429, code="insufficient_quota"), RateLimitError, 1),
        (Status(500), EndpointError, 3),
        (Status(404), EndpointError, 1),
        (Drop(), EndpointError, 3),
        (Garbage(), EndpointError, 3),
    ],
)
async def test_failures_have_types(
    server: Loopback, failure: Status | Drop | Garbage, kind: type[EndpointError], calls: int
) -> None:
    server.script_embeddings(*[failure] * 3)
    with pytest.raises(kind, match=server.url) as caught:
        await encoder_at(server).embed(["x"])
    assert caught.value.usage is not None
    assert caught.value.usage.calls == caught.value.usage.failed_calls == len(server.requests) == calls


async def test_names() -> None:
    assert {"local", "multilingual", "openai"} <= set(encoder_names())
    assert isinstance(await open_encoder("local"), LocalEncoder)
    with pytest.raises(UnknownNameError, match="unknown encoder 'locl'; did you mean 'local'"):
        await open_encoder("locl")
    with pytest.raises(UnknownNameError, match=r"did you mean 'text-embedding-3-small'.*'MODEL@URL'"):
        await open_encoder("openai:text-embedding-3-smal")
    with pytest.raises(CredentialError, match="set the environment variable OPENAI_API_KEY"):
        await open_encoder("openai:text-embedding-3-small")
    with pytest.raises(ConfigError, match="encoder 'tiny@localhost' is not 'MODEL@URL'"):
        await open_encoder("tiny@localhost")


async def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    # A None in sys.modules is how Python itself says that a package cannot be imported.
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'prospection\[llm\]'"):
        await open_encoder("tiny@http://127.0.0.1:9/v1")


async def test_encoders_of_other_packages_come_through_the_same_door(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path
    (root / "elsewhere.py").write_text(
        "from prospection.models.local import LocalEncoder\n"
        "async def load(argument, *, call_timeout, retries):\n"
        "    encoder = LocalEncoder()\n"
        "    encoder.id = f'elsewhere:{argument}'\n"
        "    return encoder\n"
    )
    info = root / "elsewhere-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: elsewhere\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[prospection.encoders]\nelsewhere = elsewhere:load\nbroken = elsewhere:nothing\nlocal = elsewhere:load\n"
    )
    monkeypatch.syspath_prepend(str(root))
    assert "elsewhere" in encoder_names()
    assert (await open_encoder("elsewhere:big")).id == "elsewhere:big"
    assert (await open_encoder("local")).id == "minilm-l6-v2-int8"
    with pytest.raises(ConfigError, match="encoder 'broken' cannot be loaded from 'elsewhere:nothing'"):
        await open_encoder("broken")
