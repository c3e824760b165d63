"""What the library says about facts and requests: pure linear algebra over a `GoalIndex`.

A fact's profile is how near it comes to what each goal would want to know, less what it is near to anyway: the goals
for which it is unusually near are its future cues. A request's profile is which goals it resembles. Where the two meet,
the fact is likely to matter to the request, however little their words have in common.

Facts, goals and needs are unit vectors, so that products are cosines. Nothing here looks at another fact to judge one:
profiles can be computed when a fact is written, and kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from prospection.library.goals import Goal
from prospection.library.index import GoalIndex
from prospection.types import Vectors

__all__ = ["Profiles", "fact_profiles", "goal_weights"]

SALIENT = 20
"""How many of the nearest needs and steps tell whether a fact is more like a need than like a step."""

BLOCK = 512
"""Facts that are compared with all needs at once: bounds memory at about 20 MB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profiles:
    """Profiles of n facts over g goals.

    Attributes:
        affinity: (n, g) float32: nearness to the nearest need of each goal, centred over the goals.
        salience: (n,) float32: how much more the fact resembles what goals need to know than what they do.
        hub: (n,) float32: cosine with the mean of all requests; high for facts that are near to everything.
    """

    affinity: Vectors
    salience: Vectors
    hub: Vectors


def fact_profiles(facts: Vectors, index: GoalIndex, goals: Sequence[Goal]) -> Profiles:
    """Return the profiles of (n, d) facts; empty arrays for none.

    affinity[f, g] = (m[f, g] - mean_g m[f]) / sqrt(std_g m[f]) with m[f, g] = max over the needs of g of the cosine.
    Without the centring, facts that are near to everything win every request.
    """
    starts = np.cumsum([0, *(len(goal.needs) for goal in goals[:-1])])
    blocks = [_block(facts[at : at + BLOCK], index, starts) for at in range(0, len(facts), BLOCK)]
    if not blocks:
        empty = np.zeros(0, np.float32)
        return Profiles(affinity=np.zeros((0, len(goals)), np.float32), salience=empty, hub=empty)
    affinity, salience, hub = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    return Profiles(affinity=affinity, salience=salience, hub=hub)


def goal_weights(requests: Vectors, index: GoalIndex, *, temperature: float) -> Vectors:
    """Return (p, g) float32: the softmax over all goals of each request's cosine with their aims, less 1 / g.

    Args:
        requests: (p, d) unit rows.
        temperature: In cosine; about the encoder's noise standard deviation.
    """
    logits = (requests @ index.aims.T) / temperature
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    centred: Vectors = (weights - 1.0 / len(index.aims)).astype(np.float32)
    return centred


def _block(facts: Vectors, index: GoalIndex, starts: Vectors) -> tuple[Vectors, Vectors, Vectors]:
    near = facts @ index.needs.T
    affinity = np.maximum.reduceat(near, starts, axis=1)
    affinity = affinity - affinity.mean(axis=1, keepdims=True)
    affinity /= np.sqrt(np.maximum(affinity.std(axis=1, keepdims=True), 1e-6))
    salience = _top_mean(near) - _top_mean(facts @ index.steps.T)
    return affinity.astype(np.float32), salience.astype(np.float32), facts @ index.goals.mean(axis=0)


def _top_mean(near: Vectors) -> Vectors:
    k = min(SALIENT, near.shape[1])
    means: Vectors = np.partition(near, -k, axis=1)[:, -k:].mean(axis=1)
    return means
