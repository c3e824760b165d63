"""The folder that is built: users of the quest layout, their dialogues and cues, the recording, what it is made with.

```
FOLDER/userN.json             see `evaluation.datasets.quest`; also `topic`, `why`, and `notes` on what was dropped
FOLDER/dialogues/userN.json   {user_id, sessions: [{session_id, date, messages: [{role, content}]}]}
FOLDER/cues/userN.jsonl       {id: fact_id, cues: [text]}
FOLDER/building.json          model, encoder, settings and prompts
FOLDER/recording.jsonl        every reply that was paid for
```

A file appears whole or not at all. Nothing here asks a model.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pydantic import Field

from prospection.errors import InputError
from prospection.evaluation.files import Instant, Record
from prospection.evaluation.lines import mend, write_whole
from prospection.prompts import load_prompt

__all__ = ["Folder", "QuestFact", "QuestQuery", "QuestSession", "QuestUser"]


class QuestFact(Record):
    """A fact of a session."""

    fact_id: str
    info: str
    type: str | None = None
    entities: list[str] = Field(default_factory=list)


class QuestSession(Record):
    """An event of a timeline."""

    session_id: str
    date: Instant
    topic: str = ""
    facts: list[QuestFact]


class QuestQuery(Record):
    """A request, with the reason why it needs each reference."""

    query_id: str
    date: Instant
    query: str
    references: list[str]
    why: dict[str, str] = Field(default_factory=dict)


class QuestUser(Record):
    """A person. `notes` say what was dropped while building."""

    user_id: str
    persona: str = ""
    sessions: list[QuestSession]
    queries: list[QuestQuery] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)


class Folder:
    """A folder in which a benchmark is being built."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.recording = path / "recording.jsonl"

    def begin(self, made_with: dict[str, Any], prompts: Iterable[str]) -> None:
        """Make the folder, or go on in it.

        Args:
            made_with: Settings that decide what is built, as JSON data.
            prompts: Stages whose prompts decide it too.

        Raises:
            InputError: It cannot be written, or was begun with something else.
        """
        made_with = {**made_with, "prompts": {name: load_prompt(name).hash for name in prompts}}
        before = self.made_with()
        if before is not None and before != made_with:
            changed = sorted(key for key in before.keys() | made_with.keys() if before.get(key) != made_with.get(key))
            then, now = ([made.get(key) for key in changed] for made in (before, made_with))
            raise InputError(
                f"{str(self.path)!r} was begun with other {', '.join(changed)} ({then!r}, now {now!r}); "
                "go on with the same, or name another folder"
            )
        self.write("building.json", _pretty(made_with))
        mend(self.recording)

    def made_with(self) -> dict[str, Any] | None:
        """Return what the folder was begun with; None where nothing was begun.

        Raises:
            InputError: The file cannot be read.
        """
        file = self.path / "building.json"
        try:
            found: dict[str, Any] | None = json.loads(file.read_text(encoding="utf-8")) if file.exists() else None
        except (OSError, ValueError) as error:
            raise InputError(f"{str(file)!r} cannot be read: {error}; name another folder") from error
        return found

    def user_file(self, user: str) -> Path:
        """Return where a user stands, by a name that the loader finds and every file system takes."""
        name = quote(user, safe="")
        return self.path / f"{name if name.startswith('user') else f'user-{name}'}.json"

    def write_user(self, user: QuestUser) -> Path:
        """Write a user."""
        return self.write(self.user_file(user.user_id).name, _pretty(user.model_dump(mode="json")))

    def write_dialogues(self, user: str, sessions: list[dict[str, Any]]) -> None:
        """Write a user's conversations."""
        self.write(f"dialogues/{self.user_file(user).name}", _pretty({"user_id": user, "sessions": sessions}))

    def write_cues(self, user: str, cues: dict[str, list[str]]) -> None:
        """Write the cues of a user's facts by fact id."""
        lines = [json.dumps({"id": fact, "cues": texts}, ensure_ascii=False) + "\n" for fact, texts in cues.items()]
        self.write(f"cues/{self.user_file(user).stem}.jsonl", "".join(lines))

    def write(self, name: str, text: str) -> Path:
        """Write a file in place of one that is there.

        Raises:
            InputError: It cannot be written.
        """
        return write_whole(self.path / name, text)


def _pretty(data: object) -> str:
    return json.dumps(data, ensure_ascii=False, indent=1) + "\n"
