"""What the house holds to: its public names, what importing costs, and the size of its modules and functions."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import prospection

ROOT = Path(__file__).parents[1]
MODULES = sorted((ROOT / "src" / "prospection").rglob("*.py"))
NAMES = [str(path.relative_to(ROOT / "src")) for path in MODULES]
HEAVY = {"numpy", "onnxruntime", "openai", "pydantic", "pydantic_ai", "rich", "starlette", "tokenizers"}


def test_public_names_are_sorted_importable_and_documented() -> None:
    assert list(prospection.__all__) == sorted(prospection.__all__)  # those of modules are held in order by ruff
    pages = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    for name in prospection.__all__:
        assert getattr(prospection, name).__doc__, name
        assert f"`{name}`" in pages, f"docs/python.md does not mention {name}"
    assert {*prospection.__all__, "__version__"} == set(dir(prospection))
    with pytest.raises(AttributeError, match="no attribute 'Memmory'"):
        _ = prospection.Memmory


def test_importing_it_loads_nothing_heavy() -> None:
    code = "import prospection, sys; print(*sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {name.partition(".")[0] for name in shown.stdout.split()}.isdisjoint(HEAVY)


@pytest.mark.parametrize("path", MODULES, ids=NAMES)
def test_modules_say_what_they_are_and_stay_small(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    assert len(_lines_of_code(text, tree)) <= 400
    if path.name != "__main__.py":
        assert ast.get_docstring(tree)
    for node in _functions(tree):
        assert (node.end_lineno or 0) - node.lineno < 60, f"{node.name} is longer than 60 lines"


def _lines_of_code(text: str, tree: ast.Module) -> list[str]:
    strings = (node for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    prose = {number for node in strings for number in range(node.lineno, (node.end_lineno or 0) + 1)}
    lines = enumerate(text.splitlines(), start=1)
    return [line for number, line in lines if line.strip()[:1] not in {"", "#"} and number not in prose]


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
