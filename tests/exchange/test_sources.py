"""The files of an export: a file, a folder, an archive."""

from __future__ import annotations

import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from prospection.errors import InputError
from prospection.exchange.sources import open_parts


def contents(path: Path) -> dict[str, bytes]:
    with open_parts(path) as parts:
        found = {}
        for part in parts:
            for _ in range(2):  # as often as need be
                with part.open() as file:
                    found[part.name] = file.read()
            assert part.size == len(found[part.name])
        return found


def pack(path: Path, **members: str) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(zipfile.ZipInfo(name.replace("__", "/"), (2025, 3, 1, 9, 30, 0)), text)
    return path


def test_one_file_is_itself_whatever_its_name(tmp_path: Path) -> None:
    (tmp_path / "chat").write_text("x", encoding="utf-8")
    assert contents(tmp_path / "chat") == {"chat": b"x"}


def test_of_an_account_export_only_the_conversations_are_read(tmp_path: Path) -> None:
    for name in ("conversations-001.json", "conversations-000.json", "user.json", "shared_conversations.json"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    assert list(contents(tmp_path)) == ["conversations-000.json", "conversations-001.json"]


def test_of_other_folders_everything_readable(tmp_path: Path) -> None:
    (tmp_path / "2025" / ".git").mkdir(parents=True)
    for name in ("b.md", "a.jsonl", "photo.png", "2025/c.TXT", ".hidden.md", "2025/.git/d.md"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    assert list(contents(tmp_path)) == ["2025/c.TXT", "a.jsonl", "b.md"]


def test_an_archive_is_unpacked_where_nobody_sees_it(tmp_path: Path) -> None:
    path = pack(
        tmp_path / "export.zip", export__conversations_json="", **{"x/conversations.json": "[1]", "user.json": "{}"}
    )
    assert contents(path) == {"x/conversations.json": b"[1]"}
    with open_parts(path) as (part,):
        assert part.modified == datetime(2025, 3, 1, 9, 30, tzinfo=UTC)
    assert [file.name for file in tmp_path.iterdir()] == ["export.zip"]


def test_what_cannot_be_used_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no file"):
        contents(tmp_path / "gone.json")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"holds no conversations\.json"):
        contents(tmp_path / "empty")
    whole = pack(tmp_path / "export.zip", **{"conversations.json": "[" + "1," * 5000 + "1]"}).read_bytes()
    (tmp_path / "damaged.zip").write_bytes(whole[:60] + b"\0\0\0\0" + whole[64:])
    with pytest.raises(InputError, match="damaged"):
        contents(tmp_path / "damaged.zip")
