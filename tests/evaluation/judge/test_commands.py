"""`prospection judge` from answers to agreement, at the command line and over real HTTP."""

from __future__ import annotations

import csv
import io
import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest
from click.testing import CliRunner, Result

from loopback import Chat, Loopback
from prospection.cli import cli


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # commands write where they are called
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def prospection(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(cli, ["judge", *arguments])
    assert result.exit_code == code, result.output
    return result


def answers(system: str, word: str) -> str:
    lines = [
        {"id": f"q{n}", "user": f"u{n % 3}", "dataset": "quest", "query": f"Plan {n}", "answer": f"{word} {n} [f1]"}
        for n in range(6)
    ]
    Path(f"{system}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return f"{system}.jsonl"


def prefer_good(chat: Chat) -> dict[str, str]:
    first = chat.user.partition("<second_answer>")[0]
    return {"reason": "fits", "better": "first" if "good" in first else "second"}


def test_from_answers_to_agreement() -> None:
    ours, theirs = answers("pgr", "good"), answers("mem0g", "bad")
    with Loopback(prefer_good) as server:
        judged = prospection("run", ours, theirs, "--model", "tiny", "--base-url", server.url, "--json")
        assert len(server.chats) == 12
        again = prospection("run", ours, theirs, "--model", "tiny", "--base-url", server.url)
        assert len(server.chats) == 12  # all was there
    (row,) = json.loads(judged.stdout)["rows"]
    assert (row["system"], row["against"], row["data"], row["wins"], row["rate"]) == ("pgr", "mem0g", "quest", 6, 1.0)
    assert "100.0" in again.stdout
    assert prospection("report", "verdicts.jsonl", "--format", "markdown").stdout.startswith("| system | against |")
    assert prospection("report", "verdicts.jsonl", "--format", "csv").stdout.count("\n") == 2

    prospection("pairs", ours, theirs)
    sheet = list(csv.DictReader(io.StringIO(prospection("sheet", "pairs.jsonl").stdout)))
    assert "[f1]" not in str(sheet)
    filled = [(row["pair"], "1" if row["answer_1"].startswith("good") else "2") for row in sheet[1:]]
    lines = ["pair,verdict", f"{sheet[0]['pair']},tie", *(",".join(one) for one in filled)]
    Path("filled.csv").write_text("\n".join(lines))
    Path("labels.csv").write_text(prospection("read-sheet", "pairs.jsonl", "filled.csv").stdout)
    found = json.loads(prospection("agreement", "labels.csv", "verdicts.jsonl", "--json").stdout)["people_and_judge"]
    assert (found["pairs"], found["raw"]) == (6, pytest.approx(5 / 6))
    assert found["matrix"] == [[5, 0, 0], [1, 0, 0], [0, 0, 0]]
    said = prospection("agreement", "labels.csv", "verdicts.jsonl").stdout
    assert "raw agreement 0.833" in said
    assert "kappa 0.000" in said


def test_a_failed_call_is_said_and_kept() -> None:
    ours, theirs = answers("pgr", "good"), answers("mem0g", "bad")
    with Loopback(lambda chat: "not json at all") as server:
        failed = prospection("run", ours, theirs, "--model", "tiny", "--base-url", server.url, code=1)
    assert "12 of 12 calls failed; run the same again" in failed.stderr
    assert prospection("run", ours, theirs, code=2).stderr.count("name one with --model")


def test_the_page_is_served_and_stops() -> None:
    prospection("pairs", answers("pgr", "good"), answers("mem0g", "bad"), "--share", "0.5")
    command = [sys.executable, "-m", "prospection", "judge", "serve", "pairs.jsonl", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        link = re.search(r"http://127\.0\.0\.1:\d+/\S+/", server.stderr.readline())
        assert link is not None
        with urlopen(f"{link[0]}screen?annotator=Ada") as reply:
            assert json.load(reply)["total"] == 3
        server.send_signal(signal.SIGINT)
        assert server.wait(20) in {0, 130}
    assert prospection("labels", "pairs.jsonl").stdout == "annotator,pair,verdict,left,seconds,at\n"
