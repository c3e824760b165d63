"""Facts by rules: what is kept, in which words, and what is not."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prospection.remember.rules import extract_by_rules
from prospection.remember.rules.languages import language_of
from prospection.types import Candidate, FactType, Message, Precision, Session

AT = datetime(2025, 3, 5, 12, tzinfo=UTC)


def session(*texts: str, roles: tuple[str, ...] = ("user", "assistant")) -> Session:
    """Turns in the order of `roles`, over and over."""
    messages = tuple(
        Message(role="user" if roles[place % len(roles)] == "user" else "assistant", content=text)
        for place, text in enumerate(texts)
    )
    return Session(id="s1", at=AT, messages=messages, zone="Europe/Zurich")


def facts(*texts: str) -> list[Candidate]:
    spoken = session(*texts)
    return extract_by_rules(spoken, spoken.messages)


def infos(*texts: str) -> list[str]:
    return [candidate.info for candidate in facts(*texts)]


@pytest.mark.parametrize(
    "text",
    [
        "Thanks, that's really helpful!",
        "Good morning. Hello there!",
        "What is the capital of Italy?",
        "Can you write me a letter to the tax office?",
        "Please make the list shorter and add a column for dates.",
        "Write me four questions, short enough to read aloud.",
        "I'd like to know more about the French Revolution.",
        "I like the idea of a tracker. That makes sense.",
        "I'll definitely try some of them.",
        "Yes, exactly. Perfect, done.",
        "The second one is better than the first.",
        "I've been doing it with brute force and it wasn't elegant.",
        "I have read it four times.",
        "Danke, super! Kannst du mir das übersetzen?",
        "¿Puedes explicarme qué es esto? Gracias.",
        "Merci beaucoup ! Peux-tu m'aider ?",
        "谢谢！你有什么推荐吗？",
        "```\nmy_name = 'I live in Bern'\n```",
    ],
)
def test_small_talk_questions_requests_and_remarks_are_left_out(text: str) -> None:
    assert infos(text) == []


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Thanks! I'm vegan. What can I cook?", ["I'm vegan."]),
        (
            "They've granted me the course in planning after all!",
            ["They've granted me the course in planning after all!"],
        ),
        ("I have practised it with my sister.", ["I have practised it with my sister."]),
        ("i live in berlin with my two kids", ["i live in berlin with my two kids"]),
        ("Well, I have been deaf in the left ear since 2022.", ["I have been deaf in the left ear since 2022."]),
        ("Please wake me at seven on weekdays.", ["Please wake me at seven on weekdays."]),
        (
            "I've never had a passport, where should it come from?",
            ["I've never had a passport, where should it come from?"],
        ),
        (
            "I trust her. You know why? She reads the file before I sit down.",
            ["I trust her. You know why? She reads the file before I sit down."],
        ),
        ("Ich bin allergisch gegen Nüsse. Danke!", ["Ich bin allergisch gegen Nüsse."]),
        ("Soy alérgica a los mariscos desde niña.", ["Soy alérgica a los mariscos desde niña."]),
        ("Je ne bois jamais de café après midi.", ["Je ne bois jamais de café après midi."]),
        ("我对花生过敏，所以不能吃这个菜。你有什么推荐吗？", ["我对花生过敏，所以不能吃这个菜。"]),
        ("私は毎朝六時に起きて犬の散歩をします。", ["私は毎朝六時に起きて犬の散歩をします。"]),
        ("أنا أعيش في القاهرة مع أمي. هل يمكنك مساعدتي؟", ["أنا أعيش في القاهرة مع أمي."]),
        ("Abito a Torino con mio marito. Mi puoi aiutare?", ["Abito a Torino con mio marito."]),
    ],
)
def test_what_the_person_says_of_themselves_is_kept_in_their_words(text: str, kept: list[str]) -> None:
    assert infos(text) == kept


@pytest.mark.parametrize(
    "text",
    [
        "I am a vegan since 2019.",
        "I'm a nurse.",
        "I am deaf.",
        "I am 34 years old.",
        "I am left-handed.",
        "I am a single father.",
        "I am scared of flying.",
        "I am lactose intolerant.",
        "I am training for a marathon.",
        "I have no car.",
        "We have a small garden.",
        "I have asthma.",
        "I take metformin.",
        "I wear hearing aids.",
        "I play the cello.",
        "I don't eat pork.",
        "I can’t drive.",
        "I no longer eat meat.",
        "My knee hurts when I climb stairs.",
        "I get migraines from red wine.",
    ],
)
def test_plain_statements_are_kept_however_short(text: str) -> None:
    assert infos(text) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "I'm a bit tired.",
        "I have a quick question.",
        "I have no idea.",
        "I can't find it.",
        "I take it back.",
        "I'm here.",
    ],
)
def test_what_only_looks_like_one_is_not(text: str) -> None:
    assert infos(text) == []


def test_an_answer_carries_its_question() -> None:
    answer = "Before eleven in the morning. Talks after that are wasted on me, my head clouds over."
    assert infos("Help me plan.", "Gladly. When do talks go best?", answer) == [f"[When do talks go best?] {answer}"]
    assert infos("I smoke, alas.", "Since when?", "Since 2015.") == ["[Since when?] Since 2015."]


def test_a_pronoun_carries_the_person() -> None:
    said = ("My niece Lea and I walked to Aarburg on Sunday.", "How nice.", "She has been sober since August.")
    assert infos(*said)[1] == "[my niece Lea] She has been sober since August."


def test_what_turns_to_another_subject_stands_alone() -> None:
    text = "I sold my bicycle for 180 francs. By the way, I need two new lamps for my kitchen."
    assert infos(text) == ["I sold my bicycle for 180 francs.", "I need two new lamps for my kitchen."]


def test_source_type_entities_and_time() -> None:
    (fact,) = facts("Hello!", "Hi.", "Thanks. I'm to testify in Olten on 14 October 2025. Where is the court?")
    assert fact.info == "I'm to testify in Olten on 14 October 2025."
    assert fact.type is FactType.EVENT
    assert fact.related_entities == ("Olten",)
    assert fact.cues == ()
    (source,) = fact.provenance
    assert (source.session, source.message, source.quote) == ("s1", 2, fact.info)
    assert fact.event_time is not None
    assert fact.event_time.precision is Precision.DAY
    assert fact.event_time.start == datetime(2025, 10, 13, 22, tzinfo=UTC)


def test_only_the_persons_own_new_words_count() -> None:
    messages = (
        Message(role="system", content="I live in Rome and my dog is called Rex."),
        Message(role="user", content="I live in Bern with my two sons."),
        Message(role="assistant", content="I live in a data centre and my favourite colour is blue."),
        Message(role="tool", content="My name is tool, I always work."),
        Message(role="user", content="I have been deaf since 2022.", recalled=True),
        Message(role="user", content="I have played the cello since 1999."),
    )
    spoken = Session(id="s1", at=AT, messages=messages)
    assert [fact.provenance[0].message for fact in extract_by_rules(spoken, messages)] == [1, 5]
    assert [fact.provenance[0].message for fact in extract_by_rules(spoken, messages, 2)] == [5]
    assert extract_by_rules(spoken, messages, 6) == []
    assert extract_by_rules(spoken, ()) == []


def test_pasted_material_is_no_statement_of_the_person() -> None:
    article = "Summarise this. " + "The regulation was adopted on 14 April 2016 by the European Parliament. " * 40
    assert infos(article) == []


BLOG = """I moved to Lisbon in 2014 with my husband and our two children. My mother thought I was mad. I worked for a
bank in Dublin until then and hated every Monday.

In 2016 I started a bakery with my sister-in-law. We bake sourdough every night from two in the morning. My husband
drives the van and I do the books. I was diagnosed with celiac disease in 2018, a cruel joke for a baker.

I still miss the rain in Dublin. I fly home every Christmas to see my father, who is 91. We plan to retire in the
Algarve in 2030, and I want to write a book about bread. I have lost twelve kilos since we opened the second shop."""
"""What somebody says of themselves in the first person, for two dozen lines."""


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"Here is an article I found:\n\n{BLOG}", []),
        (f"Summarise this\n{BLOG}", []),
        (f"Please proofread this text: {BLOG}", []),
        (f"Email from my landlord:\n{BLOG}", []),
        (f"Fass diesen Artikel zusammen:\n\n{BLOG}", []),
        (f"{BLOG}\n\n{BLOG}\n\n{BLOG}\n\nPlease summarise this article.", []),
        (f"Why we left Dublin for a bakery\nBy Maeve O'Brien\nMarch 3, 2023 - 6 min read\n\n{BLOG}", []),
        (f"I'm vegan. Can you summarise this article?\n\n{BLOG}", ["I'm vegan."]),
        (
            f"I'm diabetic, by the way. Here's a blog post on moving:\n\n{BLOG}\n\nI live in Bern, is that for us?",
            ["I'm diabetic, by the way.", "I live in Bern, is that for us?"],
        ),
        (f"I read this: “{BLOG}” and I cried. I have two sons.", ["I have two sons."]),
        (
            "> I have owned this house since 1990.\n> My wife is ill.\nI have rented this flat since 2019.",
            ["I have rented this flat since 2019."],
        ),
    ],
)
def test_somebody_elses_first_person_is_not_the_persons(text: str, kept: list[str]) -> None:
    assert infos(text) == kept


@pytest.mark.parametrize(
    "lead",
    [
        "",
        "Long story short: ",
        "I'll explain this once: ",
        "Here is my letter to the bank:\n\n",
        "About me\n\n# Life\n",
    ],
)
def test_a_long_text_of_ones_own_is_kept(lead: str) -> None:
    assert infos(BLOG)
    assert [info[-60:] for info in infos(lead + BLOG)][-5:] == [info[-60:] for info in infos(BLOG)][-5:]


def test_a_pasted_text_does_not_say_which_language_the_person_speaks() -> None:
    assert infos(f"Ich bin allergisch gegen Nüsse. Fass diesen Artikel zusammen:\n\n{BLOG}") == [
        "Ich bin allergisch gegen Nüsse."
    ]


def test_statements_stay_short() -> None:
    text = "I have worked for the city since 2001, " + "and every year brings another office to my desk, " * 20
    (fact,) = facts(text)
    assert len(fact.info) <= 300
    assert fact.info.endswith(" …")


def test_languages_are_told_apart() -> None:
    texts = {
        "en": "I have a cat and my sister has a dog, which is not the same.",
        "de": "Ich habe eine Katze, und meine Schwester hat einen Hund.",
        "es": "Tengo un gato y mi hermana tiene un perro en la casa.",
        "fr": "J'ai un chat et ma sœur a un chien dans la maison.",
    }
    for code, text in texts.items():
        language = language_of(text)
        assert language is not None
        assert language.code == code
    for text, code in (("I am Swiss.", "en"), ("I drive an old Volvo.", "en"), ("Am Montag bin ich in Bern.", "de")):
        assert (found := language_of(text)) is not None
        assert found.code == code
    assert language_of("Abito a Torino con mio marito.") is None
    assert language_of("我住在上海") is None
    assert language_of("") is None


@given(st.lists(st.text(max_size=80) | st.sampled_from(["I like my dog.", "She is ill.", "No.", "Why?"]), max_size=6))
def test_quotes_stand_in_their_messages(texts: list[str]) -> None:
    spoken = session(*texts)
    for fact in extract_by_rules(spoken, spoken.messages):
        (source,) = fact.provenance
        assert source.message is not None
        assert source.quote is not None
        assert source.quote in spoken.messages[source.message].content
        assert spoken.messages[source.message].role == "user"
        assert fact.info.strip()
