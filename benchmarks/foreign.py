"""What thinking ahead finds in a memory that is not ours: no future cues, no index of words, 100 facts a probe.

Stores a data set and searches it as our own memory and, through a plain function, as somebody else's. Policy foresight
gets recorded probes for its first call and no second one, so that what is measured is its pool. Prints the share of
needed facts among the first k.

    python benchmarks/foreign.py path/to/quest
"""

from __future__ import annotations

import argparse
from itertools import zip_longest
from pathlib import Path
from typing import Any

import anyio
from rich.console import Console

from prospection import Prospector
from prospection.config import load_settings
from prospection.errors import NotRecordedError
from prospection.evaluation.cases import EvalQuery
from prospection.evaluation.datasets import load_dataset
from prospection.evaluation.recall import Retrieved, System, measure_recall
from prospection.evaluation.report import recall_report
from prospection.evaluation.systems import build_system
from prospection.library.library import GoalLibrary
from prospection.models.embedding_cache import CachedEmbedder
from prospection.models.encoders import open_encoder
from prospection.protocols import EVERYTHING_CURRENT, ChatReply, ChatRequest, Embedder, FactStore
from prospection.recall.retriever import MemoryRetriever
from prospection.store.sqlite import SQLiteStore
from prospection.types import Probe, Usage


class Recorded:
    """A model that knows the recorded future of one request, and nothing else."""

    name = "recorded"

    def __init__(self, query: EvalQuery) -> None:
        self._query = query

    async def complete(self, request: ChatRequest[Any]) -> ChatReply[Any]:
        """See `ChatModel.complete`."""
        recorded = self._query.recorded
        if request.stage != "foresee" or recorded is None:
            raise NotRecordedError(f"nothing is recorded for stage {request.stage!r} of {self._query.id!r}")
        steps = [
            {"step": step.text, "facts": [need] if need else []}
            for step, need in zip_longest(recorded.steps, recorded.imagined_facts)
            if step is not None
        ]
        # Three branches, as they were asked for: more steps than a branch holds would be cut.
        branches = [{"theme": "recorded", "steps": steps[place : place + 3]} for place in range(0, len(steps), 3)]
        value = request.reply.model_validate({"branches": branches, "rewrites": list(recorded.rewrites)})
        return ChatReply(value=value, usage=Usage(calls=1), model=self.name)


class Foreign:
    """A policy over the data set's memory as somebody else's."""

    def __init__(self, policy: str, store: FactStore, embedder: Embedder) -> None:
        self.name = f"{policy}, foreign"
        self._policy, self._store, self._embedder = policy, store, embedder

    async def retrieve(self, query: EvalQuery) -> Retrieved:
        """See `System.retrieve`."""
        memory = MemoryRetriever(self._store, self._embedder, user=query.user, where=EVERYTHING_CURRENT)

        async def search(texts: list[str], k: int) -> list[list[tuple[str, str, float]]]:
            probes = [Probe(pid=text, text=text, kind="query") for text in texts]
            lists = await memory.retrieve(probes, k=k)
            return [[(hit.fact.fid, hit.fact.info, hit.similarity) for hit in hits] for hits in lists]

        prospector = Prospector(search, model=Recorded(query), encoder=self._embedder, settings=load_settings())
        found = await prospector.recall(query.text, at=query.at, policy=self._policy, limit=100)
        return Retrieved(fids=tuple(item.fid for item in found.facts), llm_calls=found.usage.calls)


async def main(data: Path) -> None:
    """Measure and print."""
    embedder = CachedEmbedder(await open_encoder("local"), in_memory=40_000)
    library, settings = GoalLibrary(embedder), load_settings().recall
    async with await SQLiteStore.open(":memory:", encoder=(embedder.id, embedder.dims)) as store:
        systems: list[System] = [
            build_system(name, settings, store=store, embedder=embedder, library=library, model=None)
            for name in ("direct", "library", "foresight")
        ]
        systems += [Foreign(name, store, embedder) for name in ("direct", "library", "foresight")]
        result = await measure_recall(load_dataset(data), systems, store=store, embedder=embedder)
    Console().print(recall_report(result))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="a data set with probes/ beside it")
    anyio.run(main, parser.parse_args().data)
