"""Policies with other parameters, by name and by type."""

from __future__ import annotations

import pytest

from prospection.config import RecallSettings
from prospection.errors import ConfigError, UnknownNameError
from prospection.evaluation.parameters import with_parameters
from prospection.recall.policies import build_policy, policy_names


def test_some_change_and_the_others_stay() -> None:
    policy = build_policy("pgr", RecallSettings())
    changed = with_parameters(policy, {"shape": "chain", "tau": 0.25})
    assert changed.parameters == {**policy.parameters, "shape": "chain", "tau": 0.25}
    assert with_parameters(policy, {}) is policy


@pytest.mark.parametrize("name", policy_names())
def test_every_policy_can_be_made_again_from_its_parameters(name: str) -> None:
    policy = build_policy(name, RecallSettings())
    assert with_parameters(policy, policy.parameters) == policy


def test_an_unknown_name_offers_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="policy 'pgr': 'brunches'; did you mean 'branches'"):
        with_parameters(build_policy("pgr", RecallSettings()), {"brunches": 2})


def test_a_value_of_another_kind_is_refused() -> None:
    with pytest.raises(ConfigError, match="parameter shape = 'star' of policy 'pgr'"):
        with_parameters(build_policy("pgr", RecallSettings()), {"shape": "star"})
