"""Recorded prospection: the probes that a model wrote for a set's queries, read from files.

In goes a folder with any of `steps.jsonl` {id, branches: [{theme, steps}]}, `imagined_facts.jsonl` {id, facts} and
`rewrites.jsonl` {id, queries}; out comes one value a query id. They are data, never disguised as replies: a policy
that uses them says in its trace that no model ran.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from prospection.evaluation.cases import RecordedProspection
from prospection.evaluation.files import Record, read_jsonl
from prospection.types import Step

__all__ = ["read_recorded"]


class _Branch(Record):
    theme: str | None = None
    steps: list[str]


class _Line(Record):
    id: str


class _StepsLine(_Line):
    branches: list[_Branch]


class _FactsLine(_Line):
    facts: list[str]


class _RewritesLine(_Line):
    queries: list[str]


LineT = TypeVar("LineT", bound=_Line)


def read_recorded(folder: Path) -> dict[str, RecordedProspection]:
    """Read what was recorded, by query id; a missing folder or file means that nothing was.

    Raises:
        InputError: A file is there and cannot be read as what its name says.
    """
    steps = _by_id(folder / "steps.jsonl", _StepsLine)
    facts = _by_id(folder / "imagined_facts.jsonl", _FactsLine)
    rewrites = _by_id(folder / "rewrites.jsonl", _RewritesLine)
    return {
        query: RecordedProspection(
            steps=_steps(steps[query].branches) if query in steps else (),
            imagined_facts=tuple(facts[query].facts) if query in facts else (),
            rewrites=tuple(rewrites[query].queries) if query in rewrites else (),
        )
        for query in sorted(steps.keys() | facts.keys() | rewrites.keys())
    }


def _by_id(path: Path, kind: type[LineT]) -> dict[str, LineT]:
    return {line.id: line for line in read_jsonl(path, kind)} if path.is_file() else {}


def _steps(branches: list[_Branch]) -> tuple[Step, ...]:
    places = ((branch.theme, text) for branch in branches for text in branch.steps)
    return tuple(Step(sid=f"s0.{place}", text=text, theme=theme) for place, (theme, text) in enumerate(places, 1))
