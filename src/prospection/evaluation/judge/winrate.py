"""How often an answer wins: judgements in; wins, ties, win rates and their intervals out. Plain arithmetic.

A pair is won only by who wins it in both orders; everything else is a tie (Zheng et al. 2023, arXiv 2306.05685,
section 3.4). The length-controlled win rate is what a logistic model says where both answers are equally long.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from prospection.errors import InputError
from prospection.evaluation.judge.agreement import majority
from prospection.evaluation.judge.pairs import Pair, Side
from prospection.evaluation.judge.verdicts import Judgement
from prospection.evaluation.significance import bootstrap_interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "PEOPLE",
    "Judged",
    "WinRate",
    "combine",
    "judged_by_people",
    "length_controlled",
    "verdicts_by_pair",
    "win_rate",
]

PEOPLE = "people"
"""Stands for the judge where people judged."""

PRIOR = (10.0, 2.5)
"""Standard deviations of intercept and length coefficient before any data, in the scale of weakly informative priors
(Gelman et al. 2008). They keep the model finite where one side wins everything."""

LEAST_SPREAD = 0.05
"""Of the length terms, as a share of their mean: reached when lengths differ by about 3.4 standard deviations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A pair with the verdicts in both orders brought together.

    Attributes:
        names: What the systems behind a and b are called.
        model: Who judged, `PEOPLE` for people; `prompt` is the hash of what a model was asked.
        verdict: Who won in both orders, else "tie".
        agreed: Whether both orders came to the same verdict; None for people, who see a pair once.
        preferred: In how many of the two orders the answer that stood first, and the one that stood second, won.
    """

    pair: str
    dataset: str
    user: str
    names: tuple[str, str]
    model: str
    prompt: str
    lengths: tuple[int, int]
    verdict: Side
    agreed: bool | None
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
        controlled: The length-controlled rate; None where one side is longer by nearly the same in every pair.
        controlled_interval: Likewise, and None for fewer than two people.
        agreed: Share of pairs on which both orders agreed; None for people.
        first: Share of all preferences, ties aside, that went to the answer that stood first; None without any. Far
            from 1/2 the judge looks at the place.
    """

    pairs: int
    wins: int
    ties: int
    losses: int
    rate: float
    interval: tuple[float, float] | None
    controlled: float | None
    controlled_interval: tuple[float, float] | None
    agreed: float | None
    first: float | None


def combine(judgements: Sequence[Judgement]) -> list[Judged]:
    """Bring both orders of each pair together, every judge's and comparison's for itself.

    Pairs of which an order is missing or failed are left out. Where answers of the same systems to the same request
    were made anew, those that were judged last count.
    """
    versions: defaultdict[tuple[object, ...], dict[str, dict[str, Judgement]]] = defaultdict(dict)
    for one in judgements:
        marks = versions[one.names, one.model, one.prompt, one.request]
        orders = marks.pop(one.mark, {})
        if one.verdict is not None:
            orders[one.first] = one
        marks[one.mark] = orders  # at the end: the dict's last value is of the answers that were judged last
    judged = []
    for marks in versions.values():
        *_, both = marks.values()
        if len(both) < 2:
            continue
        one, other = both["a"], both["b"]
        agreed = one.verdict == other.verdict
        judged.append(
            Judged(
                pair=one.pair,
                dataset=one.dataset,
                user=one.user,
                names=one.names,
                model=one.model,
                prompt=one.prompt,
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


def judged_by_people(labels: Iterable[tuple[str, str, Side]], pairs: Iterable[Pair]) -> list[Judged]:
    """Return the pairs that people judged, each with the verdict of most of them; a draw is a tie.

    Args:
        labels: (annotator, pair, verdict).

    Raises:
        InputError: A label is of a pair that is not there.
    """
    known = {pair.id: pair for pair in pairs}
    judged = []
    for name, verdict in majority(labels).items():
        if name not in known:
            raise InputError(
                f"there is no pair {name!r} that people judged; name the file of pairs that they were shown"
            )
        pair = known[name]
        judged.append(
            Judged(
                pair=pair.id,
                dataset=pair.dataset,
                user=pair.user,
                names=pair.names,
                model=PEOPLE,
                prompt="",
                lengths=(len(pair.a), len(pair.b)),
                verdict=verdict,
                agreed=None,
                preferred=(0, 0),
            )
        )
    return judged


def verdicts_by_pair(judged: Iterable[Judged]) -> dict[str, Side]:
    """Return each pair's verdict, to be compared with that of people, who know a pair by its id alone.

    Raises:
        InputError: They are of several judges, or two comparisons share an id, so that it is open what people judged.
    """
    found: dict[str, Judged] = {}
    for one in judged:
        first = next(iter(found.values()), one)
        if (first.model, first.prompt) != (one.model, one.prompt):
            raise InputError(
                f"the verdicts are of two judges, {first.model!r} with prompt {first.prompt} and {one.model!r} with "
                f"prompt {one.prompt}; name the files of one judge at a time"
            )
        if one.pair in found:
            raise InputError(
                f"{one.pair!r} is a pair of {' and '.join(found[one.pair].names)} and of {' and '.join(one.names)}; "
                "name the files of one comparison at a time, or make pairs and verdicts anew"
            )
        found[one.pair] = one
    return {pair: one.verdict for pair, one in found.items()}


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
    agreed = [one.agreed for one in judged if one.agreed is not None]
    counts = {side: sum(one.verdict == side for one in judged) for side in ("a", "tie", "b")}
    controlled = length_controlled([one.score for one in judged], [_longer(one) for one in judged])
    return WinRate(
        pairs=len(judged),
        wins=counts["a"],
        ties=counts["tie"],
        losses=counts["b"],
        rate=sum(one.score for one in judged) / len(judged),
        interval=bootstrap_interval([[one.score for one in own] for own in people.values()], seed=seed),
        controlled=controlled,
        controlled_interval=None if controlled is None else _controlled_interval(list(people.values()), rounds, seed),
        agreed=sum(agreed) / len(agreed) if agreed else None,
        first=first / (first + second) if first + second else None,
    )


def length_controlled(scores: Sequence[float], differences: Sequence[float]) -> float | None:
    """Return the win rate at equal length (after Dubois et al. 2024, arXiv 2404.04475, "Length-Controlled AlpacaEval").

    P(a wins) = sigmoid(theta + beta tanh(difference / s)), s the standard deviation of the differences; the figure is
    sigmoid(theta). A tie counts as half a win. Other than theirs, the model has no term for the difficulty of a
    request, which needs many systems on the same requests. Both coefficients have normal priors around 0 (`PRIOR`), so
    that the maximum exists where one side wins everything; it is found by Newton's method.

    Where one side is always longer, the figure extrapolates; where it is longer by nearly the same in every pair (the
    tanh terms' standard deviation is below `LEAST_SPREAD` of their mean), length and system cannot be told apart.

    Args:
        scores: 1, 1/2 or 0 for each pair.
        differences: Length of a minus length of b, in any unit.

    Returns:
        In (0, 1), or None where length and system cannot be told apart.
    """
    x = _relative(differences)
    if float(x.std()) < LEAST_SPREAD * abs(float(x.mean())):
        return None
    return float(_at_equal_length(scores, differences, [[1.0] * len(scores)])[0])


def _relative(differences: Sequence[float]) -> NDArray[Any]:
    """Return tanh(difference / s); where all are the same, their sign."""
    import numpy as np

    values = np.asarray(differences, dtype=np.float64)
    spread = float(values.std())
    # Rounding leaves a spread of a few last bits to a constant, which tanh takes for what it is.
    scaled: NDArray[Any] = np.tanh(values / spread) if spread else np.sign(values)
    return scaled


def _at_equal_length(
    scores: Sequence[float], differences: Sequence[float], weights: Sequence[Sequence[float]] | NDArray[Any]
) -> NDArray[Any]:
    """Fit the model once for each row of weights (r, n), side by side; returns (r,) win rates at equal length."""
    import numpy as np

    y = np.asarray(scores, dtype=np.float64)
    x = np.stack([np.ones_like(y), _relative(differences)], axis=1)
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
