"""import and export on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assistant import assistant
from commands import Run, data_of, model_at, refused
from exports import chatgpt, chatgpt_message, text_of
from loopback import Loopback

NUTS = chatgpt_message("user", "My sister is allergic to nuts.")


@pytest.fixture
def export(run: Run, tmp_path: Path) -> Path:
    path = tmp_path / "conversations.json"
    path.write_text(text_of([chatgpt("c1", NUTS, chatgpt_message("tool", "x")), {}]), encoding="utf-8")
    return path


def test_import_tells_what_came_of_it(run: Run, export: Path) -> None:
    first = run("import", str(export), "--user", "ada")
    assert (first.exit_code, first.stdout) == (0, "")
    assert first.stderr.splitlines() == [
        "ChatGPT account export: 1 conversation with 1 message; 1 new, 0 continued, 0 known already",
        "skipped: 1 × not a conversation",
        "left out of them: 1 × tool message",
        "1 fact from 1 conversation remembered for ada",
    ]
    again = run("import", str(export), "--user", "ada", "--json", "--verbose")
    assert data_of(again) == {
        "layouts": ["ChatGPT account export"],
        "bytes": export.stat().st_size,
        "conversations": 1,
        "messages": 1,
        "new": 0,
        "grown": 0,
        "known": 1,
        "skipped": {"not a conversation": 1},
        "left_out": {"tool message": 1},
        "dry_run": False,
        "outcomes": {},
        "skips": [{"what": "{}", "reason": "not a conversation"}],
    }


def test_a_dry_run_and_a_queue(run: Run, export: Path) -> None:
    dry = run("import", str(export), "--user", "ada", "--dry-run", "--verbose")
    assert dry.stdout == "not a conversation: {}\n"
    assert "1 would be new" in dry.stderr
    assert run("facts", "--user", "ada").stdout == ""
    queued = run("import", str(export), "--user", "ada", "--queue")
    assert queued.stderr.splitlines()[-1] == "stored, to be extracted by: prospection retry --user ada"
    assert "1 fact" in run("retry", "--user", "ada").stderr


def test_many_conversations_cost_nothing_unasked(run: Run, tmp_path: Path) -> None:
    many = [chatgpt(f"c{n}", chatgpt_message("user", f"I have run {n} marathons.")) for n in range(51)]
    (tmp_path / "conversations.json").write_text(text_of(many), encoding="utf-8")
    with Loopback(assistant) as server:
        told = run("import", "conversations.json", "--user", "ada", *model_at(server.url))
        assert (told.exit_code, len(server.requests)) == (0, 0)
    assert told.stderr.splitlines()[-1] == "stored, to be extracted by: prospection retry --user ada"


def test_a_failing_model_fails_the_import_and_loses_nothing(run: Run, export: Path) -> None:
    told = run("import", str(export), "--user", "ada", *model_at("http://127.0.0.1:9/v1"))
    assert told.exit_code == 1
    assert "1 failed and are kept" in told.stderr


def test_export_and_import_are_a_round(ada: Run, tmp_path: Path) -> None:
    assert ada("recall", "Plan two weeks in Italy", "--user", "ada").exit_code == 0
    written = ada("export", "--user", "ada", "-o", "ada.jsonl")
    assert (written.exit_code, written.stdout) == (0, "")
    assert written.stderr == "5 records of ada written to ada.jsonl\n"
    shown = ada("export", "--user", "ada")
    assert shown.stdout == (tmp_path / "ada.jsonl").read_text(encoding="utf-8")
    assert not (tmp_path / "ada.jsonl.part").exists()
    there = ("--user", "eve", "--db", "other.db")
    restored = ada("import", "ada.jsonl", *there)
    assert (restored.exit_code, restored.stdout) == (0, "")
    assert restored.stderr == "restored 1 session, 2 facts, 1 trace of eve\n"
    assert data_of(ada("import", "ada.jsonl", "--json", *there)) == {
        "restored": {"user": 1, "session": 1, "fact": 2, "trace": 1}
    }
    assert data_of(ada("facts", "--json", *there)) == data_of(ada("facts", "--json", "--user", "ada"))


def test_what_cannot_be_done_is_refused(run: Run, ada: Run, tmp_path: Path) -> None:
    assert "there is no file 'gone.json'" in refused(run("import", "gone.json"))
    assert "did you mean 'chatgpt'?" in refused(run("import", "chat.json", "--format", "chatgtp"))
    assert "'nobody' has no memory here" in refused(run("export", "--user", "nobody"))
    assert "'Mars' is not a time zone" in refused(run("import", "chat.json", "--zone", "Mars"), code=2)
    assert "cannot be written" in refused(ada("export", "--user", "ada", "-o", "no/such/folder.jsonl"))
    ada("export", "--user", "ada", "-o", "ada.jsonl")
    assert "restored whole" in refused(ada("import", "ada.jsonl", "--since", "2025-01-01"), code=2)
    ada("add", "chat.json", "--user", "eve", "--session", "own")
    assert "already has memory of their own" in refused(ada("import", "ada.jsonl", "--user", "eve"))
    (tmp_path / "cut.jsonl").write_text((tmp_path / "ada.jsonl").read_text(encoding="utf-8")[:-5], encoding="utf-8")
    assert "export it again" in refused(ada("import", "cut.jsonl", "--user", "zoe"))


def test_a_list_of_messages_is_imported_too(run: Run) -> None:
    told = data_of(run("import", "chat.json", "--user", "ada", "--json"))
    assert (told["layouts"], told["new"], told["outcomes"]) == (["messages as JSON or JSONL"], 1, {"stored": 1})
    assert json.loads(run("facts", "--user", "ada", "--json").stdout)
