"""Matching without a model, dates and figures, on worked examples."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from prospection.evaluation.cases import EvalFact
from prospection.evaluation.extraction.dates import agrees, names_date
from prospection.evaluation.extraction.figures import Compared, figures_of
from prospection.evaluation.extraction.matching import first_person, matches_of, repeats_of, strays_of
from prospection.evaluation.extraction.sessions import Person
from prospection.evaluation.extraction.statements import Extracted
from prospection.types import Candidate, EventTime, FactType, Message, Precision, Session

AT = datetime(2025, 3, 1, tzinfo=UTC)


def day(year: int, month: int, number: int, *, zone: str | None = None) -> EventTime:
    start = datetime(year, month, number, tzinfo=UTC)
    return EventTime(start=start, end=start + timedelta(days=1), precision=Precision.DAY, zone=zone)


def test_a_near_one_matches_and_a_close_one_with_shared_words() -> None:
    gold = ["I sold my bicycle to Cem.", "I collect ticket stubs."]
    found = ["The bicycle is gone.", "Cem has my bicycle, it is sold.", "Stubs of tickets, collected."]
    similarity = np.array([[0.56, 0.45, 0.1], [0.1, 0.1, 0.45]], dtype=np.float32)
    same = np.ones_like(similarity, dtype=np.bool_)
    assert matches_of(gold, found, similarity, same).tolist() == [[True, True, False], [False, False, False]]
    same[0, 0] = False
    assert not matches_of(gold, found, similarity, same)[0, 0]


def test_a_repeat_is_the_later_one_of_the_same_session() -> None:
    vectors = np.array([[1, 0], [1, 0], [1, 0], [0, 1]], dtype=np.float32)
    assert repeats_of(vectors, ["a", "a", "b", "b"]).tolist() == [False, True, False, False]
    assert repeats_of(np.zeros((0, 2), dtype=np.float32), []).tolist() == []


def test_small_talk_is_far_from_every_gold_fact_of_its_session() -> None:
    similarity = np.array([[0.1, 0.5, 0.9]], dtype=np.float32)
    same = np.array([[True, True, False]])
    assert strays_of(similarity, same, np.zeros_like(same)).tolist() == [True, False, True]


def test_gold_is_put_into_the_first_person() -> None:
    assert first_person("User's niece told User.") == "My niece told I."


@pytest.mark.parametrize(
    ("event", "gold", "agreed"),
    [
        (day(2025, 10, 14), "User testifies on 14 October 2025.", True),
        (day(2024, 10, 14), "User testifies on 14 October 2025.", False),
        (day(2025, 4, 2), "User goes along since 2 April.", True),
        (day(2025, 4, 3), "User goes along since 2 April.", False),
        (day(2025, 8, 5), "The line is shut from 2 to 24 August 2025.", True),
        (day(2025, 8, 25), "The line is shut from 2 to 24 August 2025.", False),
        (day(2022, 5, 1), "User has been deaf since 2022.", True),
        (day(2025, 12, 31), "The roof falls due in January 2026.", False),
        (day(2025, 2, 28), "User was born on 30 February.", False),
        (day(2025, 2, 28), "User likes tea and may travel.", None),
    ],
)
def test_dates_agree_where_they_overlap(event: EventTime, gold: str, agreed: bool | None) -> None:
    assert agrees(event, [gold]) is agreed
    assert names_date(gold) is (agreed is not None)


def test_days_are_those_of_the_zone() -> None:
    start, end = datetime(2025, 4, 1, 22, tzinfo=UTC), datetime(2025, 4, 2, 22, tzinfo=UTC)
    event = EventTime(start=start, end=end, precision=Precision.DAY, zone="Europe/Zurich")
    assert agrees(event, ["since 2 April"]) is True
    assert agrees(event, ["since 1 April"]) is False


def compared(*, unjudged: frozenset[str] = frozenset()) -> Compared:
    """Two sessions: a covered dated fact with a wrong date and a stray; a missed needed fact and nothing."""
    messages = (Message(role="user", content="hello"),)
    person = Person(
        id="ada",
        sessions=tuple(Session(id=name, at=AT, messages=messages) for name in ("s1", "s2")),
        gold=(
            EvalFact(id="f1", text="User moved on 2 April 2025.", session="s1", at=AT, type=FactType.EVENT),
            EvalFact(id="f2", text="User is deaf.", session="s2", at=AT),
        ),
        needed=frozenset({"f2"}),
    )
    statements = (
        ("s1", Candidate(info="I moved.", type=FactType.EVENT, event_time=day(2025, 4, 3))),
        ("s1", Candidate(info="Rain!", type=FactType.EVENT)),
    )
    return Compared(
        person=person,
        extracted=Extracted(statements=statements),
        matches=np.array([[True, False], [False, False]]),
        repeats=np.array([False, False]),
        small_talk=np.array([False, True]),
        unjudged=unjudged,
    )


def test_figures() -> None:
    figures = figures_of([compared()])
    assert (figures.statements, figures.per_session) == (2, (1.0, 0, 2))
    assert (figures.coverage, figures.precision, figures.duplicates, figures.small_talk) == (0.5, 0.5, 0.0, 0.5)
    assert (figures.types, figures.dated, figures.wrong_dates, figures.dates) == (1.0, 1.0, 1, 1)
    assert figures.needed == (0, 1)


def test_what_was_not_judged_counts_for_no_share() -> None:
    figures = figures_of([compared(unjudged=frozenset({"s1"}))])
    assert (figures.coverage, figures.precision, figures.small_talk) == (0.0, None, None)
