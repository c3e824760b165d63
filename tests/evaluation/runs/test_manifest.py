"""What may not change between the parts of a run."""

from __future__ import annotations

import copy
from importlib.metadata import version
from typing import Any

import pytest

from prospection.config import Settings
from prospection.errors import InputError
from prospection.evaluation.cases import Dataset
from prospection.evaluation.runs.manifest import build_manifest, check_same
from prospection.evaluation.runs.plan import parse_plan
from remembered import WordEmbedder

PLAN = """
name = "small"
[[datasets]]
name = "quest"
path = "nowhere"
[[systems]]
name = "direct"
policy = "direct"
"""


def manifest(plan: str = PLAN) -> dict[str, Any]:
    return build_manifest(
        parse_plan(plan),
        datasets={"quest": Dataset(name="quest", users=(), queries=())},
        embedder=WordEmbedder(),
        settings=Settings(models={"chat": "tiny"}),
        systems={"direct": {"policy": "direct"}},
    )


def test_the_same_is_the_same() -> None:
    check_same(manifest(), manifest(), what="run 'a'")


@pytest.mark.parametrize(
    ("path", "said"),
    [
        (("plan", "seeds"), r"another plan\.seeds"),
        (("encoder", "dims"), r"another encoder\.dims"),
        (("chat",), "another chat"),
        (("systems", "direct", "policy"), r"another systems\.direct\.policy"),
        (("datasets", "quest", "sha256"), r"another datasets\.quest\.sha256"),
        (("settings", "context_tokens"), r"another settings\.context_tokens"),
        (("settings", "max_output_tokens"), r"another settings\.max_output_tokens"),
        (("settings", "packages"), r"another settings\.packages"),
        (("prompts", "simulate"), r"another prompt\.simulate"),
    ],
)
def test_what_decides_rows_may_not_change(path: tuple[str, ...], said: str) -> None:
    now = manifest()
    part: Any = now
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = "changed"
    with pytest.raises(InputError, match=rf"run 'a' was made with {said}: .*; start a new run in another folder"):
        check_same(manifest(), now, what="run 'a'")


def test_what_decides_no_rows_may_change() -> None:
    before, now = manifest(), manifest()
    now["attempts"] = {"timeout": 1.0, "retries": 9}
    now["commit"] = now["version"] = "another"
    now["prompts"]["new"] = "prompt"
    check_same(before, now, what="run 'a'")
    older = copy.deepcopy(before)
    del older["settings"], older["attempts"]
    check_same(older, now, what="run 'a'")


def test_versions_are_of_what_rivals_compute_with() -> None:
    assert manifest()["settings"]["packages"] == {}
    tree = manifest(PLAN + '[[systems]]\nname = "tree"\nrival = "tacitree"\n')
    assert tree["settings"]["packages"] == {"scikit-learn": version("scikit-learn")}
    graph = manifest(PLAN + '[[systems]]\nname = "graph"\nrival = "graphrag"\n')
    assert graph["settings"]["packages"] == {"graspologic-native": version("graspologic-native")}
