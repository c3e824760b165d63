"""Reading replies: what is tolerated, and what is never made up."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from prospection.models.reply import ReplyFault, parse_partial, parse_reply


class Fact(BaseModel):
    info: str = ""


class Facts(BaseModel):
    facts: list[Fact] = []


ONE = Facts(facts=[Fact(info="a <think>tag</think> and {braces}")])
JSON = ONE.model_dump_json()


@pytest.mark.parametrize(
    "text",
    [
        JSON,
        f"\n {JSON} \n",
        f"```json\n{JSON}\n```",
        f"Here are the facts [1] of {{the user}}:\n```\n{JSON}\n```\nAnything else?",
        f'<think>maybe {{"facts": []}}?</think>{JSON}',
        f"the template ate the first tag</think>\n{JSON}",
        f"{JSON}\n\nTo repeat: {JSON}",
        f"Sure! {JSON}",
    ],
)
def test_what_surrounds_the_json_is_dropped(text: str) -> None:
    assert parse_reply(text, Facts) == ONE


@pytest.mark.parametrize("text", ['{"facts": []}', '```\n{"facts": []}\n```', "{}"])
def test_an_empty_reply_is_an_empty_reply(text: str) -> None:
    assert parse_reply(text, Facts) == Facts()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not one complete JSON object"),
        ("I found nothing to remember.", "not one complete JSON object"),
        ('{"facts": [{"info": "a"}, {"info": "b', "not one complete JSON object"),
        ('Here: {"facts": [{"info": "a"}, {"info": "b', "not one complete JSON object"),
        ('[{"info": "a"}]', "does not fit"),
        ('{"facts": [{"info": 7}]}', r"facts\.0\.info: Input should be a valid string"),
        ('First {"facts": []} then {"facts": [{"info": "a"}]}', "2 different JSON objects"),
        (json.dumps(Facts.model_json_schema()), "repeats the JSON schema"),
        ('<think>{"facts": []}', "not one complete JSON object"),
        ('So: {"facts": [{"info": "a </think> "}, {"info": "b"}', "not one complete JSON object"),
    ],
)
def test_nothing_is_made_up(text: str, said: str) -> None:
    with pytest.raises(ReplyFault, match=said):
        parse_reply(text, Facts)


def test_text_is_taken_without_its_thinking() -> None:
    assert parse_reply("<think>hm</think>\n Two weeks. \n", str) == "Two weeks."
    with pytest.raises(ReplyFault, match="empty"):
        parse_reply("<think>hm</think>", str)


@given(st.lists(st.text()), st.integers(0, 10_000))
def test_a_reply_that_is_cut_off_is_never_taken(infos: list[str], cut: int) -> None:
    text = Facts(facts=[Fact(info=info) for info in infos]).model_dump_json()
    assert parse_reply(text, Facts).facts == [Fact(info=info) for info in infos]
    with pytest.raises(ReplyFault):
        parse_reply(text[: cut % len(text)], Facts)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("", {}),
        ("Let me think", {}),
        ('<think>{"facts": [', {}),
        ("{", {}),
        ('{"facts": [', {"facts": []}),
        ('{"facts": [{"info": "a"}, {"info": "half', {"facts": [{"info": "a"}, {}]}),
        ('```json\n{"facts": [{"info": "a"}], "more": [1, 2', {"facts": [{"info": "a"}], "more": [1, 2]}),
        ('{"facts": "all"}', {"facts": "all"}),
        ("[1, 2]", {}),
        ('{"facts": ]', {}),
    ],
)
def test_what_can_be_read_while_it_is_written(written: str, read: dict[str, object]) -> None:
    assert parse_partial(written) == read


@given(st.lists(st.text(max_size=30), max_size=5), st.data())
def test_a_part_never_holds_a_string_that_is_not_in_the_whole(infos: list[str], data: st.DataObject) -> None:
    text = json.dumps({"facts": infos})
    part = parse_partial(text[: data.draw(st.integers(0, len(text)))])
    assert part.get("facts", []) == infos[: len(part.get("facts", []))]
