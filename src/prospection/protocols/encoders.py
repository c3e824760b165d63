"""What an encoder has to be able to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from prospection.types import Calibration, Vectors

__all__ = ["Embedder", "Progress", "TextRole"]

TextRole = Literal["query", "passage"]
"""Some encoders embed what is searched with and what is searched differently."""

Progress = Callable[[int, int], None]
"""Called with (done, total) while long work goes on."""


class Embedder(Protocol):
    """Turns texts into unit vectors. Vectors of encoders with different ids are never compared."""

    @property
    def id(self) -> str:
        """Name, version and preparation, for example "minilm-l6-v2-int8"."""
        ...

    @property
    def dims(self) -> int:
        """Width d of the vectors."""
        ...

    @property
    def calibration(self) -> Calibration:
        """What cosines under this encoder mean."""
        ...

    async def embed(
        self, texts: Sequence[str], *, role: TextRole = "passage", progress: Progress | None = None
    ) -> Vectors:
        """Embed a batch.

        Returns:
            (n, d) float32, each row of length 1, in the order of `texts`; (0, d) for no texts. A row depends only on
            its own text, not on the batch.

        Raises:
            ModelError: The encoder's endpoint failed.
        """
        ...
