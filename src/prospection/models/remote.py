"""Encoders behind an OpenAI-compatible endpoint: "openai:MODEL" and "MODEL@URL".

In go texts; out come unit vectors. Requests are batched, callers side by side share them, and bounded retries are
counted. Uses the `openai` package
(extra `llm`), and opens connections for each call, so that one object serves any event loop and needs no closing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from prospection.errors import ConfigError, CredentialError, EndpointError, MissingExtraError, UnknownNameError
from prospection.models.attempts import AttemptFailed, Endpoint, Ledger, attempt
from prospection.models.batching import BatchingEmbedder
from prospection.models.calibrate import calibrate, unrelated_pairs
from prospection.protocols import Embedder, Progress, TextRole
from prospection.types import Calibration, Usage, Vectors

if TYPE_CHECKING:
    from openai import APIStatusError

__all__ = ["RemoteEncoder", "open_at_url", "open_openai"]

_OPENAI = "https://api.openai.com/v1"

# Limits of one request; OpenAI takes 2,048 texts and 300,000 tokens, local servers less.
_REQUEST_TEXTS = 128
_REQUEST_CHARACTERS = 200_000

_OPENAI_DIMS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}

# The paper publishes tau = 0.3 and tau_o = 0.6 under text-embedding-3-small; mean and deviation are what these two
# imply under tau = mean + 1.5 sd and tau_o = mean + 4.5 sd.
_PUBLISHED = {"text-embedding-3-small": Calibration(noise_mean=0.15, noise_sd=0.10, tau=0.30, tau_o=0.60)}

# Models that were trained to be told what a text is for. What is put before a text belongs to the encoder's id.
_PREFIXES: tuple[tuple[re.Pattern[str], dict[TextRole, str]], ...] = (
    (re.compile(r"nomic-embed-text"), {"query": "search_query: ", "passage": "search_document: "}),
    (re.compile(r"(^|[-_/])e5-(small|base|large)"), {"query": "query: ", "passage": "passage: "}),
)


class RemoteEncoder:
    """An encoder that answers `POST /embeddings`.

    Attributes:
        id: "openai:MODEL", or "compatible:MODEL" for an endpoint of one's own, with "+prefixes" where texts are marked
            as query or passage. The URL is no part of it: the same model on another machine makes the same vectors.
        dims: Width of its vectors.
        calibration: What its cosines mean.
        usage: What all calls so far have cost; money is not counted.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        key: str,
        encoder_id: str,
        dims: int,
        calibration: Calibration,
        ledger: Ledger | None = None,
    ) -> None:
        """Describe the encoder; nothing is called. `open_openai` and `open_at_url` find out width and calibration.

        Args:
            endpoint: The URL, what the model is called there, and the limits of a call.
            key: What to ask with.
            encoder_id: See `id`.
            dims: See `dims`.
            calibration: See `calibration`.
            ledger: What finding this out has cost.
        """
        self.id = encoder_id
        self.dims = dims
        self.calibration = calibration
        self._endpoint = endpoint
        self._key = key
        self._ledger = ledger or Ledger()

    @property
    def usage(self) -> Usage:
        """What all calls so far have cost."""
        return self._ledger.usage

    async def embed(
        self, texts: Sequence[str], *, role: TextRole = "passage", progress: Progress | None = None
    ) -> Vectors:
        """Embed texts in batches.

        Returns:
            (n, d) float32 unit rows in the order of `texts`. The empty text is sent as one space.

        Raises:
            CredentialError: The endpoint refused the key.
            RateLimitError: Still too many requests after bounded retries.
            EndpointError: No answer, or one that is not one finite vector of width d for each text.
        """
        rows = np.empty((len(texts), self.dims), dtype=np.float32)
        done = 0
        model = self._endpoint.model
        for batch in _batches([_prefix(model, role) + text or " " for text in texts]):
            found = await _embed(batch, self._endpoint, self._key, self._ledger)
            if found.shape[1] != self.dims:
                raise EndpointError(
                    f"{self._endpoint.where} gave vectors of width {found.shape[1]} for {model!r}, "
                    f"before {self.dims}; another model answers under this name: name the encoder you mean",
                    usage=self.usage,
                )
            rows[done : done + len(batch)] = found
            done += len(batch)
            if progress is not None:
                progress(done, len(texts))
        return rows


async def open_openai(argument: str, *, call_timeout: float, retries: int) -> Embedder:
    """Open "openai:MODEL".

    text-embedding-3-small has published thresholds and is opened without a call; the others are calibrated.

    Raises:
        UnknownNameError: OpenAI has no such embedding model.
        CredentialError: OPENAI_API_KEY is not set.
        MissingExtraError: The `openai` package is not installed.
        ModelError: Calibrating failed.
    """
    if argument not in _OPENAI_DIMS:
        raise UnknownNameError(
            "OpenAI embedding model", argument, _OPENAI_DIMS, hint="For another endpoint write 'MODEL@URL'."
        )
    key = os.environ.get("OPENAI_API_KEY")
    if not key:
        raise CredentialError(f"encoder 'openai:{argument}' needs a key; set the environment variable OPENAI_API_KEY")
    url = os.environ.get("OPENAI_BASE_URL") or _OPENAI
    endpoint = Endpoint(where=url, model=argument, timeout=call_timeout, retries=retries)
    return await _open(endpoint, key, f"openai:{argument}")


async def open_at_url(name: str, *, call_timeout: float, retries: int) -> Embedder:
    """Open "MODEL@URL": any OpenAI-compatible endpoint, with the key in OPENAI_API_KEY or none.

    One call embeds the shipped unrelated pairs: it says how wide the vectors are and what their cosines mean.

    Raises:
        ConfigError: The name is not of this form.
        MissingExtraError: The `openai` package is not installed.
        ModelError: Calibrating failed.
    """
    model, _, url = name.rpartition("@")
    if not model or not re.match(r"https?://[^/\s]+", url):
        raise ConfigError(
            f"encoder {name!r} is not 'MODEL@URL'; write it like 'nomic-embed-text@http://127.0.0.1:11434/v1'"
        )
    key = os.environ.get("OPENAI_API_KEY") or "none"
    endpoint = Endpoint(where=url, model=model, timeout=call_timeout, retries=retries)
    marked = "+prefixes" if _prefix(model, "query") else ""
    return await _open(endpoint, key, f"compatible:{model}{marked}")


async def _open(endpoint: Endpoint, key: str, encoder_id: str) -> Embedder:
    model = endpoint.model
    if find_spec("openai") is None:
        raise MissingExtraError(f"the encoder {model!r}", "llm")
    ledger = Ledger()
    dims, calibration = _OPENAI_DIMS.get(model, 0), _PUBLISHED.get(model)
    if calibration is None or not encoder_id.startswith("openai:"):
        pairs = unrelated_pairs()
        prefix = _prefix(model, "passage")
        texts = [prefix + text for pair in pairs for text in pair]
        rows = np.concatenate([await _embed(batch, endpoint, key, ledger) for batch in _batches(texts)])
        dims, calibration = rows.shape[1], calibrate(rows[0::2], rows[1::2])
    encoder = RemoteEncoder(endpoint, key=key, encoder_id=encoder_id, dims=dims, calibration=calibration, ledger=ledger)
    return BatchingEmbedder(encoder)


async def _embed(texts: Sequence[str], endpoint: Endpoint, key: str, ledger: Ledger) -> Vectors:
    """Make one request of it and return (n, d) float32 unit rows.

    Raises:
        ModelError: As `RemoteEncoder.embed`.
    """
    try:
        response = await attempt(lambda: _call(texts, endpoint, key), endpoint, ledger)
    except AttemptFailed as failure:
        raise failure.as_error(endpoint, ledger.usage) from failure
    if response.usage is not None:
        ledger.add(Usage(tokens_in=response.usage.prompt_tokens, cost=None))
    ordered = [item.embedding for item in sorted(response.data, key=lambda item: item.index)]
    try:
        rows = np.array(ordered, dtype=np.float32)
    except ValueError:
        rows = np.empty((0, 0), dtype=np.float32)
    norms = np.linalg.norm(rows, axis=-1, keepdims=True)
    if rows.ndim != 2 or len(rows) != len(texts) or not np.isfinite(norms).all() or not norms.all():
        raise EndpointError(
            f"{endpoint.where} answered {len(texts)} texts with {len(ordered)} embeddings, not one finite "
            f"vector each, all of one width; check that {endpoint.model!r} is an embedding model",
            usage=ledger.usage,
        )
    unit: Vectors = rows / norms
    return unit


async def _call(texts: Sequence[str], endpoint: Endpoint, key: str) -> Any:  # noqa: ANN401 - openai is optional
    from openai import APIConnectionError, APIResponseValidationError, APIStatusError, AsyncOpenAI

    async with AsyncOpenAI(base_url=endpoint.where, api_key=key, max_retries=0) as client:
        try:
            return await client.embeddings.create(model=endpoint.model, input=list(texts), encoding_format="float")
        except APIStatusError as error:
            raise AttemptFailed(
                error.message,
                status=error.status_code,
                retry_after=_retry_after(error),
                final=error.code == "insufficient_quota",
            ) from error
        except (APIConnectionError, APIResponseValidationError, ValueError) as error:
            raise AttemptFailed(str(error.__cause__ or error), status=None) from error


def _retry_after(error: APIStatusError) -> float | None:
    try:
        return max(0.0, float(error.response.headers.get("retry-after", "")))
    except ValueError:
        return None


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    characters = 0
    for text in texts:
        if batch and (len(batch) == _REQUEST_TEXTS or characters + len(text) > _REQUEST_CHARACTERS):
            yield batch
            batch, characters = [], 0
        batch.append(text)
        characters += len(text)
    if batch:
        yield batch


def _prefix(model: str, role: TextRole) -> str:
    for pattern, prefixes in _PREFIXES:
        if pattern.search(model):
            return prefixes[role]
    return ""
