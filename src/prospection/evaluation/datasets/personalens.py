"""PersonaLens (Zhao et al., 2025): people's preferences by domain, and tasks that need several of them.

```
.../userN/profile.json    {affinities: {domain: {type: value | [value]}}, demographics, interactions, ...}
.../userN/tasks_md.json   {"Task 1": {task_id, "User Intent", "Relevant Domains", "Relevant Affinity Types"}}
                          tasks.json, the tasks of a single domain, where nobody has others
```

Memory is made of one fact a preference: "Books - Genre: fantasy, thriller". A task asks with its "User Intent" and
needs the preferences of its relevant domains and types. Tasks of one and of several domains differ in how hard they
are, so that all people have the one kind or the other: who has no file of it asks nothing. Nothing is dated. Intents
name many preferences by their type, so that similarity does well here: the set tests breadth, not distance.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from prospection.evaluation.cases import Dataset
from prospection.evaluation.datasets.conversations import Person, Question, ReadyFact, Reference, assemble
from prospection.evaluation.datasets.published import once, parse, read_any_json
from prospection.evaluation.files import Record

__all__ = ["find_personalens", "load_personalens"]

TASKS = ("tasks_md.json", "tasks.json")
"""Files of tasks: of the first kind that anybody has."""

LEVELS = ("", "*/", "*/*/")
"""Folders between the one that is passed and that of a person."""


class _Task(Record):
    task_id: str
    intent: str = Field(alias="User Intent")
    domains: list[str] = Field(alias="Relevant Domains")
    types: list[str] = Field(alias="Relevant Affinity Types")


class _Profile(Record):
    affinities: dict[str, dict[str, str | list[str]]]


def find_personalens(path: Path) -> Path | None:
    """Return the folder when people of this layout stand in it or below."""
    return path if path.is_dir() and _profiles(path) else None


def load_personalens(folder: Path) -> Dataset:
    """Load all people of a folder.

    Raises:
        InputError: A file cannot be read.
    """
    profiles = _profiles(folder)
    kind = next((name for name in TASKS if any(_tasks_files(folder, file.parent, name) for file in profiles)), TASKS[0])
    without = 0
    people, facts, questions = [], [], []
    for file in profiles:
        user = file.parent.name
        profile: _Profile = parse(_Profile, read_any_json(file), where=file)
        people.append(Person(user_id=user, sessions=[]))
        facts += [
            ReadyFact(
                user_id=user,
                fact_id=_id(domain, kind),
                text=f"{domain} - {kind}: {value if isinstance(value, str) else ', '.join(value)}",
                session_id=domain,
            )
            for domain, affinities in profile.affinities.items()
            for kind, value in affinities.items()
            if value
        ]
        tasks_files = _tasks_files(folder, file.parent, kind)
        without += not tasks_files
        for tasks_file in tasks_files[:1]:
            tasks: dict[str, _Task] = parse(dict[str, _Task], read_any_json(tasks_file), where=tasks_file)
            once([task.task_id for task in tasks.values()], "task", tasks_file)
            questions += [_question(user, task, profile) for task in tasks.values()]
    notes = [f"{without} of {len(profiles)} people have no {kind} and ask nothing."] if without else []
    return assemble(folder.resolve().name, people, questions, facts, notes=notes)


def _profiles(folder: Path) -> list[Path]:
    return sorted(file for level in LEVELS for file in folder.glob(f"{level}*/profile.json"))


def _tasks_files(folder: Path, user: Path, name: str) -> list[Path]:
    # In the published tree profiles and tasks of a person may stand in two folders of the same name.
    files = (user / name, *(file for level in LEVELS for file in sorted(folder.glob(f"{level}{user.name}/{name}"))))
    return [file for file in files if file.is_file()]


def _question(user: str, task: _Task, profile: _Profile) -> Question:
    return Question(
        query_id=f"{user}-{task.task_id}",
        user_id=user,
        query=task.intent,
        references=[
            Reference(fact_id=_id(domain, kind))
            for domain in task.domains
            for kind in task.types
            if profile.affinities.get(domain, {}).get(kind)
        ],
        category="multi-domain" if len(task.domains) > 1 else "single-domain",
    )


def _id(domain: str, kind: str) -> str:
    return f"{domain}/{kind}"
