"""LoCoMo's published layout: samples of a long conversation of two people, in dated sessions.

Each sample is a memory of its own, named by its `sample_id`. The person is `speaker_a` unless another speaker is named;
the other one takes the assistant's place, under their name. Pictures are left out and counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from prospection.exchange.conversations import (
    Conversation,
    Found,
    Importer,
    LeftOut,
    Opening,
    Reading,
    Skipped,
    local_instant,
    spoken,
)
from prospection.types import Message, Role

__all__ = ["IMPORTER"]

_SESSION = re.compile(r"session_(\d+)")
_DATE = "%I:%M %p on %d %B, %Y"


def _claims(opening: Opening) -> bool:
    return any(_conversation(value) for value in opening.values)


def _read(sample: Any, reading: Reading) -> Iterator[Found]:  # noqa: ANN401 - JSON data
    conversation = _conversation(sample)
    person = str(sample.get("sample_id") or "") if isinstance(sample, Mapping) else ""
    if not conversation or not person:
        yield Skipped(what=repr(sample)[:80], reason="not a conversation")
        return
    speakers = (conversation["speaker_a"], conversation.get("speaker_b"))
    speaker = reading.speaker or speakers[0]
    if speaker not in speakers:
        yield Skipped(what=f"{person} of {speakers[0]} and {speakers[1]}", reason="named speaker does not take part")
        return
    numbers = sorted(int(match[1]) for key in conversation if (match := _SESSION.fullmatch(key)))
    for number in numbers:
        name = f"{person}/session_{number}"
        left_out = LeftOut()
        turns = conversation[f"session_{number}"]
        messages = [found for turn in turns or () for found in _spoken(turn, speaker, left_out)]
        if messages:
            yield Conversation(
                id=name,
                at=local_instant(conversation.get(f"session_{number}_date_time"), _DATE, reading),
                messages=tuple(messages),
                left_out=left_out.counts(),
                person=person,
            )
        else:
            yield Skipped(what=name, reason="no message with words")


def _conversation(sample: object) -> Mapping[str, Any] | None:
    found = sample.get("conversation") if isinstance(sample, Mapping) else None
    return found if isinstance(found, Mapping) and isinstance(found.get("speaker_a"), str) else None


def _spoken(turn: Any, person: str, left_out: LeftOut) -> Iterator[Message]:  # noqa: ANN401 - JSON data
    left_out.add("attachment", bool(turn.get("img_url")))
    text, speaker = turn.get("text"), turn.get("speaker")
    if isinstance(text, str) and text.strip():
        role: Role = "user" if speaker == person else "assistant"
        yield spoken(role, text, name=speaker)


IMPORTER = Importer(name="locomo", title="LoCoMo", claims=_claims, read=_read)
