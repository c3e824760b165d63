"""Texts that can be stored, embedded and sent, and how much of a model's window they take."""

from __future__ import annotations

from prospection.errors import InputError

__all__ = ["CHARACTERS_PER_TOKEN", "count_tokens", "mended_text", "whole_text"]

CHARACTERS_PER_TOKEN = 4
"""An estimate, for budgets only: no tokenizer is known for every model."""


def count_tokens(text: str) -> int:
    """Estimate the tokens of a text, rounded up."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def mended_text(text: str) -> str:
    """Return the text with halves of characters replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def whole_text(text: object, what: str) -> str:
    """Return the text.

    Args:
        text: What a caller passed.
        what: What it is, for messages: "the query".

    Raises:
        InputError: It is no text, or holds half of a surrogate pair.
    """
    if not isinstance(text, str):
        raise InputError(f"{what} is {text!r}; pass it as text")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"{what} holds half a character ({text[error.start : error.end]!r}); decode it again from its source, "
            "or replace that character"
        ) from error
    return text
