"""Cells of CSV files that people open in a spreadsheet: guarded against formulas on the way out, bare on the way in.

A cell that begins like a formula is run when the file is opened (CWE-1236); names, requests and answers come from
elsewhere. A quote before it makes it text.
"""

from __future__ import annotations

import re
from typing import TypeVar

__all__ = ["bare", "guarded"]

T = TypeVar("T")

# Quotes in front count too: so each cell is read back as it was. A dash alone stands for what has no value.
_FORMULA = re.compile(r"'*(?:[=+@\t\r\n]|-.)", re.DOTALL)


def guarded(cell: T) -> T | str:
    """Return a cell as it is to be written; what is no text stays as it is."""
    return f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell


def bare(cell: str) -> str:
    """Return what `guarded` was given."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell
