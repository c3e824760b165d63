"""Bad input: each is one clear sentence on stderr and an exit code."""

from __future__ import annotations

import os
import re
import sqlite3
from pathlib import Path

import pytest

from commands import Run, data_of, model_at, refused
from loopback import Loopback

AT = ("--at", "2025-03-01")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "the file is empty"),
        (b"\xff\xfe\x00", "not text in UTF-8"),
        (b"Dear diary", "the file is not JSON"),
        (b'{"role": "user", "content": "hello"', "the file is not JSON"),
        (b"[]", "the conversation is empty"),
        (b"42", "42"),
        (b'{"title": "nothing in it"}', "is not a conversation"),
        (b'[{"content": "who says this?"}]', "has no 'role'"),
        (b'[{"role": "narrator", "content": "Once"}]', "unknown role 'narrator'"),
        (b'[{"role": "user", "content": "  "}]', "no message of the conversation holds text"),
    ],
)
def test_files_that_are_no_conversation(run: Run, tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / "bad.json").write_bytes(content)
    assert says in refused(run("add", "bad.json"))
    assert not (tmp_path / "memory.db").exists()


def test_standard_input_is_checked_the_same_way(run: Run) -> None:
    assert "not text in UTF-8" in refused(run("add", "-", input=b"\xff"))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("add", "nothing.json"), "there is no file 'nothing.json'"),
        (("add", "."), "'.' is a folder"),
        (("recall", "x", "--user", "nobody"), "user 'nobody' has no memory here"),
        (("ask", "x", "--user", "nobody"), "user 'nobody' has no memory here"),
        (("recall", "x", "--policy", "libary"), "unknown policy 'libary'; did you mean 'library'?"),
        (("recall", " "), "the query is empty"),
        (("recall", "\udcff"), "the query holds half a character"),
        (("add", "chat.json", "--at", "0001-01-01T00:00", "--zone", "Asia/Tokyo"), "outside of the years 1 to 9999"),
        (("recall", "x", "--user", " "), "user ' ' is empty"),
        (("recall", "x", "--encoder", "locl"), "unknown encoder 'locl'; did you mean 'local'?"),
        (("recall", "x", "--encoder", "x@nowhere"), "encoder 'x@nowhere' is not 'MODEL@URL'"),
        (("recall", "x", "--model", "opnai:gpt-4o"), "unknown language model 'opnai:gpt-4o'; did you mean 'openai:"),
        (("recall", "x", "--model", "openai:gpt-4o"), "set the environment variable OPENAI_API_KEY"),
        (("recall", "x", "--base-url", "http://127.0.0.1:1/v1"), "models.base_url is set without a language model"),
        (("recall", "x", "--model", "m", "--base-url", "nowhere"), "'nowhere' is not a web address"),
        (("recall", "x", "--policy", "pgr"), "needs a language model"),
        (("facts", "--db", "missing/memory.db"), "folder 'missing' is missing; create it"),
        (("facts", "--db", "."), "is a folder"),
        (("facts", "--db", "chat.json"), "not an SQLite database"),
        (("trace", "nothing"), "me has no trace 'nothing'"),
        (("trace", "--fact", "f1"), "me has no traces"),
        (("eval", "recall", "missing"), "'missing' does not exist"),
        (("eval", "recall", "."), "is not a data set"),
    ],
)
def test_refusals(ada: Run, arguments: tuple[str, ...], says: str) -> None:
    user = () if "--user" in arguments or arguments[0] in {"add", "trace", "eval"} else ("--user", "ada")
    assert says in refused(ada(*arguments, *user))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "Missing argument 'QUERY'"),
        (("x", "--at", "tomorrow"), "'tomorrow' is not a time"),
        (("x", "--at", "2025-01-01", "--zone", "Swiss"), "'Swiss' is not a time zone"),
        (("x", "--max-calls", "-1"), "-1"),
        (("x", "--deadline", "0"), "0"),
        (("x", "--limit", "none"), "'none'"),
        (("x", "--colour"), "--colour"),
    ],
)
def test_wrong_usage(ada: Run, arguments: tuple[str, ...], says: str) -> None:
    assert says in refused(ada("recall", *arguments), code=2)


def test_wrong_commands(run: Run) -> None:
    assert "there is no command 'recal'; did you mean 'recall'?" in refused(run("recal"), code=2)
    assert "known: add, ask" in refused(run("xyz"), code=2)
    (folder := Path("two.json")).write_text(
        '[{"messages": [{"role": "user", "content": "a"}]}, {"messages": [{"role": "user", "content": "b"}]}]'
    )
    assert "holds 2 conversations" in refused(run("add", str(folder), "--session", "s"), code=2)
    assert "choose from 1 to 8" in refused(run("demo", "--request", "9"), code=2)


def test_settings(run: Run, tmp_path: Path) -> None:
    misspelt = {"PROSPECTION_MODELS__CHATT": "x"}
    assert "unknown setting 'chatt'; did you mean 'chat'?" in refused(run("facts", env=misspelt))
    assert "recall.limit = '0'" in refused(run("facts", env={"PROSPECTION_RECALL__LIMIT": "0"}))
    (tmp_path / "prospection.toml").write_text("[recall]\nlimt = 3\n")
    assert "unknown setting 'limt'; did you mean 'limit'?" in refused(run("facts"))
    (tmp_path / "prospection.toml").write_text("[recall\n")
    assert "prospection.toml cannot be read" in refused(run("facts"))
    assert "names 'none.toml'" in refused(run("facts", env={"PROSPECTION_CONFIG": "none.toml"}))


def test_another_encoder(ada: Run, server: Loopback) -> None:
    says = refused(ada("recall", "x", "--user", "ada", "--encoder", f"words@{server.url}"))
    assert re.search(r"made by encoder 'minilm.*cannot be compared with those of 'compatible:words'", says)
    assert "open it with encoder 'minilm-l6-v2-int8'" in says


def test_a_newer_database(ada: Run, tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "memory.db")
    connection.execute("INSERT INTO migrations VALUES (99, 'from_the_future')")
    connection.commit()
    connection.close()
    assert "upgrade prospection" in refused(ada("facts", "--user", "ada"))


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a folder in which nobody may make a file")
def test_a_folder_that_cannot_be_written_to(run: Run) -> None:
    assert "check that the folder exists and may be written to" in refused(
        run("add", "chat.json", "--db", "/proc/m.db")
    )


@pytest.mark.parametrize("mode", ["file", "folder", "both"])
def test_a_read_only_memory_is_read_all_the_same(ada: Run, tmp_path: Path, mode: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "memory.db").rename(locked := home / "memory.db")
    locked.chmod(0o444 if mode != "folder" else 0o644)
    home.chmod(0o555 if mode != "file" else 0o755)
    here = ("--db", str(locked), "--user", "ada")
    try:
        if os.access(locked if mode == "file" else home, os.W_OK):
            pytest.skip("root may write everywhere")
        assert "writable" in refused(ada("add", "chat.json", *here))
        assert data_of(ada("facts", "--json", *here))
        for command in (("recall", "--context"), ("ask",)):
            found = ada(*command, "Plan two weeks in Italy", *here)
            assert (found.exit_code, "dialysis" in found.stdout) == (0, True), found.output
            assert "The trace of this recall was not kept" in found.stderr
        assert "was not kept" in ada("recall", "Plan two weeks in Italy", *here).stdout
    finally:
        home.chmod(0o755)


def test_an_unreachable_endpoint(ada: Run) -> None:
    nowhere = model_at("http://127.0.0.1:9/v1")
    calm = {"PROSPECTION_MODELS__RETRIES": "0"}
    says = refused(ada("ask", "x", "--user", "ada", *nowhere, env=calm))
    assert "no usable answer from http://127.0.0.1:9/v1" in says
    assert "check that the server runs and that the URL is right" in says


def test_a_wrong_key(ada: Run) -> None:
    with Loopback(key="right") as server:
        says = refused(ada("ask", "x", "--user", "ada", *model_at(server.url), env={"OPENAI_API_KEY": "wrong"}))
        assert "HTTP 401: Incorrect API key provided" in says
        assert "check the key in the environment variable OPENAI_API_KEY" in says
        assert len(server.requests) == 1
