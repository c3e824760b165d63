r"""LoCoMo-Plus: something said in passing months ago (the cue), and a remark that only makes sense with it (the query).

```
locomo_plus.json   [{cue_dialogue: "A: ...\nB: ...", trigger_query: "A: ...", time_gap, relation_type}]
locomo10.json      the conversations that the cues are put into, in LoCoMo's layout, in the same folder
```

Item i belongs to conversation i modulo their number, as in the authors' unified input. The remark is made a week after
the last session, the cue is a session of its own as long before as `time_gap` says. A cue counts as found by either of
its lines. Other than there, all cues of a conversation stand in its memory at once, which makes it harder: a memory of
its own for each of 401 remarks would hold the same conversation forty times.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from prospection.errors import InputError
from prospection.evaluation.cases import Dataset
from prospection.evaluation.datasets.conversations import UNDATED, Person, Question, Reference, Talk, Turn, assemble
from prospection.evaluation.datasets.locomo import find_locomo, read_conversations, talks
from prospection.evaluation.datasets.published import first_holding, parse, read_items
from prospection.evaluation.files import Record

__all__ = ["days_ago", "find_locomo_plus", "load_locomo_plus"]

VAGUE = {"a": 1, "an": 1, "a couple of": 2, "couple of": 2, "a few": 3, "few": 3, "several": 3}
NUMBERS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
_GAP = re.compile(rf"\b(\d+|{'|'.join((*VAGUE, *NUMBERS))})\s+({'|'.join(DAYS)})s?\b")
_LINE = re.compile(r"(?:^|\n|\\n)\s*([AB]):\s*")


class _Item(Record):
    cue_dialogue: str
    trigger_query: str
    time_gap: str
    relation_type: str | None = None


def find_locomo_plus(path: Path) -> Path | None:
    """Return the file of this layout at or under a path."""
    return first_holding(path, ".json", {"cue_dialogue", "trigger_query"}.issubset)


def load_locomo_plus(file: Path) -> Dataset:
    """Load a file of this layout.

    Raises:
        InputError: It or the conversations beside it cannot be read, or they are missing.
    """
    items: list[_Item] = parse(list[_Item], read_items(file), where=file)
    beside = find_locomo(file.parent)
    if beside is None:
        raise InputError(f"{file} needs LoCoMo's conversations; put locomo10.json into the same folder")
    conversations = read_conversations(beside)
    speakers = {
        one.sample_id: [str(one.conversation.get(name, name)) for name in ("speaker_a", "speaker_b")]
        for one in conversations
    }
    people = {one.sample_id: talks(one, beside) for one in conversations}
    last = {user: max((talk.date for talk in own if talk.date), default=UNDATED) for user, own in people.items()}
    users = list(people)
    if not users:
        raise InputError(f"{beside} holds no conversation; download LoCoMo's locomo10.json again")
    questions = []
    for number, item in enumerate(items):
        user = users[number % len(users)]
        asked = last[user] + timedelta(days=7)
        cue = Talk(
            session_id=f"cue_{number}",
            date=_before(asked, item.time_gap, file),
            turns=_lines(item.cue_dialogue, f"cue_{number}", speakers[user]),
        )
        people[user].append(cue)
        questions.append(
            Question(
                query_id=f"plus-{number}",
                user_id=user,
                query=_LINE.sub("\n", item.trigger_query).strip(),
                query_date=asked,
                references=[Reference(session_id=cue.session_id)],
                category=item.relation_type,
            )
        )
    notes = ["All cues of a conversation stand in one memory; the authors give every query a memory of its own."]
    if undated := sum(not days_ago(item.time_gap) for item in items):
        notes.append(f"{undated} of {len(items)} time gaps name no length; their cues stand at the time of the remark.")
    return assemble(
        file.stem,
        [Person(user_id=user, sessions=own) for user, own in people.items()],
        questions,
        notes=notes,
    )


def _before(asked: datetime, gap: str, file: Path) -> datetime:
    try:
        return asked - timedelta(days=days_ago(gap))
    except OverflowError as error:
        raise InputError(f"{file}: time_gap {gap!r} is longer than the calendar; correct the file") from error


def days_ago(gap: str) -> int:
    """Read a gap such as "about two weeks later" as days.

    A month has 30 and a year 365; a couple is two, a few and several are three. 0 where no length is named.
    """
    found = _GAP.search(" ".join(gap.lower().split()))
    if found is None:
        return 0
    number, unit = found[1], found[2]
    count = int(number) if number.isdigit() else VAGUE.get(number) or NUMBERS.index(number) + 1
    return count * DAYS[unit]


def _lines(dialogue: str, session: str, speakers: Sequence[str]) -> list[Turn]:
    # Split gives the text before the first mark, then mark and text in turn.
    _, *parts = _LINE.split(dialogue)
    pairs = zip(parts[::2], parts[1::2], strict=True)
    return [
        Turn(turn_id=f"{session}:{place}", speaker=speakers["AB".index(mark)], text=text.strip())
        for place, (mark, text) in enumerate(pairs)
    ]
