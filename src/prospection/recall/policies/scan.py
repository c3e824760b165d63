"""Policy `scan`: the whole memory is shown to the model, slice by slice. The bound that search is measured against.

No search can miss what is shown; it costs as many calls as the memory has slices. Slices are made from the nearest to
the farthest and run side by side, so that a ceiling leaves the most promising part read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import Any, ClassVar

import anyio

from prospection.config import RecallSettings
from prospection.errors import BudgetExceededError, ConfigError, ModelError
from prospection.recall.context import fact_tokens
from prospection.recall.foresee import Selection, select
from prospection.recall.policy import Ranking
from prospection.recall.pool import falling, interleave_hits
from prospection.recall.retriever import UNLIMITED
from prospection.recall.run import Run
from prospection.types import ScoredFact

__all__ = ["Scan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """Every fact that the model chose from its slice: all first choices, then all second ones, the nearest slice first.

    Attributes:
        slice_tokens: Size of what one call is shown.
        parallel: Calls that are under way at once.
        limit: Facts returned when a slice could not be read and nothing was chosen from the others.
    """

    limit: int = 20
    slice_tokens: int = 4000
    parallel: int = 4
    name: ClassVar[str] = "scan"

    @classmethod
    def from_settings(cls, settings: RecallSettings) -> Scan:
        """Return the policy as the settings say."""
        return cls(limit=settings.limit, **settings.scan.model_dump())

    @property
    def parameters(self) -> Mapping[str, Any]:
        """See `Policy.parameters`."""
        return asdict(self)

    async def recall(self, query: str, run: Run) -> Ranking:
        """See `Policy.recall`.

        Slices that could not be read, at a ceiling or because the model failed, make the result partial. When none
        could be read, a ceiling leaves what the query alone finds and a failing model is an error.
        """
        (near,) = await run.retrieve([run.probe(query, "query")], k=UNLIMITED)
        slices = _slices(interleave_hits([near]), self.slice_tokens)
        selections, failures = await self._read(query, run, slices)
        if failures and len(failures) == len(slices):
            if not all(isinstance(error, BudgetExceededError) for error in failures):
                raise failures[0]
            return Ranking(facts=interleave_hits([near[: self.limit]]), partial=str(failures[0]))
        partial = f"{len(failures)} of {len(slices)} parts of memory were not read: {failures[0]}" if failures else None
        outlooks = [selection.outlook for selection in selections if selection is not None and selection.outlook]
        facts = _merged(selections)
        if partial and not facts:
            facts = interleave_hits([near[: self.limit]])
        return Ranking(facts=facts, summary="\n".join(outlooks) or None, partial=partial)

    async def _read(
        self, query: str, run: Run, slices: Sequence[Sequence[ScoredFact]]
    ) -> tuple[list[Selection | None], list[ConfigError | ModelError]]:
        """Select from every slice, at most `parallel` at once; of what failed, the errors in the order of slices."""
        selections: list[Selection | None] = [None] * len(slices)
        failures: dict[int, ConfigError | ModelError] = {}
        turn = anyio.CapacityLimiter(self.parallel)

        async def read(place: int) -> None:
            async with turn:
                try:
                    part = f"part {place + 1} of {len(slices)}"
                    selections[place] = await select(run, query, slices[place], part=part)
                # Carried out by hand: a task group would wrap it into a group.
                except (ConfigError, ModelError) as error:
                    failures[place] = error

        async with anyio.create_task_group() as tasks:
            for place in range(len(slices)):
                tasks.start_soon(read, place)
        return selections, [failures[place] for place in sorted(failures)]


def _slices(facts: Sequence[ScoredFact], tokens: int) -> list[list[ScoredFact]]:
    """Cut facts into runs that fit into a token budget; a fact that is larger alone is a slice of its own."""
    slices: list[list[ScoredFact]] = []
    room = 0
    for item in facts:
        size = fact_tokens(item.fact)
        if not slices or size > room:
            slices.append([])
            room = tokens
        slices[-1].append(item)
        room -= size
    return slices


def _merged(selections: Sequence[Selection | None]) -> tuple[ScoredFact, ...]:
    turns = zip_longest(*(selection.facts for selection in selections if selection is not None))
    chosen = [choice for turn in turns for choice in turn if choice is not None]
    return falling(ScoredFact(fact=fact, score=1.0, reason=why) for fact, why in chosen)
