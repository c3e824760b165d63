"""`eval extraction`, with the local encoder, and with a model over HTTP."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from commands import Run, data_of, model_at
from loopback import Chat, Loopback, Status

GOLD = ("User is allergic to hazelnuts since childhood.", "User moved to Bern on 2 April 2025.")
SAID = "Thanks! I've been allergic to hazelnuts since childhood. What is the capital of Peru?"
MOVED = "On 2 April 2025 I moved to Bern."


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """One person with two sessions; the second gives a dated fact."""
    (tmp_path / "gold" / "dialogues").mkdir(parents=True)
    sessions = [
        {"session_id": f"s{n}", "date": "2025-04-10", "facts": [{"fact_id": f"f{n}", "info": text, "type": kind}]}
        for n, (text, kind) in enumerate(zip(GOLD, ("Identity", "Event"), strict=True), 1)
    ]
    query = {"query_id": "q1", "date": "2025-05-01", "query": "Bake me a cake", "references": ["f1"]}
    user = {"user_id": "user1", "sessions": sessions, "queries": [query]}
    said = [
        {"session_id": f"s{n}", "date": "2025-04-10", "time": "18:00", "messages": [{"role": "user", "content": text}]}
        for n, text in enumerate((SAID, MOVED), 1)
    ]
    (tmp_path / "gold" / "user1.json").write_text(json.dumps(user))
    (tmp_path / "gold" / "dialogues" / "user1.json").write_text(json.dumps({"user_id": "user1", "sessions": said}))
    return str(tmp_path / "gold")


def model(chat: Chat) -> dict[str, object] | Status:
    """Extracts a stranger's fact from the first session; judges by whether "allergic" is said."""
    if "<statements>" not in chat.user:
        return {"facts": [{"info": "User is allergic to hazelnuts.", "type": "Identity"}]}
    told = chat.user.partition("<facts>")[2].partition("</facts>")[0]
    statements = len(re.findall(r"^\d+\. ", chat.user.partition("<statements>")[2], re.MULTILINE))
    says = [1] if "allergic" in told else []
    return {"statements": [{"statement": n + 1, "says": says, "small_talk": not says} for n in range(statements)]}


def test_rules_are_measured_without_a_model(run: Run, folder: str) -> None:
    found = data_of(run("eval", "extraction", folder, "--zone", "Europe/Zurich", "--json"))
    assert (found["people"], found["sessions"], found["facts"], found["usage"]) == (1, 2, 2, {})
    (rules,) = found["extractors"].values()
    assert (rules["statements"], rules["coverage"], rules["precision"]) == (2, 1.0, 1.0)
    assert (rules["dated"], rules["wrong_dates"], rules["dates"], rules["needed"]) == (1.0, 0, 1, [1, 1])


def test_the_table_states_thresholds_and_lists_what_to_read(run: Run, folder: str) -> None:
    shown = run("eval", "extraction", folder, "--show")
    assert shown.exit_code == 0, shown.output
    assert "gold: 2 gold facts in 2 sessions of 1 person" in shown.stdout
    assert "0.55" in shown.stdout
    assert "--- user1: gold facts that no statement says" in shown.stdout


def test_with_a_model_it_extracts_and_judges_both(run: Run, folder: str) -> None:
    with Loopback(model) as server:
        found = data_of(run("eval", "extraction", folder, "--json", *model_at(server.url)))
    names = list(found["extractors"])
    assert len(names) == 4
    assert names[:2] == ["rules", "rules, judged"]
    judged = found["extractors"]["rules, judged"]
    assert (judged["coverage"], judged["precision"], judged["small_talk"]) == (0.5, 0.5, 0.5)
    by_model = found["extractors"][names[2]]
    assert (by_model["statements"], by_model["types"]) == (2, 1.0)
    assert found["usage"]["extraction"]["calls"] == 2
    assert found["usage"]["judging"]["calls"] == 4


def test_a_judge_that_skips_a_statement_has_not_judged(run: Run, folder: str) -> None:
    def careless(chat: Chat) -> dict[str, object]:
        return {"statements": []} if "<statements>" in chat.user else {"facts": []}

    with Loopback(careless) as server:
        found = data_of(run("eval", "extraction", folder, "--json", *model_at(server.url)))
    assert found["extractors"]["rules, judged"]["precision"] is None
    assert any("the session is left unjudged" in note for note in found["notes"])


def test_a_session_that_the_model_fails_on_is_a_note(run: Run, folder: str) -> None:
    def broken(chat: Chat) -> dict[str, object] | Status:
        return Status(400, "no") if "Peru" in chat.user else {"facts": []}

    with Loopback(broken) as server:
        found = data_of(run("eval", "extraction", folder, "--json", *model_at(server.url)))
    assert any("nothing from user1, s1" in note for note in found["notes"])


def test_a_refused_key_ends_it(run: Run, folder: str) -> None:
    with Loopback(model, key="secret") as server:
        refused = run("eval", "extraction", folder, *model_at(server.url))
    assert refused.exit_code == 1


def test_a_folder_without_conversations_is_refused(run: Run, data: str) -> None:
    refused = run("eval", "extraction", data)
    assert refused.exit_code == 1
    assert "dialogues/" in refused.stderr
