"""The library as a recall uses it: opened once for an encoder, with the profiles of facts it has already seen.

Holds no user's data but vectors' profiles, keyed by the text's hash; never writes to a store.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence

import anyio
import anyio.to_thread
import numpy as np

from prospection.library.goals import Goal, load_goals
from prospection.library.index import GoalIndex, open_index
from prospection.library.profile import Profiles, fact_profiles
from prospection.protocols import Embedder, Progress
from prospection.types import Vectors

__all__ = ["GoalLibrary"]

KEPT = 20_000
"""Profiles that stay in memory, the latest used ones: about 2 kB each."""


class GoalLibrary:
    """The goals of the package under one encoder."""

    def __init__(self, embedder: Embedder, *, progress: Progress | None = None) -> None:
        """Describe the library; nothing is read yet.

        Args:
            progress: Told how far building the index has come, when it has to be built.
        """
        self.goals: tuple[Goal, ...] = ()
        self._embedder = embedder
        self._progress = progress
        self._index: GoalIndex | None = None
        self._opening = anyio.Lock()
        self._kept: OrderedDict[bytes, tuple[Vectors, float, float]] = OrderedDict()

    async def open(self) -> GoalIndex:
        """Return the index, read or built by the first call.

        Raises:
            ModelError: The encoder's endpoint failed while the index was being built.
        """
        async with self._opening:
            if self._index is None:
                self.goals = load_goals()
                self._index = await open_index(self._embedder, progress=self._progress)
            return self._index

    async def profiles(self, texts: Sequence[str], vectors: Vectors) -> Profiles:
        """Return the profiles of facts; only those not seen lately are computed.

        Args:
            texts: n statements.
            vectors: (n, d) their unit rows.
        """
        index = await self.open()
        keys = [hashlib.blake2b(text.encode(), digest_size=16).digest() for text in texts]
        missing = [place for place, key in enumerate(keys) if key not in self._kept]
        fresh = await anyio.to_thread.run_sync(fact_profiles, vectors[missing], index, self.goals)
        for row, place in enumerate(missing):
            self._kept[keys[place]] = (
                fresh.affinity[row].astype(np.float16),
                float(fresh.salience[row]),
                float(fresh.hub[row]),
            )
        rows = [self._kept[key] for key in keys]
        for key in keys:
            self._kept.move_to_end(key)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return Profiles(
            affinity=np.array([row[0] for row in rows], np.float32).reshape(len(rows), len(self.goals)),
            salience=np.array([row[1] for row in rows], np.float32),
            hub=np.array([row[2] for row in rows], np.float32),
        )
