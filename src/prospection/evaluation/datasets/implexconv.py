r"""ImplexConv (Li et al., 2025): questions whose answer turns on something said in an unrelated conversation.

```
*_opposed / *_supportive .json  [{conversation: {conv_id: "Speaker1: ...\nAssistant: ..."},
                                  qa: [{question, answer, retrieved_conv_ids, opposed_implicit_reasoning?}]}]
*_retrieve_text.json            [[{question, ground_truth(_conv): [conversation], all_fact: [fact], ...}]]
```

The first is the data set: memory is made of turns, and every conversation of `retrieved_conv_ids` is needed, found by
any of its turns. The second is what the authors' own retrieval wrote down, with facts that they extracted: memory is
made of these facts, and a needed conversation is found by any fact most of whose words stand in it. Nothing is dated.
"""

from __future__ import annotations

import re
from collections.abc import Set
from pathlib import Path

from pydantic import AliasChoices, Field

from prospection.evaluation.cases import Dataset
from prospection.evaluation.datasets.conversations import (
    TURNS,
    Person,
    Question,
    ReadyFact,
    Reference,
    Talk,
    Turn,
    assemble,
)
from prospection.evaluation.datasets.locomo import is_locomo
from prospection.evaluation.datasets.published import first_holding, parse, read_items
from prospection.evaluation.datasets.words import content_words, share_said
from prospection.evaluation.files import Record

__all__ = ["find_implexconv", "load_implexconv"]

MOSTLY = 0.7
"""Share of a fact's words that have to stand in a conversation for the fact to have come from it."""

_LINE = re.compile(r"(?:^|\n)\s*(Speaker1|Assistant):")


class _Asked(Record):
    question: str
    answer: str | None = None
    retrieved_conv_ids: list[str] = Field(default_factory=list)
    opposed_implicit_reasoning: str | None = None


class _Example(Record):
    conversation: dict[str, str]
    qa: list[_Asked]


class _Retrieved(Record):
    question: str
    conversations: list[str] = Field(validation_alias=AliasChoices("ground_truth", "ground_truth_conv"))
    all_fact: list[str] | dict[str, list[str]]

    @property
    def facts(self) -> list[str]:
        groups = self.all_fact.values() if isinstance(self.all_fact, dict) else [self.all_fact]
        return list(dict.fromkeys(fact for group in groups for fact in group))


def find_implexconv(path: Path) -> Path | None:
    """Return the file of this layout at or under a path."""
    return first_holding(path, ".json", _is_example) or first_holding(path, ".json", _is_retrieved)


def _is_example(keys: Set[str]) -> bool:
    return keys >= {"conversation", "qa"} and not is_locomo(keys)


def _is_retrieved(keys: Set[str]) -> bool:
    return keys >= {"question", "all_fact"} and not keys.isdisjoint({"ground_truth", "ground_truth_conv"})


def load_implexconv(file: Path) -> Dataset:
    """Load a file of either layout.

    Raises:
        InputError: It cannot be read.
    """
    data = read_items(file)
    if data and isinstance(data[0], list):
        return _facts(file, parse(list[list[_Retrieved]], data, where=file))
    examples: list[_Example] = parse(list[_Example], data, where=file)
    return assemble(
        file.stem,
        [_person(f"person{number}", example) for number, example in enumerate(examples)],
        [
            Question(
                query_id=f"person{number}-q{place}",
                user_id=f"person{number}",
                query=qa.question,
                references=[Reference(session_id=session) for session in dict.fromkeys(qa.retrieved_conv_ids)],
                category="opposed" if qa.opposed_implicit_reasoning else "supportive",
                answer=qa.answer,
            )
            for number, example in enumerate(examples)
            for place, qa in enumerate(example.qa)
        ],
        notes=(TURNS,),
    )


def _person(name: str, example: _Example) -> Person:
    return Person(
        user_id=name,
        sessions=[Talk(session_id=key, turns=_turns(key, text)) for key, text in example.conversation.items()],
    )


def _turns(session: str, text: str) -> list[Turn]:
    _, *parts = _LINE.split(text)
    said = (part.strip(" ,\n") for part in parts[1::2])
    return [Turn(turn_id=f"{session}:{place}", text=text) for place, text in enumerate(said)]


def _facts(file: Path, people: list[list[_Retrieved]]) -> Dataset:
    ready, persons, questions = [], [], []
    for number, asked in enumerate(people):
        user = f"person{number}"
        persons.append(Person(user_id=user, sessions=[]))
        facts = list(dict.fromkeys(fact for one in asked for fact in one.facts))
        words = [content_words(fact) for fact in facts]
        conversations = list(dict.fromkeys(text for one in asked for text in one.conversations))
        sessions = {text: f"c{place}" for place, text in enumerate(conversations)}
        from_talk = {text: content_words(text) for text in conversations}
        for place, fact in enumerate(facts):
            sources = [sessions[text] for text in conversations if share_said(words[place], from_talk[text]) >= MOSTLY]
            ready.append(ReadyFact(user_id=user, fact_id=f"f{place}", text=fact, turn_ids=sources))
        questions += [
            Question(
                query_id=f"{user}-q{place}",
                user_id=user,
                query=one.question,
                references=[Reference(turn_ids=[sessions[text]]) for text in dict.fromkeys(one.conversations)],
            )
            for place, one in enumerate(asked)
        ]
    note = "Which fact came from which conversation is judged by shared words."
    return assemble(file.stem, persons, questions, ready, notes=(note,))
