"""A model for the loopback server that carries out every stage in the simplest way that makes sense.

    with Loopback(assistant) as server: ...

Each message of the person becomes a fact with one cue, beside all that is stored; the future of any request is one step
of two; the selection takes every fact that it is shown; the answer cites the first.
"""

from __future__ import annotations

import re

from loopback import Behaviour, Chat, Reply
from openai_protocol import Json

__all__ = ["CUE", "OUTLOOK", "assistant"]

CUE = "Planning a journey"
OUTLOOK = "Mind the mornings."


def assistant(chat: Chat) -> Behaviour | Json | str:
    """Answer a chat request of any stage."""
    wanted = (chat.schema or {}).get("properties", {})
    facts = re.findall(r"\[(f\d+)\]", chat.user)
    if "facts" in wanted:
        return {"facts": [_fact(number, text) for number, text in _said(chat.user)]}
    if "proposals" in wanted:
        return {"proposals": []}
    if "rewrites" in wanted:
        step = {"step": "Pack the bags", "facts": ["User cannot lift heavy things"]}
        return {"branches": [{"theme": "Setting off", "steps": [step]}], "rewrites": ["A holiday by train"]}
    if "branches" in wanted:
        return {"branches": [{"theme": "Setting off", "steps": ["Pack the bags", "Settle the mornings at home"]}]}
    if "selected" in wanted:
        chosen = [{"id": fid, "why": "It bears on the plan."} for fid in dict.fromkeys(facts)]
        return {"selected": chosen, "open_needs": [], "outlook": OUTLOOK}
    if "query" in wanted:
        return {"query": "Plan two weeks in Italy by train"}
    return Reply(f"Travel on a Friday [{facts[0]}]." if facts else OUTLOOK)


def _said(prompt: str) -> list[tuple[int, str]]:
    conversation = prompt.partition("<conversation>")[2]
    return [(int(number), text) for number, text in re.findall(r"^\[(\d+)\] user: (.+)$", conversation, re.MULTILINE)]


def _fact(number: int, text: str) -> Json:
    time = {"start": "2025-02-28", "precision": "day"} if "Yesterday" in text else None
    return {
        "info": f"User said: {text}",
        "type": "event",
        "message": number,
        "quote": text,
        "time": time,
        "cues": [CUE],
    }
