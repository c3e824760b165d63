"""The review of drafted requests: a Markdown file that a person edits, and what it comes to.

```
## q1
verdict: accept
query: Could you plan two weeks in Italy for me?
- f12 Ada's passport expires in May. (why: she cannot travel before it is renewed)
```

A verdict is accept, reject, or empty while it is open. To edit, change the words behind "query:", or take references
away, and accept. Only accepted requests go into the data set.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

from prospection.errors import InputError
from prospection.evaluation.building.layout import Folder, QuestQuery, QuestUser
from prospection.evaluation.building.planned import FEWEST
from prospection.evaluation.files import read_json

__all__ = ["Reviewed", "apply_review", "read_review", "write_draft", "write_review"]

Verdict = Literal["accept", "reject", ""]

HEAD = """# Requests over the memories of {user}

Write accept or reject behind each "verdict:". To edit a request, change the words behind "query:" or delete the line of
a reference that it does not need (three have to stay), and accept it. Then: prospection quest review FOLDER --apply
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewed:
    """A request and what the person says of it."""

    query: QuestQuery
    verdict: Verdict = ""


def write_draft(folder: Folder, draft: QuestUser) -> None:
    """Write a draft and its review, all open."""
    folder.write("draft.json", draft.model_dump_json(indent=1) + "\n")
    write_review(folder, draft, [Reviewed(query=query) for query in draft.queries])


def write_review(folder: Folder, draft: QuestUser, reviewed: Sequence[Reviewed]) -> None:
    """Write the review file.

    Raises:
        InputError: It cannot be written.
    """
    infos = _infos(draft)
    parts = [HEAD.format(user=draft.user_id)]
    for one in reviewed:
        query = one.query
        facts = [
            f"- {name} {' '.join(infos[name].split())} (why: {' '.join(query.why.get(name, '').split())})"
            for name in query.references
        ]
        parts.append(
            "\n".join([f"## {query.query_id}", f"verdict: {one.verdict}", f"query: {query.query}", *facts, ""])
        )
    folder.write("review.md", "\n".join(parts))


def read_review(folder: Folder) -> tuple[QuestUser, list[Reviewed]]:
    """Read the draft and what the person made of it.

    Raises:
        InputError: A file is missing, or the review is not laid out as it was written.
    """
    draft, file = read_json(folder.path / "draft.json", QuestUser), folder.path / "review.md"
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{str(file)!r} cannot be read: {error}; draft again with quest from-store") from error
    drafted = {query.query_id: query for query in draft.queries}
    sections = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    return draft, [_read_section(section, drafted) for section in sections]


def apply_review(folder: Folder) -> QuestUser:
    """Write the data set from the accepted requests of the review file; open and rejected ones stay out.

    Raises:
        InputError: As `read_review`.
    """
    draft, reviewed = read_review(folder)
    accepted = [one.query for one in reviewed if one.verdict == "accept"]
    user = draft.model_copy(update={"queries": accepted, "notes": []})
    folder.write_user(user)
    return user


def _read_section(section: str, drafted: dict[str, QuestQuery]) -> Reviewed:
    name, _, body = section.partition("\n")
    name = name.strip()
    query = drafted.get(name)
    if query is None:
        raise InputError(f"the review has a request {name!r} that the draft lacks; keep the headings as they are")
    said = dict(re.findall(r"^(verdict|query):[ \t]*(.*?)[ \t]*$", body, re.MULTILINE))
    verdict, words = said.get("verdict", "").lower(), said.get("query", "")
    if verdict not in {"accept", "reject", ""} or not words:
        raise InputError(f"request {name!r}: verdict {verdict!r}, query {words!r}; write accept or reject, and a query")
    kept = re.findall(r"^- (\S+)", body, re.MULTILINE)
    if unknown := [fact for fact in kept if fact not in query.references]:
        raise InputError(f"request {name!r} names {unknown[0]!r}, which was not drafted; only take references away")
    if verdict == "accept" and len(set(kept)) < FEWEST:
        raise InputError(f"request {name!r} is left with {len(set(kept))} references; keep {FEWEST} or reject it")
    references = [fact for fact in query.references if fact in kept]
    why = {fact: query.why[fact] for fact in references if fact in query.why}
    edited = query.model_copy(update={"query": words, "references": references, "why": why})
    return Reviewed(query=edited, verdict=cast("Verdict", verdict))


def _infos(user: QuestUser) -> dict[str, str]:
    return {fact.fact_id: fact.info for session in user.sessions for fact in session.facts}
