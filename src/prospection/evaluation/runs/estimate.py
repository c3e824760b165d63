"""What a run will cost, before it is run: a rehearsal with a model that makes its replies up.

A few queries go through every system for real, memory, prompts and all; only the replies are placeholders, sentences of
the packaged goals in the shape that is asked for. So calls and prompt tokens come from the systems themselves, whatever
they do. Replies are of middling length and carry no sense. Where a system decides by them when to stop, they are drawn
so that it stops about where published measurements say: most of a refinement repeats what was imagined before, and most
judgements are no. Calls are good to a third or so there and exact elsewhere, tokens of replies to a half. Rivals'
packages are not rehearsed: their calls are known from measurement, their tokens are not.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pydantic import TypeAdapter

from prospection.config import ModelsSettings
from prospection.evaluation.cases import Dataset
from prospection.evaluation.prices import Price, price_of
from prospection.evaluation.rivals.packaged.environment import PACKAGED, Packaged
from prospection.evaluation.runs.cut import first_part
from prospection.evaluation.runs.folder import RunFolder
from prospection.evaluation.runs.measure import Parts, run_plan
from prospection.evaluation.runs.plan import Plan, PlanBudget, SystemEntry
from prospection.evaluation.runs.rows import IndexRow, Row
from prospection.evaluation.runs.systems import address_of
from prospection.evaluation.runs.tape import Tape, TapedChat
from prospection.library.goals import load_goals
from prospection.protocols import ChatModel, ChatReply, ChatRequest, ReplyT
from prospection.types import Usage, count_tokens

__all__ = ["Estimate", "Rehearsal", "price_of_system", "rehearse"]

LONG_TEXT = 8
"""Sentences in a free text."""

REHEARSED = 3
"""Queries of each data set that are rehearsed."""

YES = 0.15
"""Share of judgements that are yes: TaciTree's judge is sparing, 10 to 16 calls a query (PGR, appendix A.2)."""

REPEATED = 0.93
"""Share of a refinement's sentences that were there before: PGR refines once or twice (4.3 to 4.8 calls with the
answer, appendix A.2), and ends when it finds nothing new."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a system will ask of a model in a whole run.

    Attributes:
        cases: Of the run, all seeds.
        calls: Of all cases, answers included where the plan asks for them.
        index_calls: For building what the system searches, of all users.
        tokens_in, tokens_out: Of cases and indexes together; None where they are not known beforehand.
        cost: US dollars; None where the price is not known.
    """

    dataset: str
    system: str
    cases: int
    calls: float
    index_calls: float
    tokens_in: float | None
    tokens_out: float | None
    cost: float | None


class Rehearsal:
    """A `ChatModel` that makes up replies of the shape asked for and counts what real ones would take.

    The same request gets the same reply.
    """

    name = "rehearsal"

    def __init__(self) -> None:
        goals = load_goals()
        self._sentences = [text for goal in goals for text in (*goal.steps, *goal.needs)]

    async def complete(self, request: ChatRequest[ReplyT]) -> ChatReply[ReplyT]:
        """Make a reply up."""
        chance = random.Random(request.user)  # noqa: S311 - nothing secret
        if issubclass(request.reply, str):
            value: Any = " ".join(chance.choices(self._sentences, k=LONG_TEXT))
            text = value
        else:
            imagined = request.user.partition("<previous_steps>")[2] if request.stage == "refine" else ""
            before = [text for text in self._sentences if text in imagined]
            schema = request.reply.model_json_schema()
            made_up = _MadeUp(parts=schema.get("$defs", {}), chance=chance, sentences=self._sentences, before=before)
            data = made_up.data(schema)
            value, text = TypeAdapter(request.reply).validate_python(data), json.dumps(data)
        usage = Usage(
            calls=1, tokens_in=count_tokens(request.system) + count_tokens(request.user), tokens_out=count_tokens(text)
        )
        return ChatReply(value=value, usage=usage, model=self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class _MadeUp:
    """Draws data of a JSON schema.

    Attributes:
        parts: Definitions that the schema refers to.
        before: Sentences that most texts repeat; [] for none.
    """

    parts: Mapping[str, Any]
    chance: random.Random
    sentences: Sequence[str]
    before: Sequence[str]

    def data(self, schema: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """Return lists of three, or of as many as it demands; sentences for texts."""
        if "$ref" in schema:
            return self.data(self.parts[schema["$ref"].rsplit("/", 1)[-1]])
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self._one_of(schema["enum"])
        if "anyOf" in schema:
            return self.data(schema["anyOf"][0])
        match schema.get("type"):
            case "object":
                fields: dict[str, Any] = schema.get("properties", {})
                return {name: self.data(part) for name, part in fields.items()}
            case "array":
                size = min(max(3, schema.get("minItems", 0)), schema.get("maxItems", 3))
                return [self.data(schema.get("items", {})) for _ in range(size)]
            case "boolean":
                return self.chance.random() < YES
            case "integer" | "number":
                return max(1, int(schema.get("minimum", 1)))
            case _:
                again = self.before and self.chance.random() < REPEATED
                return self.chance.choice(self.before if again else self.sentences)

    def _one_of(self, values: Sequence[Any]) -> Any:  # noqa: ANN401
        if set(values) == {"yes", "no"}:
            return "yes" if self.chance.random() < YES else "no"
        return self.chance.choice(values)


async def rehearse(plan: Plan, datasets: Mapping[str, Dataset], parts: Parts, models: ModelsSettings) -> list[Estimate]:
    """Rehearse a plan on a few queries of each data set's first person and scale that up.

    Args:
        parts: Their tape and `model_of` are not used.
        models: Their `chat` is the run's model; systems may name others. Without one, systems run on what the data set
            recorded.

    Raises:
        ConfigError: A system needs a model and there is none.
    """
    rehearsed = tuple(entry for entry in plan.systems if entry.rival not in PACKAGED)
    short = plan.model_copy(update={"seeds": plan.seeds[:1], "budget": PlanBudget(), "systems": rehearsed})
    few = {name: _few(dataset) for name, dataset in datasets.items()}
    with TemporaryDirectory() as place:
        folder, rehearsal = RunFolder(Path(place)), Rehearsal()
        tape = Tape(folder.recording)
        model = TapedChat(tape, rehearsal.name, rehearsal)

        def model_of(name: str | None) -> ChatModel | None:
            return None if (name or models.chat) is None else model

        await run_plan(short, few, folder, replace(parts, tape=tape, model_of=model_of))
        rows, indexes = list(folder.rows().values()), folder.indexes()
    return [
        _known(entry.name, system.name, plan, datasets[entry.name], PACKAGED[str(system.rival)])
        if system.rival in PACKAGED
        else _scaled(
            entry.name,
            system.name,
            plan,
            datasets[entry.name],
            [row for row in rows if (row.dataset, row.system) == (entry.name, system.name)],
            [row for row in indexes if (row.dataset, row.system) == (entry.name, system.name)],
            price_of_system(system, models),
            asked=(system.model or models.chat) is not None,
        )
        for entry in plan.datasets
        for system in plan.systems
    ]


def price_of_system(system: SystemEntry, models: ModelsSettings) -> Price | None:
    """Return the price of the model that a system asks; None where it is not known."""
    model = system.model or models.chat
    return price_of(model, address_of(model, models))


def _known(name: str, system: str, plan: Plan, dataset: Dataset, package: Packaged) -> Estimate:
    cases = len(plan.seeds) * len(dataset.queries)
    return Estimate(
        dataset=name,
        system=system,
        cases=cases,
        calls=cases * (package.query_calls + plan.answers),
        index_calls=package.fact_calls * sum(len(user.facts) for user in dataset.users),
        tokens_in=None,
        tokens_out=None,
        cost=None,
    )


def _few(dataset: Dataset) -> Dataset:
    first = first_part(dataset, users=1, queries=None)
    step = max(1, len(first.queries) // REHEARSED)
    return replace(first, queries=first.queries[::step][:REHEARSED])


def _scaled(
    name: str,
    system: str,
    plan: Plan,
    dataset: Dataset,
    rows: list[Row],
    indexes: list[IndexRow],
    price: Price | None,
    *,
    asked: bool,
) -> Estimate:
    cases = len(plan.seeds) * len(dataset.queries)
    queried, built = Usage(), Usage()
    if asked:  # else what looks like calls was played from recorded probes
        queried = sum((row.usage + row.answer_usage for row in rows), queried)
        built = sum((row.usage for row in indexes), built)
    by_case, by_user = cases / max(1, len(rows)), len(dataset.users) / max(1, len(indexes))
    tokens_in = queried.tokens_in * by_case + built.tokens_in * by_user
    tokens_out = queried.tokens_out * by_case + built.tokens_out * by_user
    return Estimate(
        dataset=name,
        system=system,
        cases=cases,
        calls=queried.calls * by_case,
        index_calls=built.calls * by_user,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        cost=None if price is None else price.of(tokens_in, tokens_out),
    )
