"""How fast the local encoder is: cold load, one probe, a batch of facts.

python benchmarks/encoder.py [--threads 1] [--texts 500] [--encoder local|multilingual]
"""

from __future__ import annotations

import argparse
import statistics
import time

import anyio

from prospection.models.calibrate import unrelated_pairs
from prospection.models.local import LocalEncoder
from prospection.models.multilingual import MultilingualEncoder
from prospection.protocols import Embedder


async def measure(encoder: Embedder, count: int) -> None:
    """Print the figures of one encoder."""
    sentences = [text for pair in unrelated_pairs() for text in pair]
    texts = [f"{sentences[i % len(sentences)]} ({i})" for i in range(count)]
    began = time.perf_counter()
    await encoder.embed(texts[:1])
    print(f"cold: load and first text   {time.perf_counter() - began:8.2f} s")
    single = []
    for text in texts[:50]:
        began = time.perf_counter()
        await encoder.embed([text])
        single.append(1000 * (time.perf_counter() - began))
    print(f"warm: one text, median      {statistics.median(single):8.1f} ms")
    began, processor = time.perf_counter(), time.process_time()
    await encoder.embed(texts)
    wall, processor = time.perf_counter() - began, time.process_time() - processor
    print(f"warm: {count} texts            {count / wall:8.0f} sentences/s")
    print(f"      per core-second       {count / processor:8.0f} sentences")


def main() -> None:
    """Measure at the command line."""
    parser = argparse.ArgumentParser(description="Measure an encoder on this machine.")
    parser.add_argument("--threads", type=int, default=None, help="threads of the local encoder")
    parser.add_argument("--texts", type=int, default=500)
    parser.add_argument("--encoder", choices=["local", "multilingual"], default="local")
    arguments = parser.parse_args()
    if arguments.encoder == "local":
        local = LocalEncoder(threads=arguments.threads)
        print(f"{local.id}, {local.threads} threads")
        anyio.run(measure, local, arguments.texts)
    else:
        other = MultilingualEncoder()
        print(f"{other.id}, 1 thread of its own and those of numpy's BLAS")
        anyio.run(measure, other, arguments.texts)


if __name__ == "__main__":
    main()
