"""What to measure: a TOML file in, a checked `Plan` out. Nothing is loaded or asked here.

```toml
name = "quest"
seeds = [0]                    # repetitions: each asks every system every query once
concurrency = 4                # cases under way at once; 1 to measure seconds
answers = false                # answer every query from what was found, for the judge

[budget]                       # of the whole run; optional, as every key in it
max_calls = 10_000
max_tokens = 20_000_000
max_cost = 25.0                # US dollars

[models]                       # on top of prospection.toml and the environment; optional
chat = "openai:gpt-4o"
encoder = "local"

[[datasets]]
name = "quest"
path = "data/quest"            # from the working directory
layout = "quest"               # optional: recognised by its content
users = 2                      # optional: the first so many
queries = 50                   # optional: the first so many
queries_each = 5               # optional: the first so many of each person
facts_each = 60                # optional: memories cut to so many facts, those that are needed among them

[[systems]]
name = "pgr-chain"             # as tables call it
policy = "pgr"                 # or rival = "tacitree"
model = "openai:gpt-4o-mini"   # optional: another generator for this system
equal_budget = true            # make it fill the largest budget; false: as many facts as in service
shape = "chain"                # every other key is a parameter of the policy

[[systems]]
name = "tacitree (umap)"
rival = "tacitree"
reduction = "umap"             # every other key is one of the rival's, where it has any

[[systems]]
name = "mem0ai 1.0.11"
rival = "mem0-1"               # a rival's own package (`prospection eval rivals install`)
embedding = "text-embedding-3-small"
dims = 1536                    # of its own encoder, at the model's endpoint
```
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from prospection.config import RecallSettings
from prospection.errors import ConfigError, InputError, UnknownNameError
from prospection.evaluation.datasets import LAYOUTS
from prospection.evaluation.parameters import with_parameters
from prospection.evaluation.rivals import RIVALS
from prospection.evaluation.rivals.keys import RIVAL_KEYS
from prospection.evaluation.rivals.packaged.environment import PACKAGED
from prospection.recall.policies import build_policy

__all__ = [
    "DatasetEntry",
    "Plan",
    "PlanBudget",
    "PlanModels",
    "SystemEntry",
    "packaged_plans",
    "parse_plan",
    "read_plan",
]

Name = Annotated[str, StringConstraints(pattern=r"^[\w][\w .()+-]*$", max_length=60)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PlanBudget(_Part):
    """Ceilings of the whole run; None means no ceiling."""

    max_calls: int | None = Field(default=None, ge=0)
    max_tokens: int | None = Field(default=None, ge=0)
    max_cost: float | None = Field(default=None, ge=0)


class PlanModels(_Part):
    """Settings of models that the plan sets itself; None leaves them as they are."""

    chat: str | None = None
    base_url: str | None = None
    encoder: str | None = None
    timeout: float | None = Field(default=None, gt=0)
    retries: int | None = Field(default=None, ge=0)
    max_output_tokens: int | None = Field(default=None, ge=64)


class DatasetEntry(_Part):
    """A data set; `users`, `queries` and `queries_each` (of each person) cut it to the first so many.

    `facts_each` cuts memories as well: see `smaller_memories`.
    """

    name: Name
    path: Path
    layout: str | None = None
    users: int | None = Field(default=None, ge=1)
    queries: int | None = Field(default=None, ge=1)
    queries_each: int | None = Field(default=None, ge=1)
    facts_each: int | None = Field(default=None, ge=1)


class PackageKeys(_Part):
    """What a rival's own package needs: the encoder that it asks, and the width of its vectors."""

    embedding: str
    dims: int = Field(ge=1)


class SystemEntry(BaseModel):
    """A policy with its parameters, a rival, or a rival's own package with its encoder."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: Name
    policy: str | None = None
    rival: str | None = None
    model: str | None = None
    equal_budget: bool = True

    @property
    def parameters(self) -> dict[str, Any]:
        """What the entry sets of the policy, rival or package."""
        return dict(self.model_extra or {})


class Plan(_Part):
    """Systems x data sets x seeds."""

    name: Name
    seeds: tuple[int, ...] = Field(default=(0,), min_length=1)
    concurrency: int = Field(default=4, ge=1, le=256)
    answers: bool = False
    budget: PlanBudget = PlanBudget()
    models: PlanModels = PlanModels()
    datasets: tuple[DatasetEntry, ...] = Field(min_length=1)
    systems: tuple[SystemEntry, ...] = Field(min_length=1)


def packaged_plans() -> dict[str, str]:
    """Return the text of every plan that comes with the package, by name."""
    folder = files("prospection.evaluation") / "plans"
    return {
        item.name.removesuffix(".toml"): item.read_text(encoding="utf-8")
        for item in sorted(folder.iterdir(), key=lambda item: item.name)
        if item.name.endswith(".toml")
    }


def read_plan(name: str) -> str:
    """Return the text of a plan file, or of a packaged plan of that name.

    Raises:
        InputError: The file cannot be read.
        UnknownNameError: It is neither.
    """
    path = Path(name)
    if not path.is_file():
        packaged = packaged_plans()
        if name in packaged:
            return packaged[name]
        raise UnknownNameError("plan", name, packaged, hint="It is no file either.")
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"plan {name!r} cannot be read: {error}; check the file") from error


def parse_plan(text: str, *, where: str = "plan") -> Plan:
    """Check a plan: keys, types, names of layouts, policies, rivals and parameters.

    Raises:
        InputError: It is not TOML, or a value does not fit, or two systems or data sets have one name.
        UnknownNameError: A key or name is unknown; the message offers the nearest.
        ConfigError: A parameter's value does not fit.
    """
    try:
        plan = Plan.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{where} is not TOML: {error}; correct the file") from error
    except ValidationError as error:
        raise _explain(error, where) from error
    for what, names in (
        ("data sets", [dataset.name for dataset in plan.datasets]),
        ("systems", [system.name for system in plan.systems]),
    ):
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            raise InputError(f"{where} has two {what} called {twice[0]!r}; name each once")
    if len(set(plan.seeds)) < len(plan.seeds):
        raise InputError(f"{where} has seeds {list(plan.seeds)}; name each once")
    for dataset in plan.datasets:
        if dataset.layout is not None and dataset.layout not in LAYOUTS:
            raise UnknownNameError("layout", dataset.layout, LAYOUTS, hint=f"(data set {dataset.name!r})")
    for system in plan.systems:
        _check_system(system, where)
    return plan


def _check_system(system: SystemEntry, where: str) -> None:
    if (system.policy is None) == (system.rival is None):
        raise InputError(f"{where}: system {system.name!r} needs either policy = or rival =; give one of them")
    if system.policy is not None:
        with_parameters(build_policy(system.policy, RecallSettings()), system.parameters)
    elif system.rival not in (*RIVALS, *PACKAGED):
        raise UnknownNameError("rival", str(system.rival), (*RIVALS, *PACKAGED))
    else:
        _check_rival(system, PackageKeys if system.rival in PACKAGED else RIVAL_KEYS[str(system.rival)], where)


def _check_rival(system: SystemEntry, keys: type[BaseModel], where: str) -> None:
    for key in system.parameters:
        if key not in keys.model_fields:
            raise UnknownNameError("key of a rival", key, (*SystemEntry.model_fields, *keys.model_fields))
    try:
        keys.model_validate(system.parameters)
    except ValidationError as error:
        raise _explain(error, f"{where}: system {system.name!r}") from error


def _explain(error: ValidationError, where: str) -> InputError | ConfigError:
    first = error.errors(include_url=False)[0]
    place = [str(part) for part in first["loc"]]
    if first["type"] == "extra_forbidden":
        parts: dict[str, type[BaseModel]] = {"budget": PlanBudget, "models": PlanModels, "datasets": DatasetEntry}
        owner = parts.get(place[0], Plan) if len(place) > 1 else Plan
        return UnknownNameError(f"key of {where}", place[-1], owner.model_fields)
    name = re.sub(r"\.(\d+)", r"[\1]", ".".join(place))
    return InputError(f"{where}: {name}: {first['msg']}; correct the file")
