"""How far a mean can be trusted, and whether two means differ: values in, an interval or a p-value out.

Resampling is seeded: the same input gives the same figures.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["bootstrap_interval", "holm", "paired_permutation"]

EXACT = 14
"""Up to this many pairs every assignment of signs is tried (16,384); beyond, a sample of them."""


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


def paired_permutation(differences: Sequence[float], *, rounds: int = 10_000, seed: int = 0) -> float:
    """Two-sided p-value of a paired permutation test of the mean difference (Fisher's randomisation test).

    If two systems were equal, each pair's difference could as well have the other sign. p is the share of the 2^n
    assignments of signs whose mean is at least as far from 0 as the one seen: all of them up to `EXACT` pairs, else
    (1 + hits) / (1 + rounds) of a random sample (Smucker, Allan and Carterette, CIKM 2007; Phipson and Smyth, 2010).

    Args:
        differences: One a pair. Pairs have to be independent: where queries of a person are not, pass each person's
            sum, whose signs flip together; then the statistic is still that of the mean over queries.

    Returns:
        In (0, 1]; 1 when there is no pair or no difference at all.
    """
    import numpy as np

    values = np.array(differences, dtype=np.float64)
    n = len(values)
    # Sums of the same numbers in another order differ in their last bits.
    seen = abs(values.sum()) - 1e-9
    if n <= EXACT:
        signs = 1 - 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
        return float(np.mean(np.abs(signs @ values) >= seen))
    generator = np.random.default_rng(seed)
    hits, step = 0, max(1, 1_000_000 // n)
    for start in range(0, rounds, step):
        signs = generator.choice((-1.0, 1.0), size=(min(step, rounds - start), n))
        hits += int(np.count_nonzero(np.abs(signs @ values) >= seen))
    return (1 + hits) / (1 + rounds)


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values of several tests so that the chance of any false finding stays below the level (Holm, 1979).

    The i-th smallest of m, from 0, is multiplied by m - i; no corrected value is below an earlier one, none above 1.

    Returns:
        Corrected values in the order given.
    """
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    corrected = [0.0] * len(order)
    highest = 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(order) - rank) * p_values[place]))
        corrected[place] = highest
    return corrected
