"""The library's linear algebra, on vectors that can be worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from prospection.library.goals import Goal
from prospection.library.index import GoalIndex
from prospection.library.profile import fact_profiles, goal_weights

X, Y, Z = np.eye(3, dtype=np.float32)
GOALS = (
    Goal(domain="d", goal="along x", steps=("x",), needs=("x",)),
    Goal(domain="d", goal="along y", steps=("y",), needs=("y", "z")),
)
INDEX = GoalIndex(
    encoder="axes",
    edition="1",
    goals=np.stack([X, Y]),
    aims=np.stack([X, Y]),
    needs=np.stack([X, Y, Z]),
    steps=np.stack([X, Y]),
)


def test_a_fact_has_affinity_to_the_goal_that_would_want_to_know_it() -> None:
    # Nearest needs of x: 1 for the first goal, 0 for the second; mean 0.5, standard deviation 0.5.
    affinity = fact_profiles(np.stack([X]), INDEX, GOALS).affinity
    assert affinity == pytest.approx(np.array([[0.5, -0.5]]) / np.sqrt(0.5))


def test_one_of_a_goals_needs_is_enough() -> None:
    affinity = fact_profiles(np.stack([Z]), INDEX, GOALS).affinity
    assert affinity == pytest.approx(np.array([[-0.5, 0.5]]) / np.sqrt(0.5))


def test_a_fact_like_a_need_and_unlike_every_step_is_salient() -> None:
    profiles = fact_profiles(np.stack([X, Z]), INDEX, GOALS)
    # Mean over all three needs less mean over both steps: 1/3 - 1/2 for x, 1/3 - 0 for z.
    assert profiles.salience == pytest.approx([1 / 3 - 1 / 2, 1 / 3])
    assert profiles.hub == pytest.approx([0.5, 0.0])


def test_a_profile_does_not_depend_on_the_other_facts() -> None:
    rng = np.random.default_rng(1)
    facts = rng.normal(size=(1100, 3)).astype(np.float32)  # more than two blocks
    facts /= np.linalg.norm(facts, axis=1, keepdims=True)
    together = fact_profiles(facts, INDEX, GOALS)
    alone = fact_profiles(facts[700:701], INDEX, GOALS)
    assert together.affinity[700] == pytest.approx(alone.affinity[0], abs=1e-5)
    assert together.salience[700] == pytest.approx(alone.salience[0], abs=1e-5)


def test_no_facts_have_no_profiles() -> None:
    profiles = fact_profiles(np.zeros((0, 3), np.float32), INDEX, GOALS)
    assert profiles.affinity.shape == (0, 2)
    assert len(profiles.salience) == len(profiles.hub) == 0


def test_goal_weights_are_a_centred_softmax() -> None:
    weights = goal_weights(np.stack([X]), INDEX, temperature=1.0)
    e = np.e
    assert weights == pytest.approx(np.array([[e / (e + 1) - 0.5, 1 / (e + 1) - 0.5]]), abs=1e-6)
    assert goal_weights(np.stack([X]), INDEX, temperature=0.01)[0] == pytest.approx([0.5, -0.5])
