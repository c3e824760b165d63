"""Rebuild src/prospection/library/local.npz after a change of goals.jsonl or of the default encoder."""

from __future__ import annotations

import sys
from pathlib import Path

import anyio

from prospection.library import goals, index
from prospection.models.encoders import open_encoder


async def _main() -> None:
    built = await index.build_index(goals.load_goals(), await open_encoder("local"))
    target = Path(index.__file__).with_name("local.npz")
    target.write_bytes(index.index_bytes(built))
    size = target.stat().st_size / 1e6
    sys.stdout.write(f"{target.name}: {size:.1f} MB, encoder {built.encoder}, goals {built.edition}\n")


if __name__ == "__main__":
    anyio.run(_main)
