"""Answers of a run, for the judge: what a system found, put before the model that answers, as in service.

In go what was retrieved and a model; out comes a text. Facts and outlook are those of the system; a rival that has a
context of its own is answered from that. Answers are written to one file a system, in the shape that the judge reads.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from prospection.errors import InputError
from prospection.evaluation.cases import EvalQuery
from prospection.evaluation.recall import Retrieved
from prospection.evaluation.runs.rows import Row
from prospection.protocols import ChatModel
from prospection.recall.answer import answer_request
from prospection.recall.context import memory_text
from prospection.types import Fact, ScoredFact

__all__ = ["answer_from", "write_answers"]


async def answer_from(
    query: EvalQuery, found: Retrieved, facts: Sequence[Fact], model: ChatModel, *, context_tokens: int
) -> str:
    """Ask the model for an answer that stands on what was retrieved (PAG; paper, section 3.3).

    Args:
        facts: Those of `found`, in its order.
        context_tokens: Size of what the model is shown of memory; a rival's own context is shown whole.

    Raises:
        ModelError: No answer came.
    """
    shown = found.context
    if shown is None:
        scored = [ScoredFact(fact=fact, score=1.0 / rank) for rank, fact in enumerate(facts, start=1)]
        shown = memory_text(scored, at=query.at, max_tokens=context_tokens)
    request = answer_request(query.text, user=query.user, at=query.at, known=shown, outlook=found.summary)
    return (await model.complete(request)).value.strip()


def write_answers(rows: Iterable[Row], texts: dict[tuple[str, str], str], folder: Path) -> list[Path]:
    """Write the answers of each system to a file of its own: {id, query, answer, dataset, user}, one a line.

    A file is called like its system. Spaces become hyphens, unless another system is called so; what no file may be
    called stands in per cent codes.

    Args:
        texts: The words of each query, by data set and query.

    Returns:
        The files; [] when no case has an answer.

    Raises:
        InputError: They cannot be written.
    """
    lines: defaultdict[str, list[str]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: (row.dataset, row.query, row.seed)):
        if row.answer is None:
            continue
        line = {
            "id": f"{row.query}#{row.seed}",
            "query": texts[row.dataset, row.query],
            "answer": row.answer,
            "dataset": row.dataset,
            "user": row.person,
        }
        lines[row.system].append(json.dumps(line, ensure_ascii=False))
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for system, own in lines.items():
            path = folder / f"{_stem(system, lines)}.jsonl"
            path.write_text("\n".join(own) + "\n", encoding="utf-8")
            written.append(path)
    except OSError as error:
        raise InputError(f"{str(folder)!r} cannot be written: {error}; name another folder") from error
    return written


def _stem(system: str, systems: Iterable[str]) -> str:
    hyphened = system.replace(" ", "-")
    shared = [other for other in systems if other.replace(" ", "-") == hyphened]
    name = system if len(shared) > 1 else hyphened
    return re.sub(r'[\x00-\x1f%/\\:*?"<>|]', lambda match: f"%{ord(match[0]):02X}", name)
