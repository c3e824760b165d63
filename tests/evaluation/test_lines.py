"""What a kill, or a second process, finds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from prospection.errors import InputError
from prospection.evaluation.lines import append_line, held, mend, write_whole

HOLD = """
import sys
from pathlib import Path
from prospection.evaluation.lines import held
with held(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_a_line_that_was_cut_short_is_taken_off(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    append_line(path, "one")
    with path.open("a") as file:
        file.write('{"cut sh')
    mend(path)
    append_line(path, "two")
    assert path.read_text() == "one\ntwo\n"
    mend(path)
    assert path.read_text() == "one\ntwo\n"
    mend(tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = write_whole(tmp_path / "new" / "manifest.json", "one")
    write_whole(path, "two")
    assert path.read_text() == "two"
    assert [file.name for file in path.parent.iterdir()] == ["manifest.json"]


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for attempt in (write_whole, append_line):
        with pytest.raises(InputError, match="cannot be written: "):
            attempt(tmp_path / "file" / "below", "text")
    with pytest.raises(InputError, match=r"cannot be written: .*name another folder"), held(tmp_path / "file"):
        pass


def test_one_process_holds_a_folder_until_it_ends(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(InputError, match=r"another process works in .*; wait until it ends"), held(tmp_path):
            pass
        other.kill()
    with held(tmp_path):
        pass
