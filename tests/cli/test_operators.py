"""`worker`, `reembed` and what `doctor` says of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from commands import Run, data_of, model_at, refused
from loopback import Loopback, Reply, Slow


def queue(run: Run, *users: str) -> None:
    for user in users:
        assert run("add", "chat.json", "--session", "s", "--queue", "--user", user).exit_code == 0


def test_the_worker_drains_the_queue_of_all(run: Run) -> None:
    queue(run, "ada", "bob")
    work = data_of(run("worker", "--once", "--json"))
    assert (work["sessions"], work["failed"], work["stopped"]) == (2, 0, None)
    assert work["facts"] > 0
    assert data_of(run("doctor", "--json"))["unfinished"] == []
    again = run("worker", "--once")
    assert (again.exit_code, again.stdout) == (0, "")
    assert "0 facts from 0 conversations" in again.stderr


def test_ceilings_and_what_was_spent_are_seen(run: Run) -> None:
    queue(run, "ada", "bob")
    limits = {"PROSPECTION_REMEMBER__BUDGET__DAY__MAX_CALLS": "1"}
    with Loopback(lambda _: Reply({"facts": []}, tokens=(100, 5))) as server:
        for sessions in (1, 0):
            work = data_of(run("worker", "--once", "--json", *model_at(server.url), env=limits))
            assert (work["sessions"], work["failed"]) == (sessions, 0)
            assert "max_calls is 1 for all users" in work["stopped"]
        assert len(server.chats) == 1
    report = data_of(run("doctor", "--json", env=limits))
    assert (report["spent_today"]["calls"], report["spent_today"]["tokens_in"]) == (1, 100)
    assert report["ceilings"]["day"]["max_calls"] == 1
    assert [entry["state"] for entry in report["unfinished"]] == ["pending"]
    shown = run("doctor", env=limits).stdout
    assert "1 calls, 105 tokens" in shown
    assert "ceiling for a day" in shown


def test_a_failure_is_told_and_kept(run: Run) -> None:
    queue(run, "ada")
    with Loopback(lambda _: Reply("no JSON", tokens=(10, 5))) as server:
        result = run("worker", "--once", *model_at(server.url))
    assert result.exit_code == 1
    assert "Conversation 's' of ada:" in result.stderr
    (entry,) = data_of(run("doctor", "--json"))["unfinished"]
    assert (entry["state"], entry["attempts"]) == ("failed", 1)
    assert entry["retry_at"] is not None


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_stopped_worker_sets_free_what_was_under_way(
    run: Run, tmp_path: Path, sent: signal.Signals, code: int
) -> None:
    queue(run, "ada")
    environment = os.environ | {"PROSPECTION_STORE__PATH": str(tmp_path / "memory.db")}
    with Loopback() as server:
        server.script(Slow(30))
        command = [sys.executable, "-m", "prospection", "worker", "--json", *model_at(server.url)]
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        give_up = time.monotonic() + 30
        while not server.chats and time.monotonic() < give_up:
            time.sleep(0.01)
        process.send_signal(sent)
        out, err = process.communicate(timeout=30)
    assert process.returncode == code, err
    assert "Traceback" not in err
    if sent == signal.SIGTERM:
        assert "told to stop" in json.loads(out)["stopped"]
    (left,) = data_of(run("doctor", "--json"))["unfinished"]
    assert (left["state"], left["attempts"]) == ("pending", 0)


def test_the_encoder_is_changed_and_then_has_to_be_named(run: Run) -> None:
    assert run("add", "chat.json").exit_code == 0
    with Loopback() as server:
        new = f"words@{server.url}"
        done = run("reembed", "--encoder", new, "--json")
        assert data_of(done)["embedded"] > 0
        assert f"--encoder {new}" in done.stderr
        assert "prospection reembed --encoder NAME" in refused(run("recall", "dialysis", "--policy", "direct"))
        found = data_of(run("recall", "dialysis on Monday", "--policy", "direct", "--json", "--encoder", new))
        assert "dialysis" in found["facts"][0]["fact"]["info"]
        assert data_of(run("reembed", "--encoder", new, "--json"))["embedded"] == 0


def test_there_has_to_be_a_memory(run: Run, tmp_path: Path) -> None:
    assert "there is no memory" in refused(run("reembed", "--encoder", "local"))
    assert not (tmp_path / "memory.db").exists()
