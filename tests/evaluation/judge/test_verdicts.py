"""A model judges pairs: blind, in both orders, over HTTP, and on from where it stopped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loopback import Chat, Loopback
from prospection.errors import CredentialError, EndpointError, InputError
from prospection.evaluation.judge.ballots import read_labels, read_sheet, sheet_rows
from prospection.evaluation.judge.pairs import Pair, pair_answers, read_pairs, sample_pairs, write_pairs
from prospection.evaluation.judge.tables import as_csv
from prospection.evaluation.judge.verdicts import judge_pairs, read_judgements
from prospection.models.chat import PydanticAIChat
from prospection.models.open import build_model
from remembered import Script

FIRST, TIE = {"reason": "r", "better": "first"}, {"reason": "", "better": "tie"}


def pair(name: str, dataset: str = "") -> Pair:
    return Pair(
        id=name, dataset=dataset, user=name, query=f"query {name}", a=f"good {name}", b=f"bad {name}", names=("x", "y")
    )


def write_answers(path: Path, **answers: str) -> Path:
    lines = [{"id": key, "query": f"query {key}", "answer": text, "dataset": "quest"} for key, text in answers.items()]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.anyio
async def test_each_pair_is_judged_in_both_orders_and_blind(tmp_path: Path) -> None:
    def prefer_good(chat: Chat) -> dict[str, str]:
        first = chat.user.partition("<second_answer>")[0]
        return {"reason": "fits", "better": "first" if "good" in first else "second"}

    with Loopback(prefer_good) as server:
        chat = PydanticAIChat(build_model("tiny", server.url), name="tiny")
        found = await judge_pairs([pair("1"), pair("2")], chat, tmp_path / "v.jsonl")
    assert [(one.pair, one.first, one.verdict) for one in found] == [
        ("1", "a", "a"),
        ("1", "b", "a"),
        ("2", "a", "a"),
        ("2", "b", "a"),
    ]
    assert found[0].lengths == (6, 5)
    assert sum(one.usage.calls for one in found) == len(server.chats) == 4
    assert all(" x " not in chat.user and "<request>\nquery" in chat.user for chat in server.chats)
    assert sorted(read_judgements([tmp_path / "v.jsonl"]), key=str) == sorted(found, key=str)


@pytest.mark.anyio
async def test_what_is_judged_is_not_judged_again_and_what_failed_is(tmp_path: Path) -> None:
    path = tmp_path / "v.jsonl"
    first = await judge_pairs([pair("1")], Script(judge=[FIRST, EndpointError("down")]), path, at_once=1)
    assert [one.verdict for one in first] == ["a", None]
    assert (first[1].error, first[1].usage.failed_calls) == ("down", 1)
    path.write_text(path.read_text() + '\n{"pair": "cut sh')  # a kill
    seen: list[tuple[int, int]] = []
    again = await judge_pairs(
        [pair("1")], Script(judge=[FIRST]), path, progress=lambda done, total: seen.append((done, total))
    )
    assert [one.verdict for one in again] == ["a", "b"]
    assert seen == [(2, 2)]
    assert await judge_pairs([pair("1")], Script(), path) == again
    assert len(read_judgements([path])) == 2


@pytest.mark.anyio
async def test_a_refused_key_ends_the_run_and_keeps_what_is_done(tmp_path: Path) -> None:
    path = tmp_path / "v.jsonl"
    model = Script(judge=[TIE, CredentialError("refused"), TIE])
    with pytest.raises(CredentialError, match="refused"):
        await judge_pairs([pair("1"), pair("2")], model, path, at_once=1)
    assert [one.verdict for one in read_judgements([path])] == ["tie"]


@pytest.mark.anyio
async def test_another_judge_needs_another_file(tmp_path: Path) -> None:
    path = tmp_path / "v.jsonl"
    await judge_pairs([pair("1")], Script(judge=[TIE, TIE]), path)
    other = Script()
    other.name = "other"
    with pytest.raises(InputError, match="by 'script' with prompt"):
        await judge_pairs([pair("1")], other, path)
    path.write_text("no judgement\n")
    with pytest.raises(InputError, match="holds no judgement"):
        read_judgements([path])


def test_answers_are_paired_by_request_and_citations_go(tmp_path: Path) -> None:
    a = write_answers(tmp_path / "pgr.jsonl", q1="Rest first [f12]. Then go [f1, f3].", q2="b")
    b = write_answers(tmp_path / "mem0g.jsonl", q2="d", q1="c [sic]")
    found = pair_answers(a, b)
    assert [one.id for one in found] == ["quest:q1", "quest:q2"]
    assert (found[0].a, found[0].b, found[0].names) == ("Rest first. Then go.", "c [sic]", ("pgr", "mem0g"))
    write_pairs(found, tmp_path / "pairs.jsonl")
    assert read_pairs(tmp_path / "pairs.jsonl") == found
    with pytest.raises(InputError, match="cannot be written"):
        write_pairs(found, tmp_path / "pairs.jsonl")


def test_answers_to_different_requests_are_refused(tmp_path: Path) -> None:
    a = write_answers(tmp_path / "a.jsonl", q1="x", q2="y")
    with pytest.raises(InputError, match=r"1 answers are in one file only, for example 'quest:q2'"):
        pair_answers(a, write_answers(tmp_path / "b.jsonl", q1="x"))
    other = tmp_path / "c.jsonl"
    other.write_text(a.read_text().replace("query q1", "another"))
    with pytest.raises(InputError, match="'another' in the other"):
        pair_answers(a, other)
    other.write_text(a.read_text() * 2)
    with pytest.raises(InputError, match="twice"):
        pair_answers(a, other)


def test_a_sample_takes_its_share_of_every_set() -> None:
    pairs = [pair(f"m{n}", "m") for n in range(100)] + [pair(f"i{n}", "i") for n in range(10)]
    found = sample_pairs(pairs, 0.05)
    assert [one.dataset for one in found] == ["m"] * 5 + ["i"]
    assert sample_pairs(pairs, 0.05) == found
    assert sample_pairs(pairs, 0.05, seed=1) != found
    assert sample_pairs(pairs, 1.0) == pairs


def test_a_sheet_goes_out_blind_and_comes_back(tmp_path: Path) -> None:
    pairs = [pair(f"p{n}") for n in range(20)]
    rows = sheet_rows(pairs)
    lefts = {row[2].split()[0] for row in rows[1:]}
    assert lefts == {"good", "bad"}  # sides are drawn
    head, *body = rows
    filled = [(*head, "verdict"), *((*row, "1" if row[2].startswith("good") else "2") for row in body[:-1])]
    filled.append((*body[-1], "TIE"))
    sheet = tmp_path / "sheet.csv"
    sheet.write_text(as_csv(filled))
    labels = read_sheet(sheet, pairs)
    assert [label for _, _, label in labels] == ["a"] * 19 + ["tie"]
    out = tmp_path / "labels.csv"
    out.write_text(as_csv([("annotator", "pair", "verdict"), *labels]))
    assert read_labels(out) == labels


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pair\np1\n", "lacks the column 'verdict'"),
        ("pair,verdict\nzz,1\n", "line 2: there is no pair 'zz'"),
        ("pair,verdict\np1,better\n", "line 2: the verdict is 'better'"),
        ("", "it has none"),
    ],
)
def test_a_sheet_that_cannot_be_read_says_where(tmp_path: Path, text: str, message: str) -> None:
    sheet = tmp_path / "sheet.csv"
    sheet.write_text(text)
    with pytest.raises(InputError, match=message):
        read_sheet(sheet, [pair("p1")])
