"""How the commands that talk say counts, costs and what to type next: values in, words out. Imports nothing heavy."""

from __future__ import annotations

import shlex

from prospection.types import Usage

__all__ = ["counted", "spent", "suggested"]


def suggested(*arguments: object) -> str:
    """Return a command of ours to be copied into a shell: every argument is quoted where it needs to be."""
    return shlex.join(["prospection", *map(str, arguments)])


def counted(number: int, name: str) -> str:
    """Return a number of things in words: "1 fact", "2 facts"."""
    return f"{number} {name}{'' if number == 1 else 's'}"


def spent(usage: Usage) -> str:
    """Return what calls to a model took: how many, tokens, and dollars where every price is known."""
    cost = "price unknown" if usage.cost is None else f"${usage.cost:.4f}"
    return f"{counted(usage.calls, 'model call')}, {usage.tokens_in + usage.tokens_out} tokens, {cost}"
