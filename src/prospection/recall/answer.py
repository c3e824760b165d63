"""A recall to an answer: generation conditioned on facts and summary (PAG; paper, section 3.3), with citations."""

from __future__ import annotations

import re
from collections.abc import Collection

from prospection.prompts import load_prompt
from prospection.protocols import ChatModel, ChatRequest
from prospection.types import Answer, Recall

__all__ = ["answer", "citations"]

_CITATION = re.compile(r"\[([^\[\]\s,;]+(?:\s*[,;]\s*[^\[\]\s,;]+)*)\]")


async def answer(recalled: Recall, model: ChatModel) -> Answer:
    """Ask the model for an answer that stands on what was recalled.

    Raises:
        ModelError: No answer came.
    """
    prompt = load_prompt("answer")
    trace = recalled.trace
    inputs = {
        "query": recalled.query,
        "date": trace.at.strftime("%A, %d %B %Y"),
        "context": recalled.context or "(nothing is known about this person yet)",
    }
    reply = await model.complete(
        ChatRequest(
            stage="answer",
            subject=f"{trace.user}: {recalled.query}",
            system=prompt.system,
            user=prompt.render(inputs),
            prompt=prompt.hash,
            reply=str,
        )
    )
    return Answer(
        text=reply.value.strip(),
        citations=citations(reply.value, {item.fid for item in recalled.facts}),
        recall=recalled,
        usage=recalled.usage + reply.usage,
    )


def citations(text: str, known: Collection[str]) -> tuple[str, ...]:
    """Return the ids cited in `text` as [f1] or [f1, f2], in the order of first mention; unknown ids do not count."""
    found = (fid for group in _CITATION.findall(text) for fid in re.split(r"\s*[,;]\s*", group))
    return tuple(dict.fromkeys(fid for fid in found if fid in known))
