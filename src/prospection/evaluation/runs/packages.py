"""Rivals' packages in a run: entries of a plan in, packages on tape out.

A package asks its endpoint itself, with prompts that nobody here sees; what is on tape are its answers to `build` and
`search`. So a run resumes and replays without the package, but a ceiling is only looked at between two of its answers.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from prospection.config import ModelsSettings, Settings
from prospection.errors import ConfigError, ModelError
from prospection.evaluation.prices import Price
from prospection.evaluation.rivals.packaged.environment import PACKAGED, python_of
from prospection.evaluation.rivals.packaged.process import RivalEndpoint, RivalProcess, spent
from prospection.evaluation.rivals.packaged.system import PackagedRival
from prospection.evaluation.runs.estimate import price_of_system
from prospection.evaluation.runs.plan import Plan, SystemEntry
from prospection.evaluation.runs.systems import PackageOf, address_of
from prospection.evaluation.runs.tape import Said, Tape
from prospection.protocols import FactStore

__all__ = ["TapedPackage", "check_packages", "live_packages", "recorded_packages"]

_OPENAI = "https://api.openai.com/v1"


class TapedPackage:
    """A package on tape."""

    def __init__(self, tape: Tape, name: str, process: RivalProcess | None, price: Price | None) -> None:
        """Put a package on tape.

        Args:
            process: What is asked for what is not on tape; None: nothing is, as in a replay.
            price: Of the model that it works with; None where it is not known.
        """
        self._tape, self._name, self._process, self._price = tape, name, process, price

    async def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """See `RivalProcess.ask` and `Tape.once`."""
        process = self._process

        async def ask() -> Said:
            assert process is not None  # noqa: S101 - it is not called without
            try:
                reply = await process.ask(request)
            except ModelError as error:
                if error.usage is not None and self._price is not None:
                    # Before it failed it was answered, and paid for that.
                    cost = self._price.of(error.usage.tokens_in, error.usage.tokens_out)
                    error.usage = replace(error.usage, cost=cost)
                raise
            usage = spent(reply, None if self._price is None else self._price.of)
            return Said(reply=reply, usage=usage, model=self._name)

        # Where its files are does not matter to what it says.
        material = json.dumps({key: value for key, value in request.items() if key != "folder"}, sort_keys=True)
        asked = hashlib.sha256(material.encode()).hexdigest()[:20]
        said = await self._tape.once(request["op"], asked, self._name, None if process is None else ask)
        reply: dict[str, Any] = said.reply
        return reply


def check_packages(plan: Plan, settings: Settings) -> None:
    """Make sure that every package of a plan can be started, before anything is asked.

    Raises:
        ConfigError: One is not installed, or has no model, or one that it cannot reach.
    """
    for entry in plan.systems:
        if entry.rival in PACKAGED:
            python_of(entry.rival, settings.evaluation.rivals)
            _endpoint(entry, settings.models)


def live_packages(tape: Tape, settings: Settings, folder: Path, stack: AsyncExitStack) -> PackageOf:
    """Return what opens packages; each is a process that the stack ends.

    Args:
        folder: For indexes and logs, one folder a system.
    """

    def package_of(entry: SystemEntry, store: FactStore) -> PackagedRival:
        name, own = str(entry.rival), folder.absolute() / entry.name.replace(" ", "-")
        python = python_of(name, settings.evaluation.rivals)
        process = RivalProcess(name, python, endpoint=_endpoint(entry, settings.models), folder=own)
        stack.push_async_exit(process)
        price = price_of_system(entry, settings.models)
        package = TapedPackage(tape, name, process, price)
        return PackagedRival(name, package=package, store=store, folder=own)

    return package_of


def recorded_packages(tape: Tape) -> PackageOf:
    """Return what plays packages from tape alone."""

    def package_of(entry: SystemEntry, store: FactStore) -> PackagedRival:
        name = str(entry.rival)
        return PackagedRival(name, package=TapedPackage(tape, name, None, None), store=store, folder=Path())

    return package_of


def _endpoint(entry: SystemEntry, models: ModelsSettings) -> RivalEndpoint:
    chat = entry.model or models.chat
    if chat is None:
        raise ConfigError(f"system {entry.name!r} needs a language model; name one with --model")
    provider, _, rest = chat.partition(":")
    base_url = address_of(chat, models)
    if provider in {"openai", "openai-chat"}:
        base_url, chat = base_url or os.environ.get("OPENAI_BASE_URL") or _OPENAI, rest
    if base_url is None:
        raise ConfigError(
            f"system {entry.name!r} cannot use {chat!r}: the package speaks to OpenAI-compatible endpoints; name a "
            "model openai:..., or the endpoint with --base-url"
        )
    return RivalEndpoint(
        base_url=base_url,
        api_key=os.environ.get("OPENAI_API_KEY") or "none",
        chat=chat,
        embedding=entry.parameters["embedding"],
        dims=entry.parameters["dims"],
    )
