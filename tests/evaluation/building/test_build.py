"""From profiles to a folder that can be measured: the whole recipe, what is rejected, and going on after a stop."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest

from building import DAYS, FACTS, QUERY, NovelWriter, request, timeline, unreadable
from prospection.errors import BudgetExceededError, EndpointError, InputError
from prospection.evaluation.building.build import build_quest
from prospection.evaluation.building.layout import Folder, QuestUser
from prospection.evaluation.building.own import draft_from_facts
from prospection.evaluation.building.planned import Planned, PlannedFact, Recipe
from prospection.evaluation.building.profiles import Profile, read_profiles
from prospection.evaluation.building.timelines import Event, timeline_faults
from prospection.evaluation.building.validation import read_users, validate
from prospection.evaluation.datasets import load_dataset
from prospection.evaluation.runs.plan import PlanBudget
from prospection.protocols import ChatReply, ChatRequest
from prospection.types import Fact
from remembered import NOW, WordEmbedder

ADA = Profile(user_id="ada", persona="A retired planner in Olten")
RECIPE = Recipe(until=date(2025, 12, 31), queries=1)


async def build(
    folder: Path, model: Any, *, recipe: Recipe = RECIPE, budget: PlanBudget | None = None, embedder: Any = None
) -> QuestUser:
    (user,) = await build_quest(
        [ADA], Folder(folder), recipe, model=model, embedder=embedder or WordEmbedder(), budget=budget
    )
    return user


@pytest.mark.anyio
async def test_a_person_is_made_and_can_be_measured(tmp_path: Path) -> None:
    model = NovelWriter()
    user = await build(tmp_path, model)
    assert model.stages.count("quest_dialogue") == model.stages.count("extract") == 5
    assert "quest_align" not in model.stages  # equal words are certain
    (query,) = user.queries
    infos = {fact.fact_id: fact.info for session in user.sessions for fact in session.facts}
    assert [infos[name] for name in query.references] == list(FACTS)
    assert query.why[query.references[0]] == f"forgets: {FACTS[0]}"
    assert [f"{session.date:%m-%d}" for session in user.sessions] == ["01-01", "02-11", "03-11", "04-11", "05-01"]
    assert user.notes == []

    dataset = load_dataset(tmp_path)
    assert [len(one.references) for one in dataset.queries] == [3]
    assert dataset.notes == ()
    assert all(fact.cues for fact in dataset.users[0].facts)
    dialogues = json.loads((tmp_path / "dialogues" / "user-ada.json").read_text())
    assert [len(session["messages"]) for session in dialogues["sessions"]] == [5, 6, 6, 6, 5]
    assert (await validate(read_users(tmp_path), embedder=WordEmbedder())).faults == ()


@pytest.mark.anyio
async def test_near_and_misshapen_candidates_are_rejected_with_the_reason(tmp_path: Path) -> None:
    near = request(FACTS[0])
    early = request("Early", at="2025-01-01")
    late = request("Late", at="2026-01-01")
    few = {**request("Few"), "references": request()["references"][:2]}
    model = NovelWriter(quest_queries=[{"queries": [near]}, {"queries": [early]}, unreadable()])
    user = await build(tmp_path / "a", model)
    assert user.queries == []  # three chances for one request
    assert "mean cosine" in user.notes[0]
    assert "not later than its reference" in user.notes[1]
    assert "could not be used" in user.notes[2]
    assert user.notes[0] in model.asked[1].user
    user = await build(tmp_path / "b", NovelWriter(quest_queries=[{"queries": [late]}, {"queries": [few]}]))
    assert "after 2025-12-31" in user.notes[0]
    assert "2 references" in user.notes[1]
    assert len(user.queries) == 1


@pytest.mark.anyio
async def test_a_timeline_that_breaks_a_rule_is_asked_for_again_and_at_last_dropped(tmp_path: Path) -> None:
    short = timeline(("2025-01-01", [1, 2, 3]))
    model = NovelWriter(quest_timeline=[short])
    assert len((await build(tmp_path / "a", model)).queries) == 1
    assert "there are 1 events" in [asked.user for asked in model.asked if asked.stage == "quest_timeline"][1]
    user = await build(tmp_path / "b", NovelWriter(quest_timeline=[short] * 3))
    assert user.queries == []
    assert "no timeline" in user.notes[0]


def test_the_rules_of_a_timeline() -> None:
    references = tuple(PlannedFact(info=fact, date=day, why="") for fact, day in zip(FACTS, DAYS, strict=True))
    query = Planned(text=QUERY, at=date(2025, 6, 1), references=references)
    days = ["2025-02-10", "2025-02-11", "2025-03-01", "2025-04-11", "2025-06-01"]
    events = [
        Event.model_validate({"date": day, "topic": "t", "summary": "s", "references": numbers})
        for day, numbers in zip(days, ([], [1], [2, 1], [9], []), strict=True)
    ]
    assert timeline_faults(events, query) == [
        "the first event is on 2025-02-10, not before 2025-02-10",
        "the last event is on 2025-06-01, not before the request on 2025-06-01",
        "fact [1] stands in 2 events, not in one",
        "fact [3] stands in 0 events, not in one",
        "there is no fact [9]",
        "fact [2] is said on 2025-03-01, before its day",
    ]


@pytest.mark.parametrize("count", [4, 5, 10, 11])
def test_a_timeline_has_five_to_ten_events(count: int) -> None:
    references = tuple(PlannedFact(info=fact, date=day, why="") for fact, day in zip(FACTS, DAYS, strict=True))
    days = [f"2025-01-{n:02}" for n in range(1, count)] + ["2025-05-01"]
    events = [Event.model_validate({"date": day, "topic": "t", "summary": "s"}) for day in days]
    events[-1].references.extend([1, 2, 3])
    faults = timeline_faults(events, Planned(text=QUERY, at=date(2025, 6, 1), references=references))
    assert faults == ([] if count in {5, 10} else [f"there are {count} events, not 5 to 10"])


@pytest.mark.anyio
@pytest.mark.parametrize("count", [4, 5, 30, 31])
async def test_a_conversation_has_five_to_thirty_turns(count: int, tmp_path: Path) -> None:
    model = NovelWriter(quest_dialogue=[{"turns": [{"role": "user", "text": "It rains"}] * count}])
    user = await build(tmp_path, model)
    assert len(user.sessions) == 5
    again = [one.user for one in model.asked if one.stage == "quest_dialogue"][1]
    assert (f"it has {count} turns, not 5 to 30" in again) == (count in {4, 31})


@pytest.mark.anyio
@pytest.mark.parametrize("count", [2, 3, 5, 6])
async def test_a_request_has_three_to_five_references(count: int, tmp_path: Path) -> None:
    references = [{"info": f"Statement{n} holds", "date": DAYS[0], "why": "w"} for n in range(1, count + 1)]
    candidate = {"query": QUERY, "date": "2025-06-01", "references": references}
    days = ["2025-01-01", "2025-02-11", "2025-03-11", "2025-04-11", "2025-05-01"]
    placed = timeline(*((day, list(range(1, count + 1)) if n == 1 else []) for n, day in enumerate(days)))
    model = NovelWriter(quest_queries=[{"queries": [candidate]}, *[{"queries": []}] * 2], quest_timeline=[placed])
    user = await build(tmp_path, model)
    assert [len(query.references) for query in user.queries] == ([count] if count in {3, 5} else [])
    assert user.notes == ([] if count in {3, 5} else [f"{QUERY} - has {count} references, not 3 to 5"])


@pytest.mark.anyio
async def test_references_that_came_near_the_request_as_they_are_worded_now_drop_it(tmp_path: Path) -> None:
    near = {"facts": [{"info": f"{QUERY}: {fact}", "type": "Event"} for fact in FACTS]}
    days = ["2025-01-01", "2025-02-01", "2025-03-01", "2025-04-11", "2025-05-01"]
    placed = timeline(*((day, [1, 2, 3] if day == "2025-04-11" else []) for day in days))
    empty: dict[str, list[object]] = {"facts": []}
    model = NovelWriter(quest_timeline=[placed], extract=[empty] * 3 + [near], quest_align=[{"fact": 1}] * 3)
    user = await build(tmp_path, model)
    assert user.queries == []
    (note,) = user.notes
    assert note.startswith(f"{QUERY} - as extracted, its references have mean cosine 0.")


@pytest.mark.anyio
async def test_a_reference_that_is_not_found_back_is_written_again_and_then_lost(tmp_path: Path) -> None:
    chat = {"turns": [{"role": "user", "text": "Unrelated words"}] * 5}
    empty: dict[str, list[object]] = {"facts": []}
    model = NovelWriter(extract=[empty, empty])  # the filler, then the event with the first reference
    assert len((await build(tmp_path / "a", model)).queries) == 1
    assert f"not plainly say: {FACTS[0]}" in [one.user for one in model.asked if one.stage == "quest_dialogue"][2]
    user = await build(tmp_path / "b", NovelWriter(extract=[empty, empty, empty], quest_dialogue=[chat, chat]))
    assert user.queries == []
    assert user.notes == [f"{QUERY} - only 2 of its 3 references were found back"]
    assert len(user.sessions) == 5  # its conversations stay, as filler


@pytest.mark.anyio
async def test_the_better_attempt_at_a_conversation_stays(tmp_path: Path) -> None:
    empty: dict[str, list[object]] = {"facts": []}
    days = ["2025-01-01", "2025-02-01", "2025-03-01", "2025-04-11", "2025-05-01"]
    both = timeline(*((day, [1, 2, 3] if day == "2025-04-11" else []) for day in days))
    two = {"facts": [{"info": fact, "type": "Event"} for fact in FACTS[:2]]}
    three = {"facts": [{"info": fact, "type": "Event"} for fact in FACTS]}
    for number, (first, second, found) in enumerate([(three, empty, 3), (two, empty, 2), (two, three, 3)]):
        model = NovelWriter(quest_timeline=[both], extract=[empty] * 3 + [first, second])
        user = await build(tmp_path / str(number), model)
        assert [len(query.references) for query in user.queries] == ([3] if found == 3 else [])
        assert user.notes == ([] if found == 3 else [f"{QUERY} - only 2 of its 3 references were found back"])


@pytest.mark.anyio
async def test_a_second_attempt_that_cannot_be_read_leaves_the_first(tmp_path: Path) -> None:
    chat = {"turns": [{"role": "user", "text": text} for text in (*FACTS[:1], "b", "c", "d", "e")]}
    empty: dict[str, list[object]] = {"facts": []}
    model = NovelWriter(extract=[empty, empty], quest_dialogue=[chat, chat, unreadable()])
    user = await build(tmp_path, model)
    assert user.notes == [f"{QUERY} - only 2 of its 3 references were found back"]  # and not that a reply was no JSON
    assert len(user.sessions) == 5


@pytest.mark.anyio
async def test_a_model_decides_where_cosine_is_unsure(tmp_path: Path) -> None:
    reworded = {"facts": [{"info": "Her passport is void from March on", "type": "Event"}]}
    model = NovelWriter(extract=[{"facts": []}, reworded], quest_align=[{"fact": 1}])
    (query,) = (await build(tmp_path, model)).queries
    assert model.stages.count("quest_align") == 1
    assert len(query.references) == 3


@pytest.mark.anyio
async def test_a_request_over_ones_own_memory_is_drafted_once(tmp_path: Path) -> None:
    facts = [Fact(fid=f"f{n}", info=info, said_at=NOW) for n, info in enumerate(FACTS, start=1)]
    later = NOW + timedelta(days=1)
    folder, model = Folder(tmp_path), NovelWriter()  # it says the same each time
    draft = await draft_from_facts("ada", facts, folder, at=later, model=model, embedder=WordEmbedder(), queries=2)
    assert [query.query for query in draft.queries] == [QUERY]
    assert draft.notes[0] == f"{QUERY} - is there already"


class Killed(BaseException):
    """What a kill looks like from inside."""


class Fragile:
    """A model with which the process dies at a certain call."""

    name = "novel"

    def __init__(self, inner: NovelWriter, calls: int, dies: BaseException) -> None:
        self.inner, self.calls, self.dies = inner, calls, dies

    async def complete(self, request: ChatRequest[Any]) -> ChatReply[Any]:
        if len(self.inner.asked) >= self.calls:
            raise self.dies
        return await self.inner.complete(request)


@pytest.mark.anyio
@pytest.mark.parametrize("calls", [0, 1, 2, 3, 6, 11])
async def test_a_killed_build_goes_on_and_pays_for_nothing_twice(calls: int, tmp_path: Path) -> None:
    whole = await build(tmp_path / "whole", all_at_once := NovelWriter())
    before, after = NovelWriter(), NovelWriter()
    with pytest.raises((Killed, BaseExceptionGroup)):
        await build(tmp_path / "cut", Fragile(before, calls, Killed()))
    async with await anyio.open_file(tmp_path / "cut" / "recording.jsonl", "a") as file:
        await file.write('{"work": "cut sho')
    assert await build(tmp_path / "cut", after) == whole
    assert len(before.asked) + len(after.asked) == len(all_at_once.asked) == 12
    idle = NovelWriter()
    assert await build(tmp_path / "cut", idle) == whole
    assert idle.asked == []


@pytest.mark.anyio
async def test_a_ceiling_stops_the_build_and_a_higher_one_lets_it_go_on(tmp_path: Path) -> None:
    model = NovelWriter()
    with pytest.raises(BudgetExceededError, match="max_calls is 4"):
        await build(tmp_path, model, budget=PlanBudget(max_calls=4))
    with pytest.raises(BudgetExceededError, match=r"max_cost is 0\.06"):
        await build(tmp_path, model, budget=PlanBudget(max_cost=0.06))
    assert not (tmp_path / "user-ada.json").exists()
    await build(tmp_path, model, budget=PlanBudget(max_calls=12))
    assert len(model.asked) == 12


@pytest.mark.anyio
async def test_an_endpoint_that_failed_is_asked_again(tmp_path: Path) -> None:
    model = NovelWriter(quest_timeline=[EndpointError("down")])
    with pytest.raises(EndpointError):
        await build(tmp_path, model)
    assert len((await build(tmp_path, model)).queries) == 1


@pytest.mark.anyio
async def test_a_folder_goes_on_only_with_what_it_was_begun_with(tmp_path: Path) -> None:
    await build(tmp_path, NovelWriter())
    with pytest.raises(InputError, match="other recipe"):
        await build(tmp_path, NovelWriter(), recipe=replace(RECIPE, gamma=0.2))


def test_profiles_of_every_form(tmp_path: Path) -> None:
    lines = tmp_path / "people.jsonl"
    lines.write_text('{"user_id": "ada", "persona": "Counts."}\n\n{"user_id": 7, "age": 40, "likes": ["a", "b"]}\n')
    assert read_profiles(lines) == [
        Profile(user_id="ada", persona="Counts."),
        Profile(user_id="7", persona="age: 40\nlikes: a, b"),
    ]
    person = tmp_path / "lens" / "user3"
    person.mkdir(parents=True)
    data = {"affinities": {"Books": {"Genre": ["fantasy"], "Format": ""}}, "demographics": {"age": "18"}, "other": 1}
    (person / "profile.json").write_text(json.dumps(data))
    (profile,) = read_profiles(tmp_path / "lens")
    assert profile == Profile(user_id="user3", persona="demographics - age: 18\naffinities - Books - Genre: fantasy")


@pytest.mark.parametrize(
    ("text", "message"),
    [("[]", "lacks profiles"), ('{"user_id": "a"}', "lacks profiles"), ("[1]", "no profile"), ("{", "cannot be read")],
)
def test_profiles_that_are_none(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "people.json"
    file.write_text(text)
    with pytest.raises(InputError, match=message):
        read_profiles(file)
    file.write_text('[{"user_id": "a", "persona": "x"}, {"user_id": "a", "persona": "y"}]')
    with pytest.raises(InputError, match="twice"):
        read_profiles(file)
