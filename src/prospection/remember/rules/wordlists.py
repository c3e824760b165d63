"""The lists of words in `words/`, as patterns.

In goes the name of a list; out come its sections. A section begins with "## name"; regular expressions in it are set
apart by " | " or a new line, and an apostrophe stands for both of its shapes.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import resources

__all__ = ["read_words"]


@lru_cache(maxsize=16)
def read_words(name: str) -> dict[str, str]:
    """Return the sections of a list, each as the alternatives of one regular expression."""
    text = resources.files(__package__).joinpath("words", f"{name}.txt").read_text(encoding="utf-8")
    sections: dict[str, str] = {}
    for section in text.split("\n## ")[1:]:
        title, _, body = section.partition("\n")
        entries = [entry.strip() for entry in body.replace(" | ", "\n").splitlines() if entry.strip()]
        sections[title.strip()] = "|".join(entries).replace("'", "['’]")
    return sections
