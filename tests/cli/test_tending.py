"""facts by hand, review, consolidate and cues: what a person sees, and what a program reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assistant import CUE
from commands import Run, data_of, model_at, refused
from loopback import Chat, Loopback
from openai_protocol import Json

DOG = "Ada has a dog named Rex."
OLD = "Ada has a dog named Rex, 9 years old."


def test_a_fact_by_hand_heads_every_context(ada: Run) -> None:
    added = ada("facts", "add", "I am allergic to nuts.", "--pin", "--cue", "booking a table", "--user", "ada")
    assert (added.stdout, added.stderr) == ("f3  I am allergic to nuts.  (pinned)\n", "")
    first = data_of(ada("recall", "Plan two weeks in Italy", "--user", "ada", "--json"))["facts"][0]["fact"]
    assert (first["fid"], first["pinned"]) == ("f3", True)
    edited = data_of(ada("facts", "edit", "f3", "I am allergic to all nuts.", "--user", "ada", "--json"))
    assert (edited["fid"], edited["supersedes"], edited["pinned"]) == ("f4", ["f3"], True)
    assert [cue["text"] for cue in edited["cues"]] == ["booking a table"]
    assert ada("facts", "unpin", "f4", "--user", "ada").stdout == "f4  I am allergic to all nuts.  (in place of f3)\n"
    assert "pinned" in ada("facts", "pin", "f4", "--user", "ada").stdout
    assert "removed" in ada("facts", "remove", "f4", "--user", "ada").stdout
    assert "nuts" not in ada("facts", "--user", "ada").stdout
    assert "all nuts" in ada("facts", "--user", "ada", "--history").stdout
    assert [fact["fid"] for fact in data_of(ada("facts", "--user", "ada", "--json"))] == ["f1", "f2"]


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (["facts", "edit", "f9", "Anything."], "no fact 'f9'"),
        (["facts", "add", "  "], "is empty"),
        (["consolidate", "--undo", "f1"], "nothing to take back"),
        (["consolidate", "--undo", "f9"], "does not exist"),
        (["review", "nope"], "no session 'nope'"),
        (["cues", "backfill"], "a language model"),
    ],
)
def test_refusals_say_why(ada: Run, command: list[str], why: str) -> None:
    assert why in refused(ada(*command, "--user", "ada"))


def test_options_of_facts_come_after_its_commands(ada: Run) -> None:
    assert "after 'add'" in refused(ada("facts", "--user", "ada", "add", "I sing."), code=2)
    assert ada("facts", "add", "I sing.", env={"PROSPECTION_USER": "ada"}).stdout == "f3  I sing.\n"


def test_a_review_shows_what_a_conversation_did(run: Run) -> None:
    run("add", "chat.json", "--user", "ada", "--at", "2025-03-01", "--session", "first")
    shown = run("review", "first", "--user", "ada")
    assert "+ f1  My mother has dialysis" in shown.stdout
    assert "said: “My mother has dialysis" in shown.stdout
    assert shown.stderr == "2 facts of 2025-03-01; done\n"
    run("facts", "edit", "f1", "My mother has dialysis no more.", "--user", "ada")
    assert "now f3  My mother has dialysis no more." in run("review", "first", "--user", "ada").stdout
    found = data_of(run("review", "first", "--user", "ada", "--json"))
    assert [fact["change"] for fact in found["facts"]] == ["added", "added"]


def merging(chat: Chat) -> Json:
    wanted = (chat.schema or {}).get("properties", {})
    if "merges" in wanted:
        return {"merges": [{"group": 1, "statement": "Ada has a dog named Rex who is 9 years old.", "cues": [CUE]}]}
    return {"facts": [{"fact": number, "cues": [f"case {number}"]} for number in (1, 2)]}


def test_consolidate_previews_merges_and_takes_back(run: Run) -> None:
    for statement in (DOG, OLD):
        run("facts", "add", statement, "--user", "ada", "--kind", "identity")
    with Loopback(merging) as server:
        model = model_at(server.url)
        preview = run("consolidate", "--dry-run", "--user", "ada", *model)
        assert preview.stdout == f"together\n    f1  {DOG}\n    f2  {OLD}\n"
        assert server.chats == []
        done = run("consolidate", "--user", "ada", *model)
        assert done.stdout.startswith("f3  Ada has a dog named Rex who is 9 years old.\n    f1")
        assert "1 merged, 0 left apart; 2 new facts of 2" in done.stderr
        undone = run("consolidate", "--undo", "f3", "--user", "ada")
        assert undone.stdout == f"f1  {DOG}\nf2  {OLD}\n"
        again = data_of(run("consolidate", "--user", "ada", "--json", *model))
    assert (again["merges"], again["new"]) == ([], 0)


def test_cues_are_backfilled(run: Run, tmp_path: Path) -> None:
    for statement in ("Ada plays the kora.", "Oslo is cold."):
        run("facts", "add", statement, "--user", "ada")
    with Loopback(merging) as server:
        done = run("cues", "backfill", "--user", "ada", *model_at(server.url))
        assert done.stderr.startswith("2 facts have cues now, 0 still have none; 1 calls")
        again = data_of(run("cues", "backfill", "--user", "ada", "--json", *model_at(server.url)))
    assert (again["facts"], again["left"], len(server.chats)) == (0, 0, 1)
    facts = json.loads(run("facts", "--user", "ada", "--json").stdout)
    assert [[cue["text"] for cue in fact["cues"]] for fact in facts] == [["case 1"], ["case 2"]]
