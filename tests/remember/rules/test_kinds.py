"""Types and entities of statements."""

from __future__ import annotations

import pytest

from prospection.remember.rules.kinds import entities, guess_type
from prospection.remember.rules.persons import person_meant
from prospection.types import FactType


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("I'm allergic to nuts.", FactType.IDENTITY),
        ("Ich bin Lehrerin.", FactType.IDENTITY),
        ("I hope to see Weimar one day.", FactType.GOAL),
        ("I'm still thinking of a new sofa.", FactType.GOAL),
        ("I've a price alert on it.", FactType.EVENT),
        ("I lend nothing any more.", FactType.PREFERENCE),
        ("I've been learning Dutch.", FactType.ACTIVITY),
        ("I prefer paper.", FactType.PREFERENCE),
        ("I’m curious why.", FactType.INTEREST),
        ("On Sundays we play cards.", FactType.ACTIVITY),
        ("They paid three salaries.", FactType.EVENT),
    ],
)
def test_words_tell_the_type(text: str, kind: FactType) -> None:
    assert guess_type(text) is kind


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("On Friday I met Ruth Kessler and Dr. Hug in Olten.", ("Ruth Kessler", "Dr. Hug", "Olten")),
        ('I am back with "The Devil in the White City".', ("The Devil in the White City",)),
        ("Since 2022 I've been deaf. What I like is Schindler's List.", ("Schindler's List",)),
        ("The University of Bern is in Bern.", ("University of Bern",)),
        ("Nuts. In March I was ill.", ()),
        ("A B C D", ("B C D",)),
        ("", ()),
    ],
)
def test_entities(text: str, names: tuple[str, ...]) -> None:
    assert entities(text) == names


def test_capitals_mean_nothing_in_german() -> None:
    assert entities("Mein Hotel liegt am Hang, sagt Frau Imhof.", capitals=False) == ("Frau Imhof",)


def test_at_most_six_entities() -> None:
    assert len(entities("we saw Ada, Bob, Cem, Dan, Eva, Fay, Gus")) == 6


@pytest.mark.parametrize(
    ("passage", "earlier", "person"),
    [
        ("She works in Langenthal.", "My niece Lea and I walked.", "my niece Lea"),
        ("He put me on tablets.", "Dr. Amrein has it all.", "Dr. Amrein"),
        ("She came.", "Frau Imhof is new.", "Frau Imhof"),
        ("He lends me one.", "Jonas, my nephew, called.", "Jonas, my nephew"),
        ("He came.", "My niece Lea is here.", None),
        ("She counts well.", "At my mother's. My sister Margrit came.", None),  # two women: no guess
        ("Cem. He is ill.", "My father called.", None),
        ("A young woman did. She laughed.", "My mother called.", None),
        ("They came.", "My mother called.", None),
        ("She came.", "", None),
    ],
)
def test_whom_a_pronoun_means(passage: str, earlier: str, person: str | None) -> None:
    assert person_meant(passage, earlier) == person
