"""The demo, the help, and what they load."""

from __future__ import annotations

import subprocess
import sys

import pytest

from commands import Run, data_of, model_at
from loopback import Loopback
from prospection.cli import _COMMANDS, cli

HEAVY = ("anyio", "numpy", "onnxruntime", "openai", "pydantic", "pydantic_ai", "rich", "starlette", "tokenizers")


def test_the_demo_shows_what_thinking_ahead_finds(run: Run) -> None:
    shown = run("demo").stdout
    assert "Similarity alone: 0 of the 5 needed" in shown
    assert "Thinking ahead: 4 of the 5 needed" in shown
    for part in ("What the starred memories mean", "How thinking ahead got there", "<memory>", "no model calls"):
        assert part in shown
    assert max(map(len, shown.splitlines())) <= 100


def test_the_first_lines_of_help_are_the_commands_own() -> None:
    for name, (_, first_line) in _COMMANDS.items():
        command = cli.get_command(cli.make_context("prospection", ["doctor"], resilient_parsing=True), name)
        assert command is not None
        assert command.help is not None
        assert command.help.splitlines()[0] == first_line, name


@pytest.mark.parametrize("arguments", ["-m prospection --help", "-m prospection --version", "-c 'import prospection'"])
def test_nothing_heavy_is_loaded_to_say_hello(arguments: str) -> None:
    code = {
        "-m prospection --help": "import prospection.cli as c; c.cli(['--help'], standalone_mode=False)",
        "-m prospection --version": "import prospection.cli as c; c.cli(['--version'], standalone_mode=False)",
        "-c 'import prospection'": "import prospection",
    }[arguments]
    shown = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sorted(sys.modules), sep='\\n')"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    loaded = {name.partition(".")[0] for name in shown.stdout.splitlines()}
    assert loaded.isdisjoint(HEAVY)


def test_python_m_prospection_is_the_same_command() -> None:
    shown = subprocess.run([sys.executable, "-m", "prospection", "facs"], capture_output=True, text=True, check=False)
    assert (shown.returncode, shown.stdout) == (2, "")
    assert "did you mean 'facts'?" in shown.stderr


def test_eval_gives_one_object(run: Run, server: Loopback, data: str) -> None:
    measured = run("eval", "recall", data, "--policy", "direct", "--policy", "library", "--json")
    report = data_of(measured)
    assert set(report) >= {"data", "queries", "systems"}
    assert set(report["systems"]["direct"]["recall"]) == {"5", "10", "20", "35", "60", "100"}
    assert measured.stderr == ""
    table = run("eval", "recall", data, "--policy", "direct", *model_at(server.url))
    assert table.exit_code == 0
    assert "Recall: share of the needed facts" in table.stdout
