"""The same commands with a model, over real HTTP on a loopback server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assistant import CUE, OUTLOOK
from commands import Run, data_of, model_at
from loopback import Loopback, Slow, Status

QUERY = "Plan two weeks in Italy"


@pytest.fixture
def with_model(run: Run, server: Loopback) -> Run:
    """As `run`, with a memory that the model extracted; further requests are counted from here."""
    added = run("add", "chat.json", "--user", "ada", "--at", "2025-03-01", *model_at(server.url))
    assert added.exit_code == 0, added.output
    server.chats.clear()
    return run


def test_add_extracts_with_cues_and_times(run: Run, server: Loopback) -> None:
    added = run("add", "chat.json", "--user", "ada", "--at", "2025-03-01", *model_at(server.url))
    assert added.stderr.startswith("2 facts from 1 conversation remembered for ada; 1 model call, ")
    assert "price unknown" in added.stderr
    first, second = data_of(run("facts", "--user", "ada", "--json"))
    assert first["info"].startswith("User said: My mother has dialysis")
    assert first["cues"][0]["text"] == CUE
    assert first["provenance"][0]["quote"].startswith("My mother has dialysis")
    assert second["event_time"]["start"].startswith("2025-02-28")
    assert second["event_time"]["precision"] == "day"


def test_recall_by_foresight(with_model: Run, server: Loopback) -> None:
    found = data_of(with_model("recall", QUERY, "--user", "ada", "--json", *model_at(server.url)))
    assert found["trace"]["policy"] == "foresight"
    assert [item["reason"] for item in found["facts"]] == ["It bears on the plan."] * 2
    assert found["summary"] == OUTLOOK
    assert found["usage"]["calls"] == len(server.chats)
    shown = with_model("recall", QUERY, "--user", "ada", *model_at(server.url)).stdout
    assert "It bears on the plan." in shown
    assert f"Outlook\n  {OUTLOOK}" in shown


def test_recall_by_the_published_algorithm(with_model: Run, server: Loopback) -> None:
    found = data_of(with_model("recall", QUERY, "--user", "ada", "--policy", "pgr", "--json", *model_at(server.url)))
    stages = [stage["stage"] for stage in found["trace"]["stages"]]
    assert stages == ["augment", "simulate", "refine", "summarise"]
    assert found["trace"]["augmented"] == "Plan two weeks in Italy by train"
    assert found["usage"]["calls"] == len(server.chats) == 4
    assert "Pack the bags" in with_model("trace", "--user", "ada", found["trace"]["id"]).stdout


def test_ask_cites(with_model: Run, server: Loopback) -> None:
    asked = with_model("ask", QUERY, "--user", "ada", *model_at(server.url))
    assert asked.exit_code == 0
    assert asked.stdout.startswith("Travel on a Friday [f")
    assert "It stands on" in asked.stdout
    assert "policy foresight, 2 model calls" in asked.stderr
    answer = data_of(with_model("ask", QUERY, "--user", "ada", "--json", *model_at(server.url)))
    (cited,) = answer["citations"]
    assert cited in {item["fact"]["fid"] for item in answer["recall"]["facts"]}


def test_a_ceiling_gives_the_best_so_far(with_model: Run, server: Loopback) -> None:
    limited = ("--policy", "pgr", "--max-calls", "2", *model_at(server.url))
    found = data_of(with_model("recall", QUERY, "--user", "ada", "--json", *limited))
    assert len(server.chats) == found["usage"]["calls"] == 2
    assert "max_calls is 2" in found["partial"]
    assert "Not the whole result: " in with_model("recall", QUERY, "--user", "ada", *limited).stdout


def test_a_recall_is_recorded_and_replayed_without_the_model(with_model: Run, server: Loopback, tmp_path: Path) -> None:
    record = {"PROSPECTION_MODELS__RECORD": str(tmp_path / "replies.jsonl")}
    asked = data_of(with_model("ask", QUERY, "--user", "ada", "--json", *model_at(server.url), env=record))
    server.chats.clear()
    replay = {"PROSPECTION_MODELS__REPLAY": str(tmp_path / "replies.jsonl")}
    again = data_of(with_model("ask", QUERY, "--user", "ada", "--json", env=replay))
    assert server.chats == []
    for same in ("text", "citations", "usage"):
        assert again[same] == asked[same]
    assert again["recall"]["facts"] == asked["recall"]["facts"]
    other = with_model("ask", "Another", "--user", "ada", env=replay)
    assert other.exit_code == 1
    assert "has no further reply for stage" in other.stderr


def test_a_reply_that_never_parses_keeps_the_conversation(run: Run, server: Loopback) -> None:
    calm = {"PROSPECTION_MODELS__RETRIES": "1"}
    server.script(*["I would rather not."] * 6)
    failed = run("add", "chat.json", "--user", "ada", "--session", "march", *model_at(server.url), env=calm)
    assert (failed.exit_code, failed.stdout) == (1, "")
    assert "Error: conversation 'march': " in failed.stderr
    assert "1 conversation kept whole. To try again: prospection retry --user ada" in failed.stderr
    sick = run("doctor")
    assert "conversation march of ada is failed" in sick.stdout
    assert "I would rather not." in sick.stdout
    assert "prospection retry --user ada" in sick.stdout
    server._queue.clear()
    mended = run("retry", "--user", "ada", *model_at(server.url))
    assert mended.stderr.startswith("2 facts from 1 conversation remembered for ada")
    assert data_of(run("doctor", "--json"))["unfinished"] == []


def test_a_model_that_keeps_failing_is_given_up_and_nothing_is_lost(run: Run, server: Loopback) -> None:
    many = [{"id": f"c{n}", "messages": [{"role": "user", "content": f"I own {n} boats."}]} for n in range(6)]
    Path("many.json").write_text(json.dumps(many))
    server.script(*[Status(500)] * 20)
    failed = run("add", "many.json", *model_at(server.url), env={"PROSPECTION_MODELS__RETRIES": "0"})
    assert failed.exit_code == 1
    assert len(server.chats) == 3
    assert "3 conversations kept whole" in failed.stderr
    report = data_of(run("doctor", "--json"))
    assert [entry["state"] for entry in report["unfinished"]] == ["failed"] * 3 + ["pending"] * 3
    server._queue.clear()
    assert run("retry", *model_at(server.url)).stderr.startswith("6 facts from 6 conversations remembered for me")


def test_an_encoder_at_an_endpoint(run: Run, server: Loopback) -> None:
    encoder = ("--encoder", f"words@{server.url}")
    assert run("add", "chat.json", "--at", "2025-03-01", *encoder).exit_code == 0
    found = data_of(run("recall", "dialysis on Monday", "--policy", "direct", "--json", *encoder))
    assert "dialysis" in found["facts"][0]["fact"]["info"]
    assert found["trace"]["encoder"] == "compatible:words"


@pytest.mark.skipif(sys.platform == "win32", reason="interrupts are sent otherwise there")
def test_an_interrupt_ends_the_work_at_once_and_loses_nothing(run: Run, tmp_path: Path) -> None:
    environment = os.environ | {"PROSPECTION_STORE__PATH": str(tmp_path / "memory.db")}
    with Loopback() as server:
        server.script(Slow(30))
        command = [sys.executable, "-m", "prospection", "add", "chat.json", "--session", "s", *model_at(server.url)]
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        give_up = time.monotonic() + 20
        while not server.chats and time.monotonic() < give_up:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (130, "")
    assert "Interrupted. What was stored before is kept." in err
    assert "Traceback" not in err
    (left,) = data_of(run("doctor", "--json"))["unfinished"]
    assert (left["session"], left["state"]) == ("s", "pending")
