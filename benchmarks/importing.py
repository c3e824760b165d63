"""How fast an account export moves in, and how much memory that takes.

Writes a made-up ChatGPT export of the size asked for, newest conversation first and with branches, tool messages and
empty entries as real ones have them, imports it into a new memory file and prints the figures. No model is called and
nothing is extracted: what is measured is reading, ordering and storing.

    python benchmarks/importing.py            50 MB
    python benchmarks/importing.py --mb 1000  1 GB
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import anyio

from prospection.exchange.moving_in import MovingIn, move_in
from prospection.memory import AsyncMemory

BEGAN = 1_700_000_000
TEXT = (
    "my sister moved to the coast last spring and we visit her with the children whenever school allows because "
    "flights are dear in summer I would like a plan for the garden the budget the trip and the new kitchen"
)
WORDS = TEXT.split()


def text(chance: random.Random, words: int) -> str:
    """Return a sentence of so many words."""
    return " ".join(chance.choices(WORDS, k=words)).capitalize() + "."


def conversation(number: int, chance: random.Random) -> dict[str, Any]:
    """A conversation of 2 to 40 messages; now and then with another branch, a tool's message, or nothing at all."""
    began = BEGAN + number * 3600
    mapping: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": []}}
    parent = "root"
    for turn in range(chance.randint(2, 40) if number % 50 else 0):
        role = ("user", "assistant")[turn % 2]
        words = chance.randint(5, 60) if role == "user" else chance.randint(60, 400)
        parent = _add(mapping, parent, f"{number}-{turn}", role, text(chance, words), began + turn * 60)
        if turn % 9 == 1:
            _add(mapping, parent, f"{number}-{turn}-b", "user", text(chance, 30), began + turn * 60)
        if turn % 11 == 3:
            parent = _add(mapping, parent, f"{number}-{turn}-t", "tool", text(chance, 200), began + turn * 60)
    return {
        "id": f"conversation-{number}",
        "title": text(chance, 4),
        "create_time": began,
        "current_node": parent,
        "mapping": mapping,
    }


def _add(mapping: dict[str, Any], parent: str, key: str, role: str, words: str, at: int) -> str:
    message = {
        "id": key,
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": float(at),
        "content": {"content_type": "text", "parts": [words]},
        "status": "finished_successfully",
        "end_turn": True,
        "weight": 1.0,
        "metadata": {"model_slug": "made-up", "timestamp_": "absolute"},
        "recipient": "all",
    }
    mapping[key] = {"id": key, "message": message, "parent": parent, "children": []}
    mapping[parent]["children"].append(key)
    return key


def write_export(path: Path, size: int) -> int:
    """Write an export of about `size` bytes and return how many conversations it holds."""
    chance = random.Random(7)
    count, written = 0, 0
    with path.open("w", encoding="utf-8") as file:
        file.write("[")
        while written < size:
            line = ("," if count else "") + json.dumps(conversation(1_000_000 - count, chance))
            written += file.write(line)
            count += 1
        file.write("]")
    return count


async def run(folder: Path, export: Path) -> tuple[MovingIn, float]:
    """Import an export and return what came of it and the seconds it took."""
    async with AsyncMemory(folder / "memory.db") as memory:
        start = time.perf_counter()
        result = await move_in(memory, export, user="ada")
        return result, time.perf_counter() - start


def main() -> None:
    """Print the figures of a first and of a second import."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mb", type=int, default=50, help="size of the export in MB (default 50)")
    size = parser.parse_args().mb * 1_000_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        export = folder / "conversations.json"
        count = write_export(export, size)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        for run_name in ("first run", "second run"):
            result, seconds = anyio.run(run, folder, export)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(
                f"{run_name}: {result.size / 1e6:.0f} MB, {count} entries, {len(result.new)} new, "
                f"{result.known} known, {len(result.skipped)} skipped; {seconds:.1f} s, "
                f"{result.size / 1e6 / seconds:.1f} MB/s, {result.conversations / seconds:.0f} sessions/s; "
                f"peak memory {peak:.0f} MB ({before:.0f} MB before)"
            )
        print(f"left out: {result.left_out}; memory file {(folder / 'memory.db').stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
