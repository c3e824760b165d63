"""A recall to an answer: generation conditioned on facts and summary (PAG; paper, section 3.3), with citations."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import datetime

from prospection.errors import AnswerError, ModelError
from prospection.prompts import load_prompt
from prospection.protocols import ChatModel, ChatRequest
from prospection.recall.context import day_in_words, memory_text
from prospection.types import Answer, Recall, Usage

__all__ = ["answer", "answer_request", "citations"]

_CITATION = re.compile(r"\[([^\[\]\s,;]+(?:\s*[,;]\s*[^\[\]\s,;]+)*)\]")


async def answer(recalled: Recall, model: ChatModel, *, context_tokens: int = 2000) -> Answer:
    """Ask the model for an answer that stands on what was recalled.

    Args:
        context_tokens: Size of what the model is shown of memory.

    Raises:
        AnswerError: No answer came; it carries the recall, and why is its cause.
    """
    trace = recalled.trace
    known = memory_text(recalled.facts, at=trace.at, max_tokens=context_tokens)
    request = answer_request(recalled.query, user=trace.user, at=trace.at, known=known, outlook=recalled.summary)
    try:
        reply = await model.complete(request)
    except ModelError as error:
        raise AnswerError(
            f"memory was searched and {len(recalled.facts)} facts were found, but the answer could not be made: "
            f"{error}; use the recall that this error carries",
            recall=recalled,
            usage=recalled.usage + (error.usage or Usage()),
        ) from error
    return Answer(
        text=reply.value.strip(),
        citations=citations(reply.value, {item.fid for item in recalled.facts}),
        recall=recalled,
        usage=recalled.usage + reply.usage,
    )


def answer_request(query: str, *, user: str, at: datetime, known: str, outlook: str | None) -> ChatRequest[str]:
    """Return the question that an answer is asked for with.

    Args:
        known: What memory says, as the model is to be shown it; empty for nothing.
        outlook: The prospection summary, where there is one.
    """
    prompt = load_prompt("answer")
    inputs = {
        "query": query,
        "date": day_in_words(at),
        "facts": known or "(nothing is known about this person yet)",
        "outlook": outlook or "(none)",
    }
    return ChatRequest(
        stage="answer",
        subject=f"{user}: {query}",
        system=prompt.system,
        user=prompt.render(inputs),
        prompt=prompt.hash,
        reply=str,
    )


def citations(text: str, known: Collection[str]) -> tuple[str, ...]:
    """Return the ids cited in `text` as [f1] or [f1, f2], in the order of first mention; unknown ids do not count."""
    found = (fid for group in _CITATION.findall(text) for fid in re.split(r"\s*[,;]\s*", group))
    return tuple(dict.fromkeys(fid for fid in found if fid in known))
