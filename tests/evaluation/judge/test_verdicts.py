"""A model judges pairs: blind, in both orders, over HTTP, and on from where it stopped."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from loopback import Chat, Loopback
from prospection.errors import BudgetExceededError, CredentialError, EndpointError, InputError, ModelError
from prospection.evaluation.judge.ballots import read_labels, read_sheet, sheet_rows
from prospection.evaluation.judge.pairs import Pair, pair_answers, read_pairs, sample_pairs, write_pairs
from prospection.evaluation.judge.tables import as_csv
from prospection.evaluation.judge.verdicts import judge_pairs, read_judgements
from prospection.evaluation.judge.winrate import combine, verdicts_by_pair
from prospection.models.chat import PydanticAIChat
from prospection.models.open import build_model
from prospection.prompts import load_prompt
from prospection.types import Usage
from remembered import Script

SPENT = Usage(calls=3, failed_calls=3, tokens_in=90)
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
        found = await judge_pairs([replace(pair(name, "d"), user="ada") for name in "12"], chat, tmp_path / "v.jsonl")
    assert [(one.pair, one.first, one.verdict) for one in found] == [
        ("1", "a", "a"),
        ("1", "b", "a"),
        ("2", "a", "a"),
        ("2", "b", "a"),
    ]
    assert found[0].lengths == (6, 5)
    assert {(one.dataset, one.user, one.reason) for one in found} == {("d", "ada", "fits")}
    assert sum(one.usage.calls for one in found) == len(server.chats) == 4
    assert all(" x " not in chat.user and "<request>\nquery" in chat.user for chat in server.chats)
    assert sorted(read_judgements([tmp_path / "v.jsonl"]), key=str) == sorted(found, key=str)


@pytest.mark.anyio
async def test_what_is_judged_is_not_judged_again_and_what_failed_is(tmp_path: Path) -> None:
    path = tmp_path / "v.jsonl"
    first = await judge_pairs([pair("1")], Script(judge=[FIRST, EndpointError("down", usage=SPENT)]), path, at_once=1)
    assert [one.verdict for one in first] == ["a", None]
    assert (first[1].error, first[1].usage) == ("down", SPENT)
    path.write_text(path.read_text() + '\n{"pair": "cut sh')  # a kill
    seen: list[tuple[int, int]] = []
    again = await judge_pairs(
        [pair("1")], Script(judge=[FIRST]), path, progress=lambda done, total: seen.append((done, total))
    )
    assert [one.verdict for one in again] == ["a", "b"]
    assert seen == [(2, 2)]
    assert await judge_pairs([pair("1")], Script(), path) == again
    assert len(read_judgements([path])) == 2


def compared(name: str, *, against: str = "y", b: str = "bad") -> Pair:
    one = Pair(id=name, dataset="", user=name, query=f"query {name}", a=f"good {name}", b=b, names=("x", against))
    return replace(one, id=f"{name}~{one.mark}")


@pytest.mark.anyio
@pytest.mark.parametrize("other", [compared("1", against="z"), compared("1", b="better")])
async def test_verdicts_stand_for_the_systems_and_answers_they_were_given_on(tmp_path: Path, other: Pair) -> None:
    path, seen = tmp_path / "v.jsonl", []
    await judge_pairs([compared("1"), compared("2")], Script(judge=[FIRST] * 4), path)
    model = Script(judge=[TIE, TIE])
    found = await judge_pairs([other], model, path, progress=lambda done, total: seen.append((done, total)))
    assert [(one.names, one.verdict) for one in found] == [(other.names, "tie")] * 2
    assert seen == [(1, 2), (2, 2)]
    first = await judge_pairs([compared("1")], Script(), path)  # nothing is lost, and nothing is asked again
    assert [one.verdict for one in first] == ["a", "b"]
    # Who makes pairs under ids of their own is no worse off.
    bare = [replace(one, id="1") for one in (compared("1"), other)]
    for one, word in zip(bare, ("a", "tie"), strict=True):
        said = await judge_pairs([one], Script(judge=[FIRST if word == "a" else TIE] * 2), tmp_path / "bare.jsonl")
        assert said[0].verdict == word


@pytest.mark.anyio
async def test_verdicts_on_answers_made_anew_take_the_place_of_the_earlier_ones(tmp_path: Path) -> None:
    path = tmp_path / "v.jsonl"
    again = {"reason": "", "better": "second"}
    await judge_pairs([compared("1"), compared("2")], Script(judge=[FIRST, again, TIE, TIE]), path, at_once=1)
    await judge_pairs([compared("1", b="better")], Script(judge=[again, FIRST]), path, at_once=1)
    assert sorted((one.pair[0], one.verdict) for one in combine(read_judgements([path]))) == [("1", "b"), ("2", "tie")]
    halfway = Script(judge=[FIRST, EndpointError("down")])
    await judge_pairs([compared("2", b="better")], halfway, path, at_once=1)
    assert [(one.pair[0], one.verdict) for one in combine(read_judgements([path]))] == [("1", "b")]
    assert len({request.subject for request in halfway.requests}) == 2
    # A call that failed is made up for after other answers had their turn: its answers are the latest again.
    await judge_pairs([compared("2", b="best")], Script(judge=[TIE, TIE]), path, at_once=1)
    await judge_pairs([compared("2", b="better")], Script(judge=[again]), path, at_once=1)
    latest = combine(read_judgements([path]))
    assert sorted((one.pair[0], one.verdict) for one in latest) == [("1", "b"), ("2", "a")]


@pytest.mark.anyio
async def test_files_are_read_in_any_order(tmp_path: Path) -> None:
    a, b, c, d = (tmp_path / f"{name}.jsonl" for name in "abcd")
    again = {"reason": "", "better": "second"}
    await judge_pairs([compared("1")], Script(judge=[FIRST, EndpointError("down")]), a, at_once=1)
    b.write_text(a.read_text())
    await judge_pairs([compared("1")], Script(judge=[again]), b)
    both = [sorted(read_judgements(order), key=str) for order in ((a, b), (b, a), (b, b))]
    assert both[0] == both[1] == both[2]
    assert [one.verdict for one in combine(both[0])] == ["a"]
    b.write_text(b.read_text() + "\n" + a.read_text().splitlines()[1])  # a failure does not undo a verdict
    assert sorted(read_judgements([b]), key=str) == both[0]
    await judge_pairs([compared("1")], Script(judge=[again, again]), c)
    await judge_pairs([compared("1", b="better")], Script(judge=[FIRST, again]), d)
    for order in ((a, c), (c, a)):
        with pytest.raises(InputError, match=r"hold different verdicts by 'script' on '1~\w+'; name one of them"):
            read_judgements(order)
    for order in ((b, d), (d, b)):
        with pytest.raises(InputError, match="on different answers of the same systems to '1'"):
            read_judgements(order)


@pytest.mark.anyio
async def test_verdicts_of_a_file_from_before_marks_still_count(tmp_path: Path) -> None:
    path = tmp_path / "v.jsonl"
    await judge_pairs([pair("1")], Script(judge=[FIRST, FIRST]), path, at_once=1)
    path.write_text(re.sub(r',"mark":"\w+"', "", path.read_text()))
    assert [(one.pair, one.mark) for one in read_judgements([path])] == [("1", ""), ("1", "")]
    assert verdicts_by_pair(combine(read_judgements([path]))) == {"1": "tie"}
    await judge_pairs([pair("1")], Script(judge=[FIRST, {"reason": "", "better": "second"}]), path, at_once=1)
    assert verdicts_by_pair(combine(read_judgements([path]))) == {"1": "a"}


@pytest.mark.anyio
@pytest.mark.parametrize("error", [BudgetExceededError, CredentialError])
async def test_a_refused_key_ends_the_run_and_keeps_what_is_done(tmp_path: Path, error: type[ModelError]) -> None:
    path = tmp_path / "v.jsonl"
    model = Script(judge=[TIE, error("refused"), TIE])
    with pytest.raises(error, match="refused"):
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
    other.name = "script"
    path.write_text(path.read_text().replace(load_prompt("judge").hash, "another"))
    with pytest.raises(InputError, match="with prompt another; judge"):
        await judge_pairs([pair("1")], other, path)
    with pytest.raises(InputError, match="cannot be written"):
        await judge_pairs([pair("1")], Script(judge=[TIE, TIE]), tmp_path / "nowhere" / "v.jsonl")
    path.write_text("no judgement\n")
    with pytest.raises(InputError, match="holds no judgement"):
        read_judgements([path])


def test_answers_are_paired_by_request_and_citations_go(tmp_path: Path) -> None:
    a = write_answers(tmp_path / "pgr.jsonl", q1="Rest first [f12]. Then go [f1, f3].", q2="b")
    b = write_answers(tmp_path / "mem0g.jsonl", q2="d", q1="c [sic] [f2; f3]")
    pairing = pair_answers(a, b)
    found = pairing.pairs
    assert [one.id for one in found] == [f"quest:q1~{found[0].mark}", f"quest:q2~{found[1].mark}"]
    assert [one.user for one in found] == ["quest:q1", "quest:q2"]
    assert (pairing.only_a, pairing.only_b) == ((), ())
    assert (found[0].a, found[0].b, found[0].names) == ("Rest first. Then go.", "c [sic]", ("pgr", "mem0g"))
    write_pairs(found, tmp_path / "pairs.jsonl")
    assert read_pairs(tmp_path / "pairs.jsonl") == found
    with pytest.raises(InputError, match="cannot be written"):
        write_pairs(found, tmp_path / "pairs.jsonl")
    (tmp_path / "pairs.jsonl").write_text((tmp_path / "pairs.jsonl").read_text() * 2)
    with pytest.raises(InputError, match="twice; remove one"):
        read_pairs(tmp_path / "pairs.jsonl")


def test_what_one_file_alone_answers_is_left_out_and_named(tmp_path: Path) -> None:
    a = write_answers(tmp_path / "a.jsonl", q1="x", q2="y", q3="z")
    found = pair_answers(a, write_answers(tmp_path / "b.jsonl", q4="v", q3="w", q5="u"))
    assert [(one.query, one.a, one.b) for one in found.pairs] == [("query q3", "z", "w")]
    assert (found.only_a, found.only_b) == (("quest:q1", "quest:q2"), ("quest:q4", "quest:q5"))
    a.write_text(a.read_text().replace('"id"', '"user": "ada", "id"'))
    assert [one.user for one in pair_answers(a, tmp_path / "b.jsonl").pairs] == ["ada"]


def test_answers_that_cannot_be_compared_are_refused(tmp_path: Path) -> None:
    a = write_answers(tmp_path / "a.jsonl", q1="x", q2="y")
    with pytest.raises(InputError, match="no request in common"):
        pair_answers(a, write_answers(tmp_path / "b.jsonl", q3="x"))
    with pytest.raises(InputError, match="both systems would be called 'a'; tell them apart with --names"):
        pair_answers(a, a)
    assert pair_answers(a, a, names=("one", "two")).pairs[0].names == ("one", "two")
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
    assert len(sample_pairs(pairs[:40], 0.04)) == 2  # 1.6, rounded


def test_a_mark_tells_all_apart_that_is_compared() -> None:
    one = compared("1")
    others = [
        replace(one, names=("x", "z")),
        replace(one, names=("z", "y")),
        replace(one, query="another"),
        replace(one, a="another"),
        replace(one, b="another"),
        *(compared(str(n)) for n in range(2, 100)),
    ]
    assert len({pair.mark for pair in [one, *others]}) == 104
    assert replace(one, id="p", dataset="d", user="u").mark == one.mark


def test_a_sample_takes_the_same_requests_of_every_comparison(tmp_path: Path) -> None:
    ours, one, other = (
        write_answers(tmp_path / f"{name}.jsonl", **{f"q{n}": f"{name} {n}" for n in range(50)}) for name in "abc"
    )
    first, second = (sample_pairs(pair_answers(ours, theirs).pairs, 0.1) for theirs in (one, other))
    assert [pair.query for pair in first] == [pair.query for pair in second]
    assert not {pair.id for pair in first} & {pair.id for pair in second}


def test_a_sheet_goes_out_blind_and_comes_back(tmp_path: Path) -> None:
    pairs = [pair(f"p{n}") for n in range(20)]
    rows = sheet_rows(pairs)
    lefts = {row[2].split()[0] for row in rows[1:]}
    assert lefts == {"good", "bad"}  # sides are drawn
    assert sheet_rows(pairs, seed=1) != rows
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


def test_labels_as_a_spreadsheet_saves_them_and_labels_that_say_nothing(tmp_path: Path) -> None:
    out = tmp_path / "labels.csv"
    out.write_text("annotator,pair,verdict\nada,p1,b\n", encoding="utf-8-sig")
    assert read_labels(out) == [("ada", "p1", "b")]
    out.write_text("annotator,pair,verdict\nada,p1,b\nada,p2,1\n")
    with pytest.raises(InputError, match="line 3: the verdict is '1'; it has to be a, b or tie"):
        read_labels(out)


@pytest.mark.parametrize("name", ["=1+1", "-ada", "'=x", "@ada", "+1", "-", "'ada", "\tada", "''-x"])
def test_names_that_a_spreadsheet_would_run_come_back_as_they_were(tmp_path: Path, name: str) -> None:
    out = tmp_path / "labels.csv"
    out.write_text(as_csv([("annotator", "pair", "verdict"), (name, name, "a")]))
    assert read_labels(out) == [(name, name, "a")]
    (cell, _, _) = out.read_text().splitlines()[1].split(",")
    assert cell == "-" or cell[0] in "'a"


def test_who_filled_a_sheet_and_how_they_said_it(tmp_path: Path) -> None:
    pairs = [pair(f"p{n}") for n in range(8)]
    swapped = {row[0]: row[2].startswith("bad") for row in sheet_rows(pairs, seed=3)[1:]}
    said = {"1": "a", "answer_1": "a", "first": "a", "2": "b", "Answer_2": "b", "second ": "b"}
    for word, side in said.items():
        sheet = tmp_path / "sheet.csv"
        sheet.write_text("\n".join(["pair,verdict,annotator", *(f"{one.id},{word},ada" for one in pairs)]))
        found = read_sheet(sheet, pairs, seed=3)
        assert [(who, label) for who, _, label in found] == [
            ("ada", {"a": "b", "b": "a"}[side] if swapped[one.id] else side) for one in pairs
        ]
    assert set(swapped.values()) == {True, False}
    sheet.write_text("pair,verdict,annotator\np1,tie\np2,tie,\n")
    assert [who for who, _, _ in read_sheet(sheet, pairs)] == ["crowd", "crowd"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pair\np1\n", "lacks the column 'verdict'"),
        ("pair,verdict\nzz,1\n", "line 2: there is no pair 'zz'"),
        ("pair,verdict\np1,better\n", "line 2: the verdict is 'better'"),
        ("", "it has none"),
        ("annotator,pair,verdict\nada,p1,1\nada,p1\n", "line 3: the row ends before the column 'verdict'"),
    ],
)
def test_a_sheet_that_cannot_be_read_says_where(tmp_path: Path, text: str, message: str) -> None:
    sheet = tmp_path / "sheet.csv"
    sheet.write_text(text)
    with pytest.raises(InputError, match=message):
        read_sheet(sheet, [pair("p1")])
