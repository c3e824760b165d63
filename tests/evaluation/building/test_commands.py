"""`prospection quest` at the command line, with a model over real HTTP."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from building import DAYS
from loopback import Chat, Loopback
from prospection.cli import cli

FACTS = (
    "Her passport runs out in March",
    "Her mother has dialysis every Monday",
    "Hazelnuts close her throat",
)
QUERY = "Could you sketch our summer holiday, day by day?"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PROSPECTION_STORE__PATH", "memory.db")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def quest(*arguments: str, code: int = 0, typed: str = "") -> Result:
    result = CliRunner().invoke(cli, ["quest", *arguments], input=typed)
    assert result.exit_code == code, (result.output, result.exception)
    return result


def novel(chat: Chat) -> Any:
    """Write a benchmark over HTTP."""
    wanted = (chat.schema or {}).get("properties", {})
    if "events" in wanted:
        days = ["2025-01-01", *DAYS, "2025-05-01"]
        return {
            "events": [
                {"date": day, "topic": "Life", "summary": "Talk", "references": [n] if 1 <= n <= 3 else []}
                for n, day in enumerate(days)
            ]
        }
    if "turns" in wanted:
        said = re.findall(r"^- (.+)$", chat.user, re.MULTILINE) or ["It rains"]
        return {"turns": [{"role": "user", "text": text} for text in [*said, "And so on", "Well", "Yes", "Bye"]]}
    if "facts" in wanted:
        said = re.findall(r"^\[\d+\] user: (.+)$", chat.user, re.MULTILINE)
        return {"facts": [{"info": text, "type": "Event"} for text in said]}
    if "numbered" in chat.system or "[1] 2" in chat.user:
        good = {"query": QUERY, "references": [{"fact": n, "why": f"reason {n}"} for n in (1, 2, 3)]}
        second = {**good, "query": "What should I pack and arrange before we leave?"}
        return {"queries": [good, second, {"query": "Bad", "references": [{"fact": 9, "why": "none"}]}]}
    references = [{"info": fact, "date": day, "why": "it matters"} for fact, day in zip(FACTS, DAYS, strict=True)]
    return {"queries": [{"query": QUERY, "date": "2025-06-01", "references": references}]}


def test_build_stop_go_on_and_validate() -> None:
    Path("people.json").write_text('{"user_id": "ada", "persona": "A planner"}')
    with Loopback(novel) as server:
        model = ("--model", "tiny", "--base-url", server.url, "--queries", "1", "--out", "quest")
        stopped = quest("build", "people.json", *model, "--until", "2025-12-31", "--max-calls", "5", code=1)
        assert "raise it and resume" in stopped.stderr
        assert len(server.chats) == 5
        done = quest("build", "people.json", *model)  # the last day is that of the first time
        assert len(server.chats) == 12
    assert "1 requests, 5 conversations" in done.stderr
    found = json.loads(quest("validate", "quest", "--json").stdout)
    assert (found["users"], found["queries"], found["references"], found["faults"]) == (1, 1, 3, [])
    assert len(found["deciles"]) == 11
    measured = CliRunner().invoke(cli, ["eval", "recall", "quest", "--policy", "direct", "--json"])
    assert measured.exit_code == 0, measured.output


def test_without_a_model_nothing_is_built() -> None:
    Path("people.json").write_text('{"user_id": "ada", "persona": "A planner"}')
    assert "--model" in quest("build", "people.json", "--out", "quest", code=2).stderr


@pytest.fixture(scope="module")
def draft(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A draft over Ada's three facts, made once."""
    folder = tmp_path_factory.mktemp("draft")
    with pytest.MonkeyPatch.context() as patch, Loopback(novel) as server:
        patch.chdir(folder)
        patch.setenv("PROSPECTION_STORE__PATH", "memory.db")
        for fact in FACTS:
            added = CliRunner().invoke(cli, ["facts", "add", fact, "--user", "ada"])
            assert added.exit_code == 0, added.output
        ask = ("from-store", "--user", "ada", "--out", "own", "--model", "tiny", "--base-url", server.url)
        assert "3 facts of 'ada' go to tiny and nowhere else" in quest(*ask, "--queries", "2").stderr
        assert "holds a draft already" in quest(*ask, "--queries", "2", code=1).stderr
        assert len(server.chats) == 1
    return folder / "own"


@pytest.fixture
def drafted(draft: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(draft, tmp_path / "own"))


def test_a_review_without_a_terminal_says_what_to_do(drafted: Path) -> None:
    command = [sys.executable, "-c", "from prospection.cli import main; main()", "quest", "review", str(drafted)]
    done = subprocess.run(  # a session of its own has no terminal
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, start_new_session=True, check=False
    )
    assert done.returncode == 1
    assert "there is no terminal to ask; edit the review file and add --apply" in done.stderr
    assert "Traceback" not in done.stderr


def test_only_accepted_requests_go_into_the_data_set(drafted: Path) -> None:
    first = quest("review", "own", typed="xyq")
    assert QUERY in first.stdout
    assert "why: reason 1" in first.stdout
    user = json.loads((drafted / "user-ada.json").read_text())
    assert [query["query"] for query in user["queries"]] == [QUERY]
    quest("review", "own", typed="eWhat must be settled before departure?\n")
    user = json.loads((drafted / "user-ada.json").read_text())
    assert [query["query"] for query in user["queries"]] == [QUERY, "What must be settled before departure?"]
    assert "1 " in quest("validate", "own").stdout
    assert QUERY not in quest("review", "own").stdout  # nothing is open any more


def test_the_edited_file_is_applied(drafted: Path) -> None:
    file = drafted / "review.md"
    drafted_text = file.read_text()
    file.write_text(drafted_text.replace("verdict: ", "verdict: reject", 1))
    assert "0 requests accepted" in quest("review", "own", "--apply").stderr
    assert "there are no queries" in quest("validate", "own", code=1).stderr
    file.write_text(drafted_text.replace("verdict: ", "verdict: accept").replace(QUERY, "Sketch our summer?"))
    assert "2 requests accepted" in quest("review", "own", "--apply").stderr
    assert "Sketch our summer?" in (drafted / "user-ada.json").read_text()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("verdict: ", "verdict: perhaps", "write accept or reject"),
        ("## q1", "## q9", "the draft lacks"),
        ("- f1 ", "- f7 ", "only take references away"),
        ("- f1 ", "f1 ", "left with 2 references"),
    ],
)
def test_a_review_that_cannot_be_read(drafted: Path, old: str, new: str, message: str) -> None:
    file = drafted / "review.md"
    text = file.read_text() if "verdict" in old else file.read_text().replace("verdict: ", "verdict: accept")
    file.write_text(text.replace(old, new))
    assert message in quest("review", "own", "--apply", code=1).stderr


def test_too_small_a_memory_is_refused() -> None:
    CliRunner().invoke(cli, ["facts", "add", FACTS[0], "--user", "ada"])
    with Loopback(novel) as server:
        model = ("--model", "tiny", "--base-url", server.url)
        assert "needs 3" in quest("from-store", "--user", "ada", "--out", "own", *model, code=1).stderr
        assert server.chats == []
