"""How long it takes to import prospection and to say --help, in fresh processes.

Run as: python benchmarks/imports.py [--runs N]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

ROWS = (
    ("an empty program", ["-c", "pass"], None),
    ("import prospection", ["-c", "import prospection"], 200),
    ("from prospection import Memory", ["-c", "from prospection import Memory"], None),
    ("prospection --help", ["-m", "prospection", "--help"], 500),
    ("prospection recall --help", ["-m", "prospection", "recall", "--help"], None),
)
"""What is run, the arguments of Python, and the target in milliseconds."""


def milliseconds(arguments: list[str], runs: int) -> float:
    """Return the median over fresh processes, the first of which only warms the files."""
    times = []
    for _ in range(runs + 1):
        began = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - began)
    return statistics.median(times[1:]) * 1e3


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Import times of prospection.")
    parser.add_argument("--runs", type=int, default=7)
    runs = parser.parse_args().runs
    print(f"{'':<32} {'ms':>8} {'less an empty program':>22} {'target':>8}")
    empty = 0.0
    for name, arguments, target in ROWS:
        taken = milliseconds(arguments, runs)
        empty = empty or taken
        print(f"{name:<32} {taken:>8.0f} {taken - empty:>22.0f} {'' if target is None else f'< {target}':>8}")


if __name__ == "__main__":
    main()
