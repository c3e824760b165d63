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
    assert re.search(
        r"^ ?win rate +100\.0 *$", again.stdout, re.MULTILINE
    )  # figures below one another, whole at 80 columns
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


def test_one_file_holds_several_comparisons_and_people_are_compared_with_all() -> None:
    ours = answers("pgr", "good")
    with Loopback(prefer_good) as server:
        judging = ("--model", "tiny", "--base-url", server.url, "--json")
        prospection("run", ours, answers("mem0g", "bad"), *judging)
        second = prospection("run", ours, answers("tacitree", "good as well"), *judging)
        assert len(server.chats) == 24
        assert [row["against"] for row in json.loads(second.stdout)["rows"]] == ["tacitree"]
        answers("tacitree", "bad")  # made anew under the same name
        third = prospection("run", ours, "tacitree.jsonl", *judging)
        assert len(server.chats) == 36
    assert [json.loads(one.stdout)["rows"][0]["wins"] for one in (second, third)] == [0, 6]
    rows = json.loads(prospection("report", "verdicts.jsonl", "--format", "json").stdout)["rows"]
    assert [(row["against"], row["pairs"], row["wins"]) for row in rows] == [("mem0g", 6, 6), ("tacitree", 6, 6)]

    for theirs in ("mem0g", "tacitree"):
        prospection("pairs", ours, f"{theirs}.jsonl", "--out", f"{theirs}-pairs.jsonl")
    Path("all.jsonl").write_text("".join(Path(f"{name}-pairs.jsonl").read_text() for name in ("mem0g", "tacitree")))
    sheet = list(csv.DictReader(io.StringIO(prospection("sheet", "all.jsonl").stdout)))
    assert len({row["pair"] for row in sheet}) == 12
    assert "mem0g" not in str(sheet)
    said = [f"ada,{row['pair']},{'a' if n < 9 else 'b'}" for n, row in enumerate(sheet)]
    Path("labels.csv").write_text("\n".join(["annotator,pair,verdict", *said, "ada,gone,a"]))
    found = prospection("agreement", "labels.csv", "verdicts.jsonl", "--json")
    assert json.loads(found.stdout)["people_and_judge"]["matrix"] == [[9, 0, 0], [0, 0, 0], [3, 0, 0]]
    assert "1 of 13 pairs that people judged have no verdict" in found.stderr


def test_two_judges_are_told_apart() -> None:
    ours, theirs = answers("pgr", "good"), answers("mem0g", "bad")
    prospection("pairs", ours, theirs)
    with Loopback(prefer_good) as server:
        for model in ("tiny", "large"):
            prospection("run", ours, theirs, "--model", model, "--base-url", server.url, "--out", f"{model}.jsonl")
    pair = json.loads(Path("pairs.jsonl").read_text().splitlines()[0])["id"]
    Path("labels.csv").write_text(f"annotator,pair,verdict\nada,{pair},a")
    for files in (("tiny.jsonl", "large.jsonl"), ("large.jsonl", "tiny.jsonl")):
        rows = list(csv.DictReader(io.StringIO(prospection("report", *files, "--format", "csv").stdout)))
        assert {row["judge"] for row in rows} == {"tiny", "large"}
        assert "of two judges" in prospection("agreement", "labels.csv", *files, code=1).stderr


def test_a_dry_run_estimates_and_a_run_says_what_it_took() -> None:
    ours, theirs = answers("pgr", "good"), answers("mem0g", "bad")
    found = json.loads(prospection("run", ours, theirs, "--model", "openai:gpt-4o", "--dry-run", "--json").stdout)
    assert found["calls"] == 12
    assert 12 * 200 < found["tokens_in"] < 12 * 500
    assert found["cost"] > 0
    said = prospection("run", ours, theirs, "--model", "tiny", "--dry-run").stdout
    assert said.startswith("6 pairs in both orders: about 12 model calls, ")
    assert "price unknown" in said
    with Loopback(prefer_good) as server:
        done = prospection("run", ours, theirs, "--model", "tiny", "--base-url", server.url)
    assert "Took 12 model calls, " in done.stderr


def test_people_have_a_win_rate_of_their_own() -> None:
    ours, theirs = answers("pgr", "good"), answers("mem0g", "bad")
    prospection("pairs", ours, theirs)
    ids = [json.loads(line)["id"] for line in Path("pairs.jsonl").read_text().splitlines()]
    # Two of three prefer a on the first pair, one each on the second, and one b on the third.
    said = [("ada", 0, "a"), ("ben", 0, "a"), ("cyd", 0, "b"), ("ada", 1, "a"), ("ben", 1, "b"), ("ada", 2, "b")]
    lines = ["annotator,pair,verdict", *(f"{name},{ids[place]},{verdict}" for name, place, verdict in said)]
    Path("labels.csv").write_text("\n".join(lines) + "\n")
    people = ("report", "--people", "labels.csv", "--pairs", "pairs.jsonl")
    (row,) = json.loads(prospection(*people, "--format", "json").stdout)["rows"]
    assert (row["system"], row["against"], row["model"]) == ("pgr", "mem0g", "people")
    assert (row["pairs"], row["wins"], row["ties"], row["losses"], row["rate"]) == (3, 1, 1, 1, 0.5)
    assert (row["agreed"], row["first"]) == (None, None)

    with Loopback(prefer_good) as server:
        prospection("run", ours, theirs, "--model", "tiny", "--base-url", server.url)
    table = prospection(*people, "verdicts.jsonl", "--format", "csv").stdout
    assert [line.split(",")[2] for line in table.splitlines()] == ["judge", "tiny", "people"]

    assert "both" in prospection("report", "--people", "labels.csv", code=2).stderr
    assert "--people LABELS" in prospection("report", code=2).stderr
    Path("labels.csv").write_text("annotator,pair,verdict\nada,other,a\n")
    assert "there is no pair 'other' that people judged" in prospection(*people, code=1).stderr


def test_what_one_system_alone_answered_is_left_out_and_said() -> None:
    ours, theirs = answers("pgr", "good"), answers("mem0g", "bad")
    Path(theirs).write_text("".join(Path(theirs).read_text().splitlines(keepends=True)[:5]))
    made = prospection("pairs", ours, theirs)
    assert "only 'pgr.jsonl' answers them: 1, for example 'quest:q5'" in made.stderr
    assert "5 pairs in pairs.jsonl" in made.stderr
    with Loopback(prefer_good) as server:
        judged = prospection("run", ours, theirs, "--model", "tiny", "--base-url", server.url, "--json")
    assert json.loads(judged.stdout)["rows"][0]["pairs"] == 5
    assert "only 'pgr.jsonl' answers them" in judged.stderr


def test_a_failed_call_is_said_and_kept() -> None:
    ours, theirs = answers("pgr", "good"), answers("mem0g", "bad")
    with Loopback(lambda chat: "not json at all") as server:
        failed = prospection("run", ours, theirs, "--model", "tiny", "--base-url", server.url, code=1)
    assert "12 of 12 calls failed; run the same again" in failed.stderr
    assert "No pair has been judged in both orders yet." in failed.stderr
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
