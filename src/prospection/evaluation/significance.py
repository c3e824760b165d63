"""How far a mean can be trusted: values grouped by person in, an interval out.

Resampling is seeded: the same input gives the same interval.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["bootstrap_interval"]


def bootstrap_interval(
    groups: Sequence[Sequence[float]], *, level: float = 0.95, rounds: int = 10_000, seed: int = 0
) -> tuple[float, float] | None:
    """Percentile bootstrap interval of the mean over all values, resampling whole groups (cluster bootstrap).

    Queries of one person share their memory and are not independent, so that people are drawn, with replacement, and
    each brings all their queries: mean = sum of values / number of values over the people drawn (Efron and Tibshirani,
    An Introduction to the Bootstrap, chapters 8 and 13). With few people the interval is rough and rather too narrow.

    Args:
        groups: The values of each person; no group is empty.
        level: Share of resampled means inside the interval, in (0, 1).
        rounds: Resamples.
        seed: Of the random generator.

    Returns:
        Lower and upper end, or None for fewer than two groups, whose spread cannot be estimated.
    """
    if len(groups) < 2:
        return None
    import numpy as np

    sums = np.array([sum(values) for values in groups], dtype=np.float64)
    counts = np.array([len(values) for values in groups], dtype=np.float64)
    draws = np.random.default_rng(seed).integers(len(groups), size=(rounds, len(groups)))
    means = sums[draws].sum(axis=1) / counts[draws].sum(axis=1)
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(means, (tail, 1.0 - tail))
    return float(low), float(high)
