"""How often the paired permutation test tells two equal systems apart, over queries and over people.

Run as: python benchmarks/false_alarms.py [--trials N] [--queries Q]

A difference between two systems is drawn for each query: one part that all queries of a person share, whose spread is
`effect`, and one of the query's own, whose spread is 1. Both have mean 0, so that every p below .05 is a false alarm,
and a sound test gives no more than .05 of them.
"""

from __future__ import annotations

import argparse

import numpy as np

from prospection.evaluation.significance import paired_permutation

PEOPLE = (4, 8, 20)
EFFECTS = (0.0, 0.5, 1.0)
ROUNDS = 1000


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--queries", type=int, default=8, help="of each person")
    arguments = parser.parse_args()
    draw = np.random.default_rng(0)
    print(f"false alarms at .05, {arguments.trials} trials, {arguments.queries} queries of each person")
    print(f"{'people':>6}  {'effect':>6}  {'over queries':>12}  {'over people':>11}")
    for people in PEOPLE:
        for effect in EFFECTS:
            alarms = {"queries": 0, "people": 0}
            for _ in range(arguments.trials):
                shared = effect * draw.standard_normal((people, 1))
                own = shared + draw.standard_normal((people, arguments.queries))
                alarms["queries"] += paired_permutation(own.ravel().tolist(), rounds=ROUNDS) < 0.05
                alarms["people"] += paired_permutation(own.sum(axis=1).tolist(), rounds=ROUNDS) < 0.05
            queries, over_people = (alarms[unit] / arguments.trials for unit in ("queries", "people"))
            print(f"{people:>6}  {effect:>6.1f}  {queries:>12.3f}  {over_people:>11.3f}", flush=True)


if __name__ == "__main__":
    main()
