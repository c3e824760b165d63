"""What every policy is: a value with a name, its parameters, and one method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from prospection.recall.run import Run
from prospection.types import ScoredFact

__all__ = ["Policy", "Ranking"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """What a policy found.

    Attributes:
        facts: Best first, without duplicates.
        partial: Why this is not the whole result; None when it is.
    """

    facts: tuple[ScoredFact, ...]
    summary: str | None = None
    partial: str | None = None


class Policy(Protocol):
    """How memory is searched."""

    @property
    def name(self) -> str:
        """How the policy is called in settings, traces and tables."""
        ...

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What is in force, as JSON data, for the trace."""
        ...

    async def recall(self, query: str, run: Run) -> Ranking:
        """Search the run's memory for what the answer to `query` has to respect.

        Raises:
            ModelError: The language model failed before anything was found.
        """
        ...
