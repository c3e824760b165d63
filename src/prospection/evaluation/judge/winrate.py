"""How often an answer wins: judgements in; wins, ties, win rates and their intervals out. Plain arithmetic.

A pair is won only by who wins it in both orders; everything else is a tie (Zheng et al. 2023, arXiv 2306.05685,
section 3.4). The length-controlled win rate is what a logistic model says where both answers are equally long.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from prospection.evaluation.judge.pairs import Side
from prospection.evaluation.judge.verdicts import Judgement
from prospection.evaluation.significance import bootstrap_interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Judged", "WinRate", "combine", "length_controlled", "win_rate"]

PRIOR = (10.0, 2.5)
"""Standard deviations of intercept and length coefficient before any data, in the scale of weakly informative priors
(Gelman et al. 2008). They keep the model finite where one side wins everything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A pair with the verdicts in both orders brought together.

    Attributes:
        verdict: Who won in both orders, else "tie".
        agreed: Whether both orders came to the same verdict.
        preferred: In how many of the two orders the answer that stood first, and the one that stood second, won.
    """

    pair: str
    dataset: str
    user: str
    lengths: tuple[int, int]
    verdict: Side
    agreed: bool
    preferred: tuple[int, int]

    @property
    def score(self) -> float:
        """1 when a won, 0 when b won, 1/2 for a tie."""
        return {"a": 1.0, "tie": 0.5, "b": 0.0}[self.verdict]


@dataclass(frozen=True, slots=True, kw_only=True)
class WinRate:
    """How a did against b; shares are in [0, 1].

    Attributes:
        rate: Wins and half of the ties.
        interval: 95 % interval of the rate, resampling people; None for fewer than two people.
        controlled: The length-controlled rate.
        controlled_interval: Likewise.
        agreed: Share of pairs on which both orders agreed.
        first: Share of all preferences, ties aside, that went to the answer that stood first; None without any. Far
            from 1/2 the judge looks at the place.
    """

    pairs: int
    wins: int
    ties: int
    losses: int
    rate: float
    interval: tuple[float, float] | None
    controlled: float
    controlled_interval: tuple[float, float] | None
    agreed: float
    first: float | None


def combine(judgements: Sequence[Judgement]) -> list[Judged]:
    """Bring both orders of each pair together; pairs of which an order is missing or failed are left out."""
    orders: defaultdict[str, dict[str, Judgement]] = defaultdict(dict)
    for one in judgements:
        if one.verdict is not None:
            orders[one.pair][one.first] = one
    judged = []
    for pair, both in orders.items():
        if len(both) < 2:
            continue
        one, other = both["a"], both["b"]
        agreed = one.verdict == other.verdict
        judged.append(
            Judged(
                pair=pair,
                dataset=one.dataset,
                user=one.user,
                lengths=one.lengths,
                verdict=one.verdict if one.verdict is not None and agreed else "tie",
                agreed=agreed,
                preferred=(
                    (one.verdict == "a") + (other.verdict == "b"),
                    (one.verdict == "b") + (other.verdict == "a"),
                ),
            )
        )
    return judged


def win_rate(judged: Sequence[Judged], *, rounds: int = 1000, seed: int = 0) -> WinRate:
    """Count wins.

    Args:
        judged: At least one pair.
        rounds: Resamples of people for the length-controlled interval.
        seed: Of the resampling.

    Raises:
        ValueError: There is nothing to count.
    """
    if not judged:
        raise ValueError("a win rate over no pairs is undefined; leave such rows out")
    people: defaultdict[str, list[Judged]] = defaultdict(list)
    for one in judged:
        people[one.user].append(one)
    first, second = (sum(one.preferred[place] for one in judged) for place in (0, 1))
    counts = {side: sum(one.verdict == side for one in judged) for side in ("a", "tie", "b")}
    return WinRate(
        pairs=len(judged),
        wins=counts["a"],
        ties=counts["tie"],
        losses=counts["b"],
        rate=sum(one.score for one in judged) / len(judged),
        interval=bootstrap_interval([[one.score for one in own] for own in people.values()], seed=seed),
        controlled=length_controlled([one.score for one in judged], [_longer(one) for one in judged]),
        controlled_interval=_controlled_interval(list(people.values()), rounds, seed),
        agreed=sum(one.agreed for one in judged) / len(judged),
        first=first / (first + second) if first + second else None,
    )


def length_controlled(scores: Sequence[float], differences: Sequence[float]) -> float:
    """Return the win rate at equal length (after Dubois et al. 2024, arXiv 2404.04475, "Length-Controlled AlpacaEval").

    P(a wins) = sigmoid(theta + beta tanh(difference / s)), s the standard deviation of the differences; the figure is
    sigmoid(theta). A tie counts as half a win. Other than theirs, the model has no term for the difficulty of a
    request, which needs many systems on the same requests. Both coefficients have normal priors around 0 (`PRIOR`), so
    that the maximum exists where one side wins everything; it is found by Newton's method.

    Args:
        scores: 1, 1/2 or 0 for each pair.
        differences: Length of a minus length of b, in any unit.
    """
    return float(_at_equal_length(scores, differences, [[1.0] * len(scores)])[0])


def _at_equal_length(
    scores: Sequence[float], differences: Sequence[float], weights: Sequence[Sequence[float]] | NDArray[Any]
) -> NDArray[Any]:
    """Fit the model once for each row of weights (r, n), side by side; returns (r,) win rates at equal length."""
    import numpy as np

    y, difference = np.asarray(scores, dtype=np.float64), np.asarray(differences, dtype=np.float64)
    spread = float(difference.std())
    x = np.stack([np.ones_like(y), np.tanh(difference / spread) if spread else np.zeros_like(y)], axis=1)
    precision = np.diag([1.0 / sd**2 for sd in PRIOR])
    counts = np.asarray(weights, dtype=np.float64)
    w = np.zeros((len(counts), 2))
    for _ in range(100):
        p = 1.0 / (1.0 + np.exp(-(w @ x.T)))
        slope = (counts * (y - p)) @ x - w @ precision
        curvature = np.einsum("rn,ni,nj->rij", counts * p * (1.0 - p), x, x) + precision
        step = np.linalg.solve(curvature, slope[..., None])[..., 0]
        size = np.abs(step).max(axis=1, keepdims=True)
        # A step of at most 1 in either coefficient: where the curve is flat, Newton's own would overshoot.
        w = w + step / np.maximum(1.0, size)
        if float(size.max()) < 1e-9:
            break
    rates: NDArray[Any] = 1.0 / (1.0 + np.exp(-w[:, 0]))
    return rates


def _longer(one: Judged) -> float:
    return float(one.lengths[0] - one.lengths[1])


def _controlled_interval(people: Sequence[Sequence[Judged]], rounds: int, seed: int) -> tuple[float, float] | None:
    """95 % interval, resampling people; lengths keep the scale of the whole sample."""
    if len(people) < 2:
        return None
    import numpy as np

    draws = np.random.default_rng(seed).integers(len(people), size=(rounds, len(people)))
    times = np.stack([np.bincount(draw, minlength=len(people)) for draw in draws])
    pairs = [(place, one) for place, own in enumerate(people) for one in own]
    weights = times[:, [place for place, _ in pairs]]
    rates = _at_equal_length([one.score for _, one in pairs], [_longer(one) for _, one in pairs], weights)
    low, high = np.quantile(rates, (0.025, 0.975))
    return float(low), float(high)
