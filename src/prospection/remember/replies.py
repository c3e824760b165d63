"""Texts out of a model's reply, in the form in which they are stored. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from prospection.types import Cue

__all__ = ["distinct_texts", "plain", "plain_cues"]


def plain(text: str) -> str:
    """Undo the escaping of the prompt where the model copied it, and put white space in order."""
    text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return re.sub(r"\s+", " ", text).strip()


def distinct_texts(texts: Sequence[str]) -> tuple[str, ...]:
    """Return texts plain, in order, without empty ones and repeats."""
    return tuple(dict.fromkeys(text for raw in texts if (text := plain(raw))))


def plain_cues(texts: Sequence[str], most: int) -> tuple[Cue, ...]:
    """Return the first `most` distinct texts as cues."""
    return tuple(Cue(text=text) for text in distinct_texts(texts)[:most])
