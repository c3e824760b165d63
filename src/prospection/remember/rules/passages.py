"""The sentences of one message into passages that can be read alone.

In go a message of the person and the conversation before it; out come `Passage`s. Sentences not worth keeping part the
message. Of what is left, neighbours stay together when one leans on the other ("They ...", a fragment) or is too slight
to stand alone, and as long as the passage is short. A passage whose reference lies outside gets it in brackets: the
person whom "she" means, or the question that a bare answer answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from prospection.remember.rules.languages import Language
from prospection.remember.rules.pasted import pasted_parts
from prospection.remember.rules.persons import person_meant
from prospection.remember.rules.sentences import Sentence, split_sentences
from prospection.remember.rules.worth import ENOUGH, is_question, is_vague, points_of

__all__ = ["Passage", "find_passages"]

MAX_CHARS = 300
"""Longest passage, in characters; a single longer sentence is cut at a word."""
SOFT_CHARS = 190
"""Neighbours that could each stand alone stay together up to this length."""
MAX_CONTEXT = 110
"""Longest question that is put in brackets before a passage."""
MIN_WORDS = 8
"""A passage of fewer words has to be worth `ENOUGH`."""
PASTED_CHARS = 1500
"""A longer message is taken for pasted material unless `OWN_SHARE` of its sentences speak of the person."""
OWN_SHARE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """Neighbouring sentences of one message.

    Attributes:
        text: The statement as it is to be remembered.
        quote: The words it rests on, as they stand in the message.
    """

    text: str
    quote: str


@dataclass(frozen=True, slots=True)
class _Weighed:
    sentence: Sentence
    points: int | None
    leans: bool


def find_passages(message: str, *, asked: str, earlier: Sequence[str], language: Language | None) -> list[Passage]:
    """Find the passages of a message worth remembering, in order; `[]` when there are none.

    Args:
        message: What the person wrote.
        asked: What the assistant wrote just before; empty at the beginning of a conversation.
        earlier: What the person wrote before that, in order.
        language: The person's language in this conversation, or None for the general rules.
    """
    sentences = split_sentences(message)
    parts = pasted_parts(message)
    if _is_pasted([sentence for sentence in sentences if not _touches(sentence, parts)], language):
        return []
    weighed = [
        replace(item, points=None) if _touches(item.sentence, parts) else item for item in _weigh(sentences, language)
    ]
    found: list[Passage] = []
    for begin, end in _spans(weighed, language):
        group = weighed[begin:end]
        answers = begin == 0 and group[0].leans and _last_question(asked) is not None
        # What a lone sentence calls "it" stands nowhere; in a passage a neighbour may say.
        alone = len(group) == 1 and is_vague(group[0].sentence.text, language)
        if not _worth_keeping(group, bonus=answers - alone):
            continue
        start = group[0].sentence.start
        quote = message[start : group[-1].sentence.end]
        text = _joined(item.sentence.text for item in group)
        said = "\n".join([*earlier, message[:start]])
        context = person_meant(text, said) if language and language.code == "en" else None
        if context is None and group[0].leans and begin == 0:
            context = _question_before(text, asked, earlier, language)
        found.append(Passage(text=_tidy(text, context, language), quote=quote))
    return found


def _weigh(sentences: Sequence[Sentence], language: Language | None) -> list[_Weighed]:
    weighed: list[_Weighed] = []
    for place, sentence in enumerate(sentences):
        points = points_of(sentence.text, language)
        # "I trust her. You know why? She reads the file." - a little question on the way does not part what it joins.
        inside = language is not None and 0 < place < len(sentences) - 1
        if inside and is_question(sentence.text) and len(sentence.text.split()) <= 3:
            points = 0
        weighed.append(_Weighed(sentence, points, _leans(sentence.text, language)))
    return weighed


def _spans(weighed: Sequence[_Weighed], language: Language | None) -> list[tuple[int, int]]:
    """Return [begin, end) of each group of sentences that stay together."""
    spans: list[tuple[int, int]] = []
    begin = 0
    for place, item in enumerate(weighed):
        if item.points is None:
            if begin < place:
                spans.append((begin, place))
            begin = place + 1
        elif begin < place and not _together(weighed[begin:place], item, language):
            spans.append((begin, place))
            begin = place
    return [*spans, (begin, len(weighed))] if begin < len(weighed) else spans


def _together(group: Sequence[_Weighed], item: _Weighed, language: Language | None) -> bool:
    length = item.sentence.end - group[0].sentence.start
    if length > MAX_CHARS or (language and language.shift.match(item.sentence.text)):
        return False
    slight = (item.points or 0) < ENOUGH or all((each.points or 0) < ENOUGH for each in group)
    return item.leans or slight or length <= SOFT_CHARS


def _worth_keeping(group: Sequence[_Weighed], bonus: int) -> bool:
    points = [item.points or 0 for item in group]
    words = sum(len(item.sentence.text.split()) for item in group)
    return sum(points) + bonus >= ENOUGH or (max(points) + min(bonus, 0) >= ENOUGH - 1 and words >= MIN_WORDS)


def _leans(text: str, language: Language | None) -> bool:
    """Tell whether a sentence needs what came before it: it begins with a pronoun, or is a bare answer."""
    if language is None:
        return False
    short = len(text.split()) < 6 and not language.subject.match(text)
    return short or bool(language.leaning.match(text))


def _touches(sentence: Sentence, parts: Sequence[tuple[int, int]]) -> bool:
    return any(start < sentence.end and sentence.start < end for start, end in parts)


def _is_pasted(sentences: Sequence[Sentence], language: Language | None) -> bool:
    """Tell whether what nothing marks as pasted is so much, and speaks so little of the person, that it must be."""
    length = sum(len(sentence.text) for sentence in sentences)
    if language is None:  # who speaks cannot be told, so the length alone has to do
        return length > 2 * PASTED_CHARS
    own = sum(bool(language.subject.search(sentence.text)) for sentence in sentences)
    return length > PASTED_CHARS and own < OWN_SHARE * len(sentences)


def _question_before(text: str, asked: str, earlier: Sequence[str], language: Language | None) -> str | None:
    question = _last_question(asked)
    # "That is what I feared" takes up the person's own question when the assistant did not ask one.
    if question is None and earlier and language and language.leaning.match(text):
        question = _last_question(earlier[-1])
    return question if question and len(question) <= MAX_CONTEXT else None


def _last_question(text: str) -> str | None:
    questions = [sentence.text for sentence in split_sentences(text) if is_question(sentence.text)]
    return questions[-1] if questions else None


def _joined(texts: Iterable[str]) -> str:
    # Chinese and Japanese put no space after a full stop.
    return re.sub(r"(?<=[。！？]) ", "", " ".join(texts))


def _tidy(text: str, context: str | None, language: Language | None) -> str:
    filler = language.filler.match(text) if language else None
    if filler and len(text) - filler.end() > 20:
        text = text[filler.end() :]
        text = text[0].upper() + text[1:]
    if len(text) > MAX_CHARS:
        text = text[: MAX_CHARS - 2].rsplit(" ", 1)[0] + " …"
    return f"[{context}] {text}" if context else text
