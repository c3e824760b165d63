"""Settings: one section a room.

Precedence, first wins: arguments in code, environment, TOML file, defaults. The file is `prospection.toml` in the
working directory, or the one that `PROSPECTION_CONFIG` names. Environment variables are `PROSPECTION_` plus section,
two underscores and key: `PROSPECTION_MODELS__CHAT=openai:gpt-4o`. Unknown keys are refused with the nearest known name.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

from prospection.errors import ConfigError, UnknownNameError

__all__ = [
    "AutoSettings",
    "CeilingSettings",
    "EvaluationSettings",
    "ForesightSettings",
    "HydeSettings",
    "LibrarySettings",
    "ModelsSettings",
    "PgrSettings",
    "RecallSettings",
    "RecollectSettings",
    "RememberBudgetSettings",
    "RememberSettings",
    "RewriteSettings",
    "ScanSettings",
    "Settings",
    "StoreSettings",
    "load_settings",
]

PREFIX = "PROSPECTION_"


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class ModelsSettings(_Section):
    """Language model and encoder."""

    chat: str | None = None
    """Language model as "provider:name", for example "openai:gpt-4o"; none: prospection works without one."""
    base_url: str | None = None
    """OpenAI-compatible endpoint for the language model, for example "http://127.0.0.1:11434/v1"."""
    encoder: str = "local"
    """Encoder: "local", "multilingual", "openai:text-embedding-3-small", or "NAME@URL" (OpenAI-compatible)."""
    timeout: float = Field(default=60.0, gt=0)
    """Seconds that one call to a model may take."""
    retries: int = Field(default=2, ge=0, le=10)
    """How often a call is repeated after a rate limit, a failing endpoint, or a reply that does not parse."""
    max_output_tokens: int = Field(default=4096, ge=64)
    """Output limit of one call, in tokens."""
    record: Path | None = None
    """Write every reply to this JSONL file."""
    replay: Path | None = None
    """Answer from this JSONL file instead of calling a model."""


class StoreSettings(_Section):
    """Where memory lives."""

    path: Path | None = None
    """SQLite file."""
    busy_timeout: float = Field(default=30.0, gt=0)
    """Seconds to wait for another process that is writing."""
    cache_users: int = Field(default=64, ge=1)
    """How many users' matrices stay in memory."""


class CeilingSettings(_Section):
    """What may be spent on language models."""

    max_calls: int | None = Field(default=None, ge=0)
    """Ceiling of calls; none: no ceiling."""
    max_tokens: int | None = Field(default=None, ge=0)
    """Ceiling of tokens, in and out."""
    max_cost: float | None = Field(default=None, ge=0)
    """Ceiling of US dollars."""


class RememberBudgetSettings(_Section):
    """What remembering may spend. What is left over waits, safely stored. Days are those of UTC."""

    day: CeilingSettings = CeilingSettings()
    """For all users together, a day."""
    user: CeilingSettings = CeilingSettings()
    """For each user, a day."""
    run: CeilingSettings = CeilingSettings()
    """For one run of the worker."""


class RememberSettings(_Section):
    """From conversations to facts."""

    cues_per_fact: int = Field(default=3, ge=0, le=10)
    """Future cues that the extraction writes for each fact."""
    max_session_tokens: int = Field(default=6000, ge=200)
    """Longer sessions are extracted in parts of about this many tokens."""
    cue_crowd: int = Field(default=12, ge=0)
    """A cue that so many facts have already is a topic and tells nothing; it is left out. 0: all are kept."""
    upsert: Literal["model", "rules"] = "model"
    """Who decides whether a new fact repeats or revises a stored one. Without a language model: rules."""
    neighbours: int = Field(default=5, ge=1, le=50)
    """Nearest stored facts that are laid beside each new one."""
    neighbour_sd: float = Field(default=1.5, ge=0)
    """Where a stored fact is near enough to be laid beside: standard deviations above the encoder's noise. A session
    none of whose facts has a neighbour costs no call."""
    duplicate_sd: float = Field(default=6.0, ge=0)
    """Where the rules look for a repeat: standard deviations above the encoder's noise."""
    duplicate_overlap: float = Field(default=0.6, ge=0, le=1)
    """Share of words that a repeat has in common with what it repeats, beside agreeing in all that matters."""
    consolidate: bool = False
    """Consolidate by itself, after a conversation, when enough new facts have gathered."""
    consolidate_after: int = Field(default=50, ge=2)
    """New facts since the last consolidation (published: 50)."""
    consolidate_order: Literal["published", "improved"] = "improved"
    """How facts are grouped: clusters and then windows of time, or only facts that all are near each other, of one
    type and at one time."""
    consolidate_sd: float = Field(default=6.0, ge=0)
    """Where two facts are near enough to be merged: standard deviations above the encoder's noise."""
    consolidate_days: float = Field(default=7.0, gt=0)
    """Facts that were last said further apart are not merged (published: 7 days)."""
    consolidate_most: int = Field(default=8, ge=2)
    """Facts that one merge may hold, in the improved order."""
    lease: float = Field(default=600.0, gt=0)
    """Seconds after which a session whose extraction was interrupted may be taken up again."""
    max_attempts: int = Field(default=5, ge=1)
    """How often the worker tries a session by itself; then it stays failed until `retry`."""
    backoff: float = Field(default=60.0, gt=0)
    """Seconds before the second attempt; doubled before each further one."""
    concurrency: int = Field(default=4, ge=1, le=256)
    """Sessions that the worker extracts at a time, each of another user."""
    poll: float = Field(default=2.0, gt=0)
    """Seconds between two looks of the worker into an empty queue."""
    budget: RememberBudgetSettings = RememberBudgetSettings()


class PgrSettings(_Section):
    """The published algorithm (paper, section 3.3) and its parameters."""

    shape: Literal["tree", "chain"] = "tree"
    """A tree of branches with steps, or one chain of steps."""
    branches: int = Field(default=3, ge=1, le=10)
    """Branches of the tree."""
    steps: int = Field(default=3, ge=1, le=20)
    """Steps of a branch."""
    chain_steps: int = Field(default=9, ge=1, le=30)
    """Steps of the chain."""
    k: int = Field(default=5, ge=1)
    """K: facts a probe may bring."""
    tau: float | None = None
    """Threshold of a hit; none: the encoder's calibrated value (0.3 under text-embedding-3-small)."""
    k_o: int = Field(default=5, ge=1)
    """K_o: facts for the augmentation of the query (the paper does not publish its value)."""
    tau_o: float | None = None
    """Threshold for the augmentation; none: the encoder's calibrated value (0.6 under text-embedding-3-small)."""
    iterative: bool = True
    """Refine after the first phase; false is the paper's "base"."""
    max_iterations: int = Field(default=10, ge=1)
    """I_max."""
    delta: int = Field(default=5, ge=1)
    """Refinement stops when a round brings fewer new facts than this."""
    summary: bool = True
    """Write the prospection summary that the answer is conditioned on."""


class LibrarySettings(_Section):
    """Recall from the packaged goal library, without a language model."""

    foresight: float = Field(default=0.8, ge=0, le=1)
    """Most that the imagined future may count beside nearness to the request."""
    salience: float = Field(default=0.3, ge=0)
    """Weight of a fact's being the kind of thing that plans have to respect."""
    candidates: int = Field(default=5000, ge=1)
    """Facts that are scored; a larger memory is first narrowed down."""
    goals: int = Field(default=12, ge=1, le=100)
    """How many of the nearest goals explain what was found."""


class ForesightSettings(_Section):
    """Imagine in one call, gather widely, select in another."""

    branches: int = Field(default=3, ge=1, le=10)
    """Branches of the imagined future."""
    steps: int = Field(default=3, ge=1, le=10)
    """Steps of a branch."""
    needs: int = Field(default=1, ge=1, le=5)
    """Imagined facts of a step."""
    rewrites: int = Field(default=9, ge=0, le=20)
    """The request in other words, and questions within it."""
    pool_tokens: int = Field(default=4000, ge=200)
    """Size of the pool that is shown to the selection; a memory that fits is shown whole."""
    rounds: int = Field(default=2, ge=1, le=10)
    """Selections at most; every one after the first follows up what is still open."""
    cautious: int = Field(default=1, ge=0, le=3)
    """Of three places in the pool, how many go to the list that does not trust cues."""


class HydeSettings(_Section):
    """Search with made-up facts."""

    facts: int = Field(default=9, ge=1, le=30)
    """Facts to make up."""
    merge: Literal["interleave", "mean"] = "interleave"
    """How what they find is merged: by best rank, or by mean similarity as published."""


class RewriteSettings(_Section):
    """Search with the request in other words."""

    queries: int = Field(default=9, ge=1, le=30)
    """Searches to write beside the request itself."""
    merge: Literal["interleave", "reciprocal"] = "interleave"
    """How what they find is merged: by best rank, or by the sum of reciprocal ranks."""


class RecollectSettings(_Section):
    """Search on with what was found first, without a language model."""

    feedback: int = Field(default=5, ge=1, le=100)
    """Facts that are taken to be relevant."""
    alpha: float = Field(default=0.8, ge=0)
    """Weight of the request."""
    beta: float = Field(default=0.2, ge=0)
    """Weight of the facts that are taken to be relevant."""


class ScanSettings(_Section):
    """Show the whole memory to the model."""

    slice_tokens: int = Field(default=4000, ge=200)
    """Size of what one call is shown."""
    parallel: int = Field(default=4, ge=1, le=64)
    """Calls that are under way at once."""


class AutoSettings(_Section):
    """Choose a policy for each request."""

    patience: float = Field(default=5.0, ge=0)
    """A deadline of fewer seconds than this leaves no time for a language model."""
    future: float = Field(default=0.1, ge=0, le=1)
    """From which share on a request counts as one about the future, in [0, 1]; the others are answered by nearness."""


class RecallSettings(_Section):
    """From a request to the memories it needs."""

    policy: str | None = None
    """How memory is searched; none: "foresight" with a language model, "library" without."""
    limit: int = Field(default=20, ge=1)
    """Facts that policies without a stopping rule of their own return."""
    shadow: str | None = None
    """A second policy that runs beside the served one and is only recorded, to compare the two."""
    context_tokens: int = Field(default=2000, ge=50)
    """Size of the context that an assistant is given, in tokens (about four characters each)."""
    traces: bool = True
    """Keep a trace of every recall in the store."""
    max_calls: int | None = None
    """Ceiling of calls to the model in one recall."""
    max_tokens: int | None = None
    """Ceiling of tokens, in and out, in one recall."""
    max_cost: float | None = None
    """Ceiling of US dollars in one recall."""
    deadline: float | None = None
    """Ceiling of seconds in one recall."""
    pgr: PgrSettings = PgrSettings()
    foresight: ForesightSettings = ForesightSettings()
    library: LibrarySettings = LibrarySettings()
    hyde: HydeSettings = HydeSettings()
    rewrite: RewriteSettings = RewriteSettings()
    recollect: RecollectSettings = RecollectSettings()
    scan: ScanSettings = ScanSettings()
    auto: AutoSettings = AutoSettings()


class EvaluationSettings(_Section):
    """Measuring."""

    embedding_cache: bool = True
    """Keep embeddings of benchmark texts in the user's cache folder between runs."""
    rivals: Path | None = None
    """Folder of the environments of rivals' packages; none: in the user's data folder."""


class Settings(BaseSettings):
    """All settings; see the module for where they come from."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_nested_delimiter="__", extra="forbid", frozen=True, use_attribute_docstrings=True
    )

    models: ModelsSettings = ModelsSettings()
    store: StoreSettings = StoreSettings()
    remember: RememberSettings = RememberSettings()
    recall: RecallSettings = RecallSettings()
    evaluation: EvaluationSettings = EvaluationSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments, then environment, then file. No .env files and no secret folders: fewer places to look."""
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls, toml_file=_file())


def load_settings(**sections: Any) -> Settings:  # noqa: ANN401 - validated by pydantic
    """Read settings from all their sources.

    Args:
        sections: Sections or parts of them that win over environment and file, for example `models={"chat": "..."}`.

    Raises:
        ConfigError: A value does not fit, a key is unknown, or the named file does not exist.
    """
    named = os.environ.get(PREFIX + "CONFIG")
    if named and not Path(named).is_file():
        raise ConfigError(f"PROSPECTION_CONFIG names {named!r}, which is not a file; correct the path or unset it")
    _refuse_unknown_variables()
    try:
        return Settings(**sections)
    except ValidationError as error:
        raise _explain(error) from error
    except ValueError as error:  # the TOML itself does not parse
        raise ConfigError(f"{_file()} cannot be read: {error}; correct the file") from error


def _file() -> Path:
    return Path(os.environ.get(PREFIX + "CONFIG") or "prospection.toml")


def _refuse_unknown_variables() -> None:
    # pydantic-settings passes over variables it does not know, and a misspelt ceiling would silently not hold.
    for variable in os.environ:
        if not variable.startswith(PREFIX) or "__" not in variable:
            continue
        model: type[BaseModel] = Settings
        for key in variable.removeprefix(PREFIX).lower().split("__"):
            field = model.model_fields.get(key)
            if field is None:
                raise UnknownNameError("setting", key, model.model_fields, hint=f"(from {variable})")
            if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
                model = field.annotation


def _explain(error: ValidationError) -> ConfigError:
    first = error.errors()[0]
    *path, key = [str(part) for part in first["loc"]]
    if first["type"] == "extra_forbidden":
        model: type[BaseModel] = Settings
        for part in path:
            annotation = model.model_fields[part].annotation
            if isinstance(annotation, type) and issubclass(annotation, BaseModel):
                model = annotation
        return UnknownNameError("setting", key, model.model_fields)
    where = ".".join([*path, key])
    return ConfigError(
        f"setting {where} = {first['input']!r}: {first['msg']}; correct it in {_file()} or the environment"
    )
