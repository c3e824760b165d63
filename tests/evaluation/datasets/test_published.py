"""Published layouts: small samples made by hand, what becomes memory, and what counts as found."""

from __future__ import annotations

import json
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from prospection.errors import InputError, UnknownNameError
from prospection.evaluation.cases import Dataset
from prospection.evaluation.datasets import LAYOUTS, load_dataset
from prospection.evaluation.datasets.cards import CARDS
from prospection.evaluation.datasets.conversations import TURNS
from prospection.evaluation.datasets.locomo_plus import days_ago
from prospection.evaluation.datasets.words import content_words, share_said, where_said

SAMPLES = Path(__file__).parents[2] / "data" / "evaluation" / "published"
RAW = (
    Path(os.environ.get("PROSPECTION_TEST_DATA", Path(__file__).parents[4] / "shared" / "data")) / "benchmarks" / "raw"
)


def found(dataset: Dataset, place: int = 0) -> list[list[str]]:
    """The texts that count as found, one list a reference."""
    query = dataset.queries[place]
    (user,) = [user for user in dataset.users if user.id == query.user]
    text = {fact.id: fact.text for fact in user.facts}
    return [sorted(text[fact] for fact in reference) for reference in query.references]


def test_every_layout_has_a_card_and_every_card_a_layout() -> None:
    assert {card.name for card in CARDS} == set(LAYOUTS)


def test_memoryquest_references_are_found_by_session_date_or_words() -> None:
    dataset = load_dataset(SAMPLES / "memoryquest")
    assert [query.id for query in dataset.queries] == ["3-q1"]
    assert dataset.queries[0].at == datetime(2025, 3, 1, tzinfo=UTC)
    assert found(dataset) == [
        ["My passport ran out in May, by the way."],
        ["They cannot stay alone for more than a week."],
        ["My mother has dialysis on Mondays."],
    ]


def test_memoryquest_says_what_it_found_and_what_it_missed() -> None:
    notes = load_dataset(SAMPLES / "memoryquest").notes
    assert "turns in 'messages'" in notes[0]
    assert "reference text in 'fact'" in notes[0]
    assert notes[1:4] == (
        "Not found under any known name: facts, reference fact.",
        "Keys that were there and are not read: 'sessions.domain'.",
        "References by how they were found in memory: 1 by date and words, 1 by session and words, 1 by words, "
        "1 not at all.",
    )


@pytest.mark.parametrize("name", ["memoryquest", "implexconv/opposed.json", "personamem"])
def test_a_set_of_the_paper_whose_memory_is_turns_says_that_figures_differ(name: str) -> None:
    assert TURNS in load_dataset(SAMPLES / name).notes


def test_a_set_of_the_paper_with_facts_does_not() -> None:
    assert TURNS not in load_dataset(SAMPLES / "implexconv" / "opposed_retrieve_text.json").notes


def test_memoryquest_under_other_names(tmp_path: Path) -> None:
    # Sessions by domain, exchanges for messages, extracted facts, and references that are ids.
    user = {
        "domain_summaries": {},
        "conversations": {
            "Travel": [
                {
                    "date": "March 4, 2025",
                    "dialogue": [{"user": "Hi.", "assistant": "Hello."}],
                    "facts": [{"fid": "f1", "info": "User flies on Monday."}],
                }
            ]
        },
        "questions": [{"question": "Book a dentist.", "date": "2025-03-05", "reference_facts": ["f1"]}],
    }
    (tmp_path / "user9.json").write_text(json.dumps(user))
    dataset = load_dataset(tmp_path)
    assert [(fact.id, fact.at) for fact in dataset.users[0].facts] == [("f1", datetime(2025, 3, 4, tzinfo=UTC))]
    assert (dataset.queries[0].id, found(dataset)) == ("user9-q1", [["User flies on Monday."]])


def test_memoryquest_without_queries_says_what_it_looked_for(tmp_path: Path) -> None:
    (tmp_path / "user9.json").write_text('{"domain_summaries": {}, "sessions": [{"turns": ["Hi."]}], "tasks": []}')
    with pytest.raises(InputError, match=r"no queries under 'queries', .*it has \['domain_summaries', 'sessions'"):
        load_dataset(tmp_path)


def test_implexconv_conversations() -> None:
    dataset = load_dataset(SAMPLES / "implexconv" / "opposed.json")
    assert [fact.text for fact in dataset.users[0].facts][2:] == ["Nice weather.", "It is."]
    assert found(dataset) == [["I sprained my ankle on Sunday.", "Rest it."]]
    assert dataset.queries[0].category == "opposed"


def test_implexconv_facts_stand_for_the_conversation_that_holds_their_words() -> None:
    dataset = load_dataset(SAMPLES / "implexconv" / "opposed_retrieve_text.json")
    assert found(dataset) == [["Speaker1 sprained an ankle."]]


def test_personamem_references_stand_at_the_published_distance_and_memory_ends_there() -> None:
    dataset = load_dataset(SAMPLES / "personamem")
    # 101 characters up to message 5, 60 % back from there: within message 2; the person's turns beside it are 1 and 3.
    assert found(dataset) == [["I play the oboe.", "It rained all day here."]]
    assert found(dataset, 1) == [["I sold the oboe."]]
    assert [len(user.facts) for user in dataset.users] == [4, 5]
    assert {query.person for query in dataset.queries} == {"persona4"}
    assert dataset.queries[0].text == "What could I play?"
    assert "1 of 3 questions belong to contexts that are not there." in dataset.notes


def test_personamem2_snippets_stand_in_the_history_word_for_word() -> None:
    dataset = load_dataset(SAMPLES / "personamem2")
    assert found(dataset) == [["No nuts for me."]]
    assert [fact.text for fact in dataset.users[0].facts] == ["No nuts for me.", "Noted."]
    assert (dataset.queries[0].text, dataset.queries[0].person) == ("What shall I cook?", "persona9")
    assert "1 of 2 questions link histories that are not there." in dataset.notes


def test_locomo_observations_count_as_the_turns_they_stand_on() -> None:
    dataset = load_dataset(SAMPLES / "locomo-plus" / "locomo10.json")
    assert found(dataset) == [["Ann moved to Leeds."], ["Ann has lived in Leeds for a year."]]
    assert [query.category for query in dataset.queries] == ["temporal", "single-hop"]
    assert dataset.notes[0] == "1 of 3 queries are adversarial and are left out."
    assert dataset.users[0].facts[0].at == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def test_locomo_without_observations_is_turns(tmp_path: Path) -> None:
    data = json.loads((SAMPLES / "locomo-plus" / "locomo10.json").read_text())
    del data[0]["observation"]
    (tmp_path / "any.json").write_text(json.dumps(data))
    assert found(load_dataset(tmp_path), 1) == [["Bob: Meet my cat. [shared image: a grey cat]"]]


def test_locomo_plus_cues_are_sessions_as_long_ago_as_said() -> None:
    dataset = load_dataset(SAMPLES / "locomo-plus")
    assert found(dataset) == [["Ann: I gave up coffee after my heart raced.", "Bob: Wise."]]
    first, second = dataset.queries
    assert first.at == second.at == datetime(2023, 6, 8, 9, tzinfo=UTC)
    (cue, _) = [fact for fact in dataset.users[0].facts if fact.session == "cue_0"]
    assert cue.at == datetime(2023, 5, 25, 9, tzinfo=UTC)
    assert second.text == "New shoes?\nNot this month."
    assert "1 of 2 time gaps name no length; their cues stand at the time of the remark." in dataset.notes


def test_locomo_plus_needs_the_conversations(tmp_path: Path) -> None:
    shutil.copy(SAMPLES / "locomo-plus" / "locomo_plus.json", tmp_path)
    with pytest.raises(InputError, match=r"put locomo10\.json into the same folder"):
        load_dataset(tmp_path)


@pytest.mark.parametrize(
    ("gap", "days"),
    [
        ("two weeks later", 14),
        ("about a month later", 30),
        ("3 years later", 1095),
        ("six days", 6),
        ("later", 0),
        ("a couple of weeks later", 14),
        ("a few  months", 90),
        ("several years", 1095),
    ],
)
def test_gaps(gap: str, days: int) -> None:
    assert days_ago(gap) == days


def test_longmemeval_by_marked_turns_else_by_session() -> None:
    dataset = load_dataset(SAMPLES / "longmemeval")
    assert found(dataset) == [["I ran 5 km in 25 minutes."], ["Hello."]]
    assert dataset.queries[0].at == datetime(2023, 6, 1, 0, 58, tzinfo=UTC)
    assert dataset.notes == ("1 of 2 questions ask for what was never said and are left out.",)


def test_personalens_tasks_need_preferences_that_there_are() -> None:
    dataset = load_dataset(SAMPLES / "personalens")
    assert found(dataset) == [["Books - Genre: fantasy, thriller"], ["Hotels - Room: quiet"]]
    assert dataset.queries[0].category == "multi-domain"


def personalens(folder: Path, **tasks: tuple[str, ...]) -> Path:
    """People with these files of tasks."""
    for user, files in tasks.items():
        shutil.copytree(SAMPLES / "personalens" / "user7", folder / user)
        (folder / user / "tasks_md.json").rename(folder / user / "kept")
        for name in files:
            shutil.copy(folder / user / "kept", folder / user / name)
    return folder


def test_personalens_asks_all_people_tasks_of_one_kind(tmp_path: Path) -> None:
    both, single = ("tasks.json", "tasks_md.json"), ("tasks.json",)
    mixed = load_dataset(personalens(tmp_path / "mixed", user1=both, user2=single, user3=both))
    assert [query.user for query in mixed.queries] == ["user1", "user3"]
    assert mixed.notes[0] == "1 of 3 people have no tasks_md.json and ask nothing."
    alike = load_dataset(personalens(tmp_path / "alike", user1=single, user2=single))
    assert [query.user for query in alike.queries] == ["user1", "user2"]
    assert not any("ask nothing" in note for note in alike.notes)


def changed(tmp_path: Path, sample: str, **values: Any) -> Path:
    """A sample with some values of its first item changed, or of the first question in it."""
    data = json.loads((SAMPLES / sample).read_text())
    item = data[0]["qa"][0] if "evidence" in values else data[0]
    item.update(values)
    (tmp_path / Path(sample).name).write_text(json.dumps(data))
    return tmp_path / Path(sample).name


@pytest.mark.parametrize("evidence", [None, []])
def test_locomo_questions_without_evidence_are_counted(tmp_path: Path, evidence: Any) -> None:
    dataset = load_dataset(changed(tmp_path, "locomo-plus/locomo10.json", evidence=evidence))
    assert [query.category for query in dataset.queries] == ["single-hop"]
    assert "1 of 2 queries have no references and are left out." in dataset.notes


@pytest.mark.parametrize("list_name", ["haystack_dates", "haystack_session_ids", "haystack_sessions"])
def test_longmemeval_lists_have_to_go_together(tmp_path: Path, list_name: str) -> None:
    whole = json.loads((SAMPLES / "longmemeval" / "oracle.json").read_text())[0][list_name]
    file = changed(tmp_path, "longmemeval/oracle.json", **{list_name: whole[:-1]})
    with pytest.raises(InputError, match=r"oracle\.json: 0: Value error, haystack_dates, .* differ in length; correct"):
        load_dataset(file)


def test_longmemeval_answers_have_to_go_with_their_questions(tmp_path: Path) -> None:
    asked = {"question": None, "questions": ["How fast?", "And now?"], "answers": ["25 minutes"]}
    file = changed(tmp_path, "longmemeval/oracle.json", **asked)
    with pytest.raises(InputError, match=r"oracle\.json: 0: Value error, questions, answers and .* differ in length"):
        load_dataset(file)


def test_a_layout_can_be_named() -> None:
    assert load_dataset(SAMPLES / "locomo-plus", "locomo").name == "locomo10"
    with pytest.raises(UnknownNameError, match="did you mean 'locomo'"):
        load_dataset(SAMPLES, "lokomo")
    with pytest.raises(InputError, match=r"known layout \(quest\)"):
        load_dataset(SAMPLES / "locomo-plus", "quest")


def test_two_files_of_a_layout_have_to_be_told_apart(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        shutil.copy(SAMPLES / "longmemeval" / "oracle.json", tmp_path / name)
    with pytest.raises(InputError, match=r"several files of one layout: 'a\.json', 'b\.json'"):
        load_dataset(tmp_path)


def test_a_broken_file_is_named_with_the_place(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('[{"question_type": "a", "haystack_dates": ["soon"]}]')
    with pytest.raises(InputError, match=r"x\.json: 0\.\w+"):
        load_dataset(tmp_path)


@pytest.mark.parametrize(
    ("name", "people", "queries"),
    [("locomo", 10, 1137), ("implexconv", 4, 19), ("personalens", 6, 98), ("personamem", 5, 9)],
)
def test_published_files_that_this_machine_happens_to_have(name: str, people: int, queries: int) -> None:
    if not (RAW / name).is_dir():
        pytest.skip("not on this machine")
    dataset = load_dataset(RAW / name)
    assert (len(dataset.users), len(dataset.queries)) == (people, queries)


def test_words() -> None:
    said = content_words("The hives can't stay alone.")
    assert said == {"hives", "t", "stay", "alone"}
    assert share_said(frozenset({"hives", "roof"}), said) == 0.5
    assert share_said(frozenset(), said) == 0.0
    assert where_said("hives alone", [content_words("hives"), said, said]) == [1, 2]
    assert where_said("hives alone", [frozenset()]) == []
