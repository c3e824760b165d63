"""How far two judges agree: labels of the same pairs in; confusion matrix, raw agreement and Cohen's kappa out.

Kappa stands beside raw agreement because either alone misleads: where nearly all pairs go one way, judges agree often
by chance, and kappa is near 0 although they seldom differ.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt
from statistics import NormalDist

from prospection.evaluation.judge.pairs import Side

__all__ = ["SIDES", "Agreement", "agreement", "between_annotators", "confusion", "majority"]

SIDES: tuple[Side, ...] = ("a", "tie", "b")
"""Order of rows and columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Two judges over the same pairs.

    Attributes:
        matrix: Counts; rows are the one judge, columns the other, both in the same order.
        raw: Share of pairs with the same label.
        expected: Share on which two judges with these habits would agree by chance.
        kappa: (raw - expected) / (1 - expected); None where both always give one and the same label.
        interval: 95 % interval of kappa; None where kappa is.
    """

    matrix: tuple[tuple[int, ...], ...]
    raw: float
    expected: float
    kappa: float | None
    interval: tuple[float, float] | None

    @property
    def pairs(self) -> int:
        """How many pairs both have judged."""
        return sum(map(sum, self.matrix))


def confusion(ours: Mapping[str, Side], theirs: Mapping[str, Side]) -> tuple[tuple[int, ...], ...]:
    """Count labels of the pairs that both have judged: rows `ours`, columns `theirs`, in the order of `SIDES`."""
    counts = Counter((ours[pair], theirs[pair]) for pair in ours.keys() & theirs.keys())
    return tuple(tuple(counts[row, column] for column in SIDES) for row in SIDES)


def agreement(matrix: Sequence[Sequence[int]], *, level: float = 0.95) -> Agreement:
    """Compute agreement from a confusion matrix (Cohen 1960, "A Coefficient of Agreement for Nominal Scales").

    raw = sum_i p_ii, expected = sum_i p_i. p_.i, kappa = (raw - expected) / (1 - expected). The interval is kappa
    +- z se, cut at -1 and 1, with the standard error for large samples (Fleiss, Cohen and Everitt 1969):

    n (1 - expected)^2 se^2 = sum_i p_ii (1 - (p_i. + p_.i)(1 - kappa))^2
                              + (1 - kappa)^2 sum_{i != j} p_ij (p_.i + p_j.)^2 - (kappa - expected (1 - kappa))^2

    Args:
        matrix: Square, of counts.
        level: Of the interval.

    Raises:
        ValueError: The matrix is not square, or is empty.
    """
    size = len(matrix)
    n = sum(map(sum, matrix))
    if any(len(row) != size for row in matrix) or not n:
        raise ValueError(f"agreement needs a square matrix with at least one case; this one is {matrix!r}")
    p = [[count / n for count in row] for row in matrix]
    rows = [sum(row) for row in p]
    columns = [sum(row[i] for row in p) for i in range(size)]
    raw = sum(p[i][i] for i in range(size))
    expected = sum(rows[i] * columns[i] for i in range(size))
    counts = tuple(tuple(row) for row in matrix)
    if 1.0 - expected < 1e-12:
        return Agreement(matrix=counts, raw=raw, expected=expected, kappa=None, interval=None)
    kappa = (raw - expected) / (1.0 - expected)
    same = sum(p[i][i] * (1.0 - (rows[i] + columns[i]) * (1.0 - kappa)) ** 2 for i in range(size))
    differ = sum(p[i][j] * (columns[i] + rows[j]) ** 2 for i in range(size) for j in range(size) if i != j)
    spread = same + (1.0 - kappa) ** 2 * differ - (kappa - expected * (1.0 - kappa)) ** 2
    error = sqrt(max(spread, 0.0) / n) / (1.0 - expected)
    reach = NormalDist().inv_cdf(0.5 + level / 2.0) * error
    interval = (max(-1.0, kappa - reach), min(1.0, kappa + reach))
    return Agreement(matrix=counts, raw=raw, expected=expected, kappa=kappa, interval=interval)


def majority(labels: Iterable[tuple[str, str, Side]]) -> dict[str, Side]:
    """Return each pair's label by most annotators; where two lead together, "tie".

    Args:
        labels: (annotator, pair, label).
    """
    votes: defaultdict[str, Counter[Side]] = defaultdict(Counter)
    for _, pair, label in labels:
        votes[pair][label] += 1
    result: dict[str, Side] = {}
    for pair, counts in votes.items():
        best = max(counts.values())
        leading = [label for label in SIDES if counts[label] == best]
        result[pair] = leading[0] if len(leading) == 1 else "tie"
    return result


def between_annotators(labels: Iterable[tuple[str, str, Side]]) -> dict[tuple[str, str], Agreement]:
    """Return the agreement of every two annotators who share a pair, by their names in alphabetical order."""
    by_name: defaultdict[str, dict[str, Side]] = defaultdict(dict)
    for name, pair, label in labels:
        by_name[name][pair] = label
    return {
        (one, other): agreement(confusion(by_name[one], by_name[other]))
        for one, other in combinations(sorted(by_name), 2)
        if by_name[one].keys() & by_name[other].keys()
    }
