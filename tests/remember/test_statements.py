"""What may be taken for the same, and what a merge may not lose."""

from __future__ import annotations

import pytest

from prospection.remember.statements import Statement, is_repeat, lost


def said(info: str, *entities: str) -> Statement:
    return Statement(info=info, entities=entities)


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("She works at Siemens.", "she works at  siemens"),
        ("She also has a dog named Rex.", "She has a dog named Rex."),
        ("Sie hat auch einen Hund namens Rex.", "Sie hat einen Hund namens Rex"),
        ("他在苏黎世工作。", "他在苏黎世工作"),
    ],
)
def test_repeats(new: str, old: str) -> None:
    assert is_repeat(said(new), said(old), overlap=0.6)


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("Her favourite coffee is a cortado.", "Her favourite coffee is a flat white."),
        ("She works at Siemens.", "She works at Bosch."),
        ("She eats fish.", "She does not eat fish."),
        ("She doesn't eat fish.", "She eats fish."),
        ("Sie isst keinen Fisch.", "Sie isst Fisch."),
        ("我不吃鱼", "我吃鱼"),
        ("أنا لا آكل السمك", "أنا آكل السمك"),
        ("Her train leaves at 9:30.", "Her train leaves at 9:45."),
        (
            "Her two children go to school by the lake in Zurich.",
            "Her three children go to school by the lake in Zurich.",
        ),
        ("Ada lent Bob a book.", "Bob lent Ada a book."),
        ("She has a dog named Rex.", "She has a dog."),  # the new one says more
        ("She swims on Mondays with Eva.", "She swims on Tuesdays with Eva."),
        ("", "She swims."),
    ],
)
def test_what_differs_in_one_thing_is_no_repeat(new: str, old: str) -> None:
    assert not is_repeat(said(new), said(old), overlap=0.6)


def test_overlap_is_a_share_of_all_words() -> None:
    new, old = said("She has a dog."), said("She has a dog, a cat.")
    assert is_repeat(new, old, overlap=0.8)  # 4 of 5 words
    assert not is_repeat(new, old, overlap=0.81)


def test_a_merge_keeps_names_numbers_days_and_denials() -> None:
    sources = [said("Mia was born in May 2021 in Zurich.", "Mia"), said("She takes 5 mg and no aspirin on Mondays.")]
    assert lost(sources, "Mia, born in Zurich in May 2021, takes 5 mg on Mondays and no aspirin.") == ()
    assert lost(sources, "Mia was born in 2021 and takes 5 mg.") == ("May", "Zurich", "Monday", "not")


def test_a_number_may_change_its_writing() -> None:
    assert lost([said("She has two sons, born in März.")], "She has 2 sons, born in March.") == ()
    assert lost([said("She has 12 hens.")], "She has twelve hens.") == ()
    assert lost([said("She has 13 hens.")], "She has twelve hens.") == ("13",)


def test_an_entity_that_the_statement_does_not_spell_out_is_not_looked_for() -> None:
    assert lost([said("Her mother has dialysis.", "Ada's mother", "dialysis")], "Her mother has dialysis twice.") == ()
    assert lost([said("she plays the kora.", "kora")], "She plays an instrument.") == ("kora",)
    assert lost([], "Anything.") == ()
