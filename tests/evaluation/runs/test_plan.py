"""Plans: what is read, and what is refused before anything is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from prospection.config import RecallSettings
from prospection.errors import ConfigError, InputError, UnknownNameError
from prospection.evaluation.runs.plan import packaged_plans, parse_plan, read_plan
from prospection.evaluation.runs.systems import describe_system

PLAN = """
name = "small"
seeds = [0, 1]
[[datasets]]
name = "quest"
path = "data/quest"
[[systems]]
name = "chain"
policy = "pgr"
shape = "chain"
"""


def test_what_a_plan_says() -> None:
    plan = parse_plan(PLAN)
    assert (plan.name, plan.seeds, plan.concurrency, plan.budget.max_calls) == ("small", (0, 1), 4, None)
    assert plan.datasets[0].path == Path("data/quest")
    assert plan.systems[0].parameters == {"shape": "chain"}
    assert plan.systems[0].equal_budget


@pytest.mark.parametrize("name", packaged_plans())
def test_packaged_plans_can_be_run_and_say_what_they_are(name: str) -> None:
    text = read_plan(name)
    assert text.startswith("# ")
    assert parse_plan(text).name == name


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("seeds =", "sheds =", "'sheds'; did you mean 'seeds'"),
        ('path = "data/quest"', 'path = "x"\nuser = 3', "'user'; did you mean 'users'"),
        (
            'path = "data/quest"',
            'path = "x"\nlayout = "qwest"',
            r"layout 'qwest'; did you mean 'quest'.*data set 'quest'",
        ),
        ('policy = "pgr"', 'policy = "pgrr"', "policy 'pgrr'; did you mean 'pgr'"),
        ('policy = "pgr"', 'rival = "tacitre"', "rival 'tacitre'; did you mean 'tacitree'"),
        ('shape = "chain"', 'shepe = "chain"', "'shepe'; did you mean 'shape'"),
        ('policy = "pgr"\nshape =', 'rival = "tacitree"\nreductoin =', "'reductoin'; did you mean 'reduction'"),
        ('policy = "pgr"\nshape = "chain"', 'rival = "graphrag"\nlimit = 3', "key of a rival 'limit'"),
    ],
)
def test_unknown_names_offer_the_nearest(old: str, new: str, said: str) -> None:
    with pytest.raises(UnknownNameError, match=said):
        parse_plan(PLAN.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[0, 1]", "[0, 0]", r"seeds \[0, 0\]; name each once"),
        ("[0, 1]", '"zero"', "small.toml: seeds: "),
        ('policy = "pgr"', "", "needs either policy = or rival ="),
        ("[[systems]]", "[[systems", "small.toml is not TOML"),
        ("[[systems]]", '[[systems]]\nname = "chain"\npolicy = "direct"\n[[systems]]', "two systems called 'chain'"),
    ],
)
def test_what_does_not_fit_is_refused(old: str, new: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_plan(PLAN.replace(old, new), where="small.toml")


def test_a_parameter_of_another_kind_is_refused() -> None:
    with pytest.raises(ConfigError, match="shape = 'star'"):
        parse_plan(PLAN.replace('shape = "chain"', 'shape = "star"'))


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ('rival = "tacitree"\nreduction = "tsne"', "system 'chain': reduction: Input should be 'pca' or 'umap'"),
        ('rival = "mem0g"\nlimit = 0', "system 'chain': limit: "),
    ],
)
def test_a_rivals_key_of_another_kind_is_refused(keys: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_plan(PLAN.replace('policy = "pgr"\nshape = "chain"', keys))


def test_a_rivals_keys_stand_in_the_manifest_with_their_defaults() -> None:
    plan = parse_plan(PLAN.replace('policy = "pgr"\nshape = "chain"', 'rival = "mem0g"\nlimit = 30'))
    assert describe_system(plan.systems[0], RecallSettings(), "tiny") == {
        "rival": "mem0g",
        "model": "tiny",
        "parameters": {"limit": 30, "similarity": 0.7},
    }


def test_neither_a_file_nor_a_packaged_plan(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="plan 'papr'; did you mean 'paper'"):
        read_plan("papr")
    file = tmp_path / "mine.toml"
    file.write_text(PLAN)
    assert read_plan(str(file)) == PLAN
