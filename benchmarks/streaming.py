"""What searching while the model is still writing gains.

Run as: python benchmarks/streaming.py DATA [--rate TOKENS] [--queries N]

DATA is a folder of people with recorded probes. A loopback server writes the recorded future of each request at `rate`
tokens a second, as slowly when it is not read as a stream. Measured from the request: when the first memory comes to
light that the words of the request did not find, and when the whole pool stands; medians over requests. Without a
stream both wait for the whole reply, then all probes are embedded at once.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is loaded; more threads are slower at these sizes

import argparse
import json
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import anyio

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from loopback import Loopback, Reply
from prospection.evaluation.cases import EvalQuery, RecordedProspection
from prospection.evaluation.datasets import load_dataset
from prospection.evaluation.stored import store_dataset
from prospection.library.library import GoalLibrary
from prospection.models.chat import PydanticAIChat
from prospection.models.local import LocalEncoder
from prospection.models.open import build_model
from prospection.protocols import EVERYTHING_CURRENT, ChatModel, ChatReply, ChatRequest, ReplyT
from prospection.recall.events import FactFound, RecallEvent
from prospection.recall.policies.foresight import Foresight
from prospection.recall.retriever import MemoryRetriever
from prospection.recall.run import Run
from prospection.store.sqlite import SQLiteStore

CHARACTERS = 8
"""The server writes so many at a time: about two tokens."""


class Whole:
    """The same model, which can only be asked for whole replies."""

    def __init__(self, model: PydanticAIChat) -> None:
        self.name = model.name
        self._model = model

    async def complete(self, request: ChatRequest[ReplyT]) -> ChatReply[ReplyT]:
        """See `ChatModel.complete`."""
        return await self._model.complete(request)


def future(recorded: RecordedProspection) -> dict[str, object]:
    """Return what a model would have written: steps with their imagined facts, and rewrites."""
    needs = iter(recorded.imagined_facts)
    branches: dict[str, list[dict[str, object]]] = {}
    for step in recorded.steps:
        item: dict[str, object] = {"step": step.text, "facts": [need for need in [next(needs, None)] if need]}
        branches.setdefault(step.theme or "steps", []).append(item)
    return {
        "branches": [{"theme": theme, "steps": steps} for theme, steps in branches.items()],
        "rewrites": list(recorded.rewrites),
    }


async def timed(
    query: EvalQuery, model: ChatModel, store: SQLiteStore, encoder: LocalEncoder, library: GoalLibrary
) -> tuple[float, float]:
    """Return the seconds to the first fact that looking ahead found, and to the whole pool."""
    began = time.perf_counter()
    first: list[float] = []

    def tell(event: RecallEvent) -> None:
        if isinstance(event, FactFound) and event.probe.kind != "query":
            first.append(time.perf_counter() - began)

    run = Run(
        id="b",
        user=query.user,
        query=query.text,
        at=query.at,
        retriever=MemoryRetriever(store, encoder, user=query.user, where=EVERYTHING_CURRENT),
        embedder=encoder,
        library=library,
        model=model,
        emit=tell,
    )
    await Foresight(select=False).recall(query.text, run)
    whole = time.perf_counter() - began
    return (first[0] if first else whole), whole


def row(name: str, times: Sequence[tuple[float, float]]) -> None:
    """Print the medians of both times."""
    first, whole = (statistics.median(column) for column in zip(*times, strict=True))
    print(f"{name:<16}{first:>22.2f} s{whole:>22.2f} s")


async def main(data: Path, rate: float, most: int) -> None:
    """Time every request without and with a stream, and print."""
    dataset = load_dataset(data)
    queries = [query for query in dataset.queries if query.recorded and query.recorded.steps][:most]
    futures = {query.text: future(query.recorded) for query in queries if query.recorded}
    encoder = LocalEncoder()
    library = GoalLibrary(encoder)
    written = statistics.mean(len(json.dumps(reply)) for reply in futures.values())
    async with await SQLiteStore.open(":memory:", encoder=(encoder.id, encoder.dims)) as store:
        await store_dataset(dataset, store=store, embedder=encoder)
        with Loopback() as server:
            server.handler = lambda chat: Reply(
                next(reply for text, reply in futures.items() if text in chat.user),
                pace=CHARACTERS / 4 / rate,
            )
            model = PydanticAIChat(build_model("loopback", server.url), name="loopback", timeout=600)
            for user in {query.user: query for query in queries}.values():  # facts' profiles are made once and kept
                await timed(user, Whole(model), store, encoder, library)
            print(f"{len(queries)} requests, replies of about {written / 4:.0f} tokens at {rate:g} tokens a second\n")
            print(f"{'':<16}{'first fact':>24}{'whole pool':>24}")
            row("whole reply", [await timed(query, Whole(model), store, encoder, library) for query in queries])
            row("streamed", [await timed(query, model, store, encoder, library) for query in queries])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--rate", type=float, default=80.0)
    parser.add_argument("--queries", type=int, default=8)
    arguments = parser.parse_args()
    anyio.run(main, arguments.data, arguments.rate, arguments.queries)
