"""add, facts, recall, ask, trace, doctor, forget without a model: what a person sees, and what a program reads."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from click.testing import Result
from rich.cells import cell_len

from commands import CHAT, Run, data_of

QUERY = "Plan two weeks in Italy"


def test_add_tells_on_stderr_what_it_kept(run: Run) -> None:
    added = run("add", "chat.json", "--user", "ada", "--at", "2025-03-01")
    assert (added.exit_code, added.stdout) == (0, "")
    assert added.stderr == "2 facts from 1 conversation remembered for ada\n"
    again = run("add", "chat.json", "--user", "ada", "--at", "2025-03-01")
    assert (again.exit_code, again.stderr) == (0, "1 held nothing new\n")


def test_add_reads_standard_input_and_gives_json(run: Run) -> None:
    added = run("add", "-", "--at", "2025-03-01", "--session", "first", "--json", input=json.dumps(CHAT))
    (outcome,) = data_of(added)
    assert (outcome["outcome"], outcome["session"]) == ("stored", "first")
    assert [fact["fid"] for fact in outcome["facts"]] == ["f1", "f2"]
    assert added.stderr == ""


def test_what_is_queued_waits_for_retry(run: Run) -> None:
    queued = run("add", "chat.json", "--user", "ada", "--queue")
    assert queued.stderr == "1 stored, to be extracted by: prospection retry --user ada\n"
    assert data_of(run("doctor", "--json"))["unfinished"][0]["state"] == "pending"
    assert run("retry", "--user", "ada").stderr == "2 facts from 1 conversation remembered for ada\n"
    assert run("retry", "--user", "ada").stderr == "No conversation of ada waits or failed.\n"


def test_what_is_suggested_can_be_copied_into_a_shell(run: Run) -> None:
    name = "Ada O'Hara & sons; $(x)"

    def suggested(said: str) -> list[str]:
        return shlex.split(said.partition("prospection ")[2].splitlines()[0])

    assert suggested(run("facts", "--user", name).stderr) == ["add", "chat.json", "--user", name]
    assert suggested(run("trace", "--user", name).stderr) == ["recall", "QUERY", "--user", name]
    retry = suggested(run("add", "chat.json", "--user", name, "--queue").stderr)
    assert suggested(run("doctor").stdout.partition("To extract them: ")[2]) == retry
    assert "2 facts from 1 conversation remembered" in run(*retry).stderr


def test_facts_are_paged(ada: Run) -> None:
    first = ada("facts", "--user", "ada", "--limit", "1")
    assert "dialysis every Monday" in first.stdout
    assert first.stderr == "1 of 2; go on with --after f1\n"
    second = ada("facts", "--user", "ada", "--after", "f1")
    assert "dialysis" not in second.stdout
    assert "[2025-02-28]" in second.stdout
    assert second.stderr == ""
    nobody = ada("facts", "--user", "eve")
    assert (nobody.exit_code, nobody.stdout) == (0, "")
    assert "Nothing is remembered about eve" in nobody.stderr


def test_recall_ask_and_trace_tell_one_story(ada: Run) -> None:
    found = ada("recall", QUERY, "--user", "ada")
    assert "2 memories, most important first" in found.stdout
    assert "policy library, no model calls" in found.stdout
    assert found.stderr == ""
    context = ada("recall", QUERY, "--user", "ada", "--context").stdout
    asked = ada("ask", QUERY, "--user", "ada")
    assert asked.stdout == context
    assert context.startswith("<memory>\n")
    assert "No language model is set" in asked.stderr
    traces = data_of(ada("trace", "--user", "ada", "--json"))
    assert [trace["query"] for trace in traces] == [QUERY] * 3
    assert traces[0]["id"] in ada("trace", "--user", "ada").stdout
    assert QUERY in ada("trace", traces[0]["id"], "--user", "ada").stdout
    why = ada("trace", "--fact", "f1", "--user", "ada")
    assert "Returned at place" in why.stdout
    assert "imagined fact: " in why.stdout


def test_recall_as_it_stood_then(ada: Run) -> None:
    before = ada("recall", QUERY, "--user", "ada", "--at", "2024-01-01")
    assert before.exit_code == 0
    assert "Nothing in memory speaks to this request." in before.stdout
    assert data_of(ada("recall", QUERY, "--user", "ada", "--at", "2024-01-01", "--json"))["facts"] == []


@pytest.mark.parametrize(
    "command",
    [
        ("facts",),
        ("recall", QUERY, "--policy", "direct"),
        ("ask", QUERY, "--policy", "hybrid"),
        ("trace",),
        ("doctor",),
        ("retry",),
        ("forget", "--fact", "f1", "--yes"),
    ],
)
def test_readers_give_json_and_nothing_else(ada: Run, command: tuple[str, ...]) -> None:
    result = ada(*command, "--user", "ada", "--json")
    assert isinstance(data_of(result), dict | list)
    assert "\x1b" not in result.stdout


def test_doctor_says_how_things_are(ada: Run, run: Run) -> None:
    report = data_of(ada("doctor", "--json"))
    assert (report["encoder"], report["statistics"]["facts"], report["problems"]) == ("local", 2, [])
    shown = ada("doctor").stdout
    assert "memory.db" in shown
    assert "none; recall works without one" in shown
    assert "not made yet" in run("doctor", "--db", "other.db").stdout
    assert not Path("other.db").exists()


def test_doctor_warns_of_facts_that_the_encoder_cannot_read(ada: Run) -> None:
    assert data_of(ada("doctor", "--json"))["warnings"] == []
    here = ("--db", "other memory.db")
    for user, info in (
        ("ada", 'I am allergic to peanuts, "花生" in Chinese.'),
        ("ada", "我对花生过敏"),
        ("boris", "Я живу в Москве с 2019 года"),
        ("eva", "Ich bin allergisch gegen Erdnüsse."),
        ("eva", "Meine Mutter muss jeden Montag zur Dialyse."),
    ):
        assert ada("facts", "add", info, "--user", user, *here).exit_code == 0
    (warning,) = data_of(ada("doctor", "--json", *here))["warnings"]
    assert "4 of 5 facts are not in English" in warning
    assert "1 of 2 facts" in data_of(ada("doctor", "--user", "ada", "--json", *here))["warnings"][0]
    shown = ada("doctor", *here)
    assert (shown.exit_code, "Warning: 4 of 5 facts" in shown.stdout) == (0, True)
    command = shlex.split(warning.rpartition("then prospection ")[2])
    assert ada(*command).exit_code == 0
    assert data_of(ada("doctor", "--json", "--encoder", "multilingual", *here))["warnings"] == []


def test_doctor_names_the_problem_and_goes_on(ada: Run) -> None:
    wrong = ada("doctor", "--encoder", "multilingual", "--model", "openai:gpt-4o", "--json")
    assert wrong.exit_code == 1
    key, encoder = json.loads(wrong.stdout)["problems"]
    assert "OPENAI_API_KEY" in key
    assert "made by encoder 'minilm-l6-v2-int8'" in encoder
    assert "Problem: " in ada("doctor", "--model", "openai:gpt-4o").stdout


def test_forget_asks_first(ada: Run) -> None:
    kept = ada("forget", "--user", "ada", input="n\n")
    assert kept.exit_code == 1
    assert "Erase all of 'ada'?" in kept.stderr
    assert data_of(ada("forget", "--user", "ada", "--fact", "f1", "--yes", "--json"))["facts"] == 1
    assert ada("forget", "--user", "ada", input="y\n").exit_code == 0
    assert data_of(ada("doctor", "--json"))["statistics"]["users"] == 0


def _remember(run: Run, *texts: str) -> Result:
    chats = [{"messages": [{"role": "user", "content": text}]} for text in texts]
    Path("other.json").write_text(json.dumps(chats), encoding="utf-8")
    return run("add", "other.json", "--at", "2025-03-01")


def test_languages_and_odd_texts_are_shown_whole_and_harmless(run: Run) -> None:
    chinese = "我对花生过敏，所以每次出门吃饭之前都要先给餐馆打电话确认。" * 8
    arabic = "أعاني من حساسية شديدة تجاه الفول السوداني منذ الطفولة."
    odd = "I keep [bold]brackets[/] :smile: and \x1b[2J escapes in my notes because I collect them."
    assert _remember(run, chinese, arabic, odd).exit_code == 0
    facts = run("facts", env={"COLUMNS": "80"}).stdout
    assert "我对花生过敏" in facts
    assert "الفول السوداني" in facts
    assert "[bold]brackets[/] :smile:" in facts
    assert "\x1b" not in facts
    found = run("recall", "[/] :smile: x", env={"COLUMNS": "80"})
    assert found.exit_code == 0, found.exception
    assert "\x1b" not in found.stdout
    assert "[/] :smile: x" in run("trace").stdout


@pytest.mark.parametrize("columns", ["40", "80", "200"])
def test_lines_fit_the_terminal(ada: Run, columns: str) -> None:
    for command in (("facts",), ("recall", QUERY)):
        lines = ada(*command, "--user", "ada", env={"COLUMNS": columns}).stdout.splitlines()
        assert max(map(len, lines)) <= min(int(columns), 110)


@pytest.mark.parametrize("columns", ["60", "80"])
def test_wide_characters_fit_the_terminal_and_are_shown_whole(run: Run, columns: str) -> None:
    chinese = "我的母亲每周一和周三早上都要做透析，我开车送她去医院，这已经持续了三年，医院很远。"
    korean = "저는 매주 월요일에 어머니의 투석을 위해서 병원에 갑니다 그리고 매번 제가 직접 운전합니다."
    party = "I love 🎉🎂 birthday parties 🇨🇭 and 牡蛎 with my family every year in spring ✈️ at home 🚗🚙🚕."
    for info in (chinese, korean, party):
        assert run("facts", "add", info).exit_code == 0
    for command in (("facts",), ("recall", chinese), ("trace",)):
        shown = run(*command, env={"COLUMNS": columns}).stdout
        assert max(map(cell_len, shown.splitlines())) <= int(columns)
        whole = re.sub(r"[\s│]", "", shown)
        for info in (chinese,) if command == ("trace",) else (chinese, korean, party):
            assert re.sub(r"\s", "", info) in whole


def test_a_bare_day_is_that_day_in_every_list(run: Run, tmp_path: Path) -> None:
    chat = tmp_path / "chat.json"
    chat.write_text(json.dumps([{"role": "user", "content": "I am allergic to nuts and live in Seville."}]))
    assert run("add", str(chat), "--at", "2026-03-01", "--zone", "Europe/Madrid").exit_code == 0
    assert "2026-03-01" in run("facts").stdout
