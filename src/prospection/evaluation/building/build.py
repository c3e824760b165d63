"""The MemoryQuest recipe from profiles to a folder: requests, timelines, conversations, facts, checked references.

Every reply is on tape before it is used: a build that was killed or met a ceiling plays what it had paid for and asks
on; only calls under way at a kill are lost, and calls that failed are made again. A person is written when finished.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import anyio.to_thread

from prospection.errors import ReplyError
from prospection.evaluation.building.dialogues import Expanded, Writer
from prospection.evaluation.building.layout import Folder, QuestFact, QuestQuery, QuestSession, QuestUser
from prospection.evaluation.building.planned import FEWEST, Planned, Recipe, cosines, plan_queries
from prospection.evaluation.building.profiles import Profile
from prospection.evaluation.building.timelines import lay_out
from prospection.evaluation.files import read_json
from prospection.evaluation.rivals.questions import Questions
from prospection.evaluation.runs.plan import PlanBudget
from prospection.evaluation.runs.tape import Tape, TapedChat, working
from prospection.evaluation.side_by_side import side_by_side
from prospection.protocols import ChatModel, Embedder, Progress
from prospection.serial import to_json

__all__ = ["build_quest"]

PROMPTS = ("quest_queries", "quest_timeline", "quest_dialogue", "quest_align", "extract")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Story:
    """A request with its conversations."""

    query: Planned
    events: tuple[Expanded, ...]


async def build_quest(
    profiles: Sequence[Profile],
    folder: Folder,
    recipe: Recipe,
    *,
    model: ChatModel,
    embedder: Embedder,
    budget: PlanBudget | None = None,
    at_once: int = 4,
    progress: Progress | None = None,
) -> list[QuestUser]:
    """Build the users that are not in the folder yet.

    Args:
        embedder: Its cosines decide what is far from a request.
        budget: Ceilings over all calls for this folder, those of earlier runs included.
        at_once: Requests of a person that are worked on side by side.
        progress: Called with the people done and in all.

    Returns:
        All users, in the order of the profiles. One for whom no request came through has no queries, and notes.

    Raises:
        InputError: The folder was begun with something else, or cannot be written.
        BudgetExceededError: A ceiling is reached; what is paid for is kept.
        ModelError: No further call can be made.
    """
    made_with = {"model": model.name, "encoder": embedder.id, "recipe": to_json(recipe)}
    await anyio.to_thread.run_sync(folder.begin, made_with, PROMPTS)
    tape = Tape(folder.recording, budget=budget, retry_failed=True)
    users = []
    for done, profile in enumerate(profiles):
        if progress is not None:
            progress(done, len(profiles))
        file = folder.user_file(profile.user_id)
        if file.is_file():
            users.append(await anyio.to_thread.run_sync(read_json, file, QuestUser))
            continue
        with working(f"quest/index/{profile.user_id}", once=True):
            taped = TapedChat(tape, model.name, model)
            questions = Questions(taped, about=profile.user_id)
            writer = Writer(profile=profile, recipe=recipe, model=taped, questions=questions, embedder=embedder)
            users.append(await _build_user(writer, folder, at_once))
    if progress is not None:
        progress(len(profiles), len(profiles))
    return users


async def _build_user(writer: Writer, folder: Folder, at_once: int) -> QuestUser:
    queries, notes = await plan_queries(
        writer.profile, writer.recipe, questions=writer.questions, embedder=writer.embedder
    )
    stories, dropped = await _tell(writer, queries, at_once)
    return await _assemble(writer, stories, [*notes, *dropped], folder)


async def _tell(writer: Writer, queries: Sequence[Planned], at_once: int) -> tuple[list[_Story], list[str]]:
    """Work the requests out side by side. After a failure nothing new begins; what is paid for is waited for."""

    async def one(number: int, query: Planned) -> _Story | str:
        try:
            return await _story(writer, query, f"request {number}")
        except ReplyError as error:
            return f"{query.text} - {error}"

    jobs = [partial(one, number, query) for number, query in enumerate(queries, start=1)]
    told = await side_by_side(jobs, at_once=at_once, finish=True)
    return [one for one in told if isinstance(one, _Story)], [one for one in told if isinstance(one, str)]


async def _story(writer: Writer, query: Planned, item: str) -> _Story:
    events = await lay_out(query, writer.profile, questions=writer.questions, item=item)
    expanded = [await writer.expand(event, query, item=f"{item}, event {n}") for n, event in enumerate(events, 1)]
    return _Story(query=query, events=tuple(expanded))


async def _assemble(writer: Writer, stories: Sequence[_Story], notes: list[str], folder: Folder) -> QuestUser:
    """Number sessions and facts in order of time, point the requests to them, and write all files of the user."""
    told = [(story, n) for story, _ in enumerate(stories) for n, _ in enumerate(stories[story].events)]
    told.sort(key=lambda place: stories[place[0]].events[place[1]].event.date)  # stable: of a day, as they were made
    sessions: list[QuestSession] = []
    dialogues: list[dict[str, object]] = []
    cues: dict[str, list[str]] = {}
    fact_ids: dict[tuple[int, int, int], str] = {}
    for number, (story, n) in enumerate(told, 1):
        event = stories[story].events[n]
        facts = []
        for place, fact in enumerate(event.facts):
            fact_id = fact_ids[story, n, place] = f"f{len(fact_ids) + 1:04}"
            facts.append(
                QuestFact(fact_id=fact_id, info=fact.info, type=fact.type.value, entities=list(fact.related_entities))
            )
            cues[fact_id] = [cue.text for cue in fact.cues]
        name, day = f"s{number:03}", event.event.date.isoformat()
        sessions.append(
            QuestSession.model_validate({"session_id": name, "date": day, "topic": event.event.topic, "facts": facts})
        )
        messages = [{"role": message.role, "content": message.content} for message in event.messages]
        dialogues.append({"session_id": name, "date": day, "messages": messages})
    infos = {fact.fact_id: fact.info for session in sessions for fact in session.facts}
    queries: list[QuestQuery] = []
    for place, story_ in enumerate(stories):
        why = {
            fact_ids[place, n, at]: story_.query.references[number - 1].why
            for n, event in enumerate(story_.events)
            for number, at in event.found.items()
        }
        lost = await _lost(writer, story_.query, [infos[fact_id] for fact_id in why])
        if lost is not None:
            notes.append(f"{story_.query.text} - {lost}")
            continue
        queries.append(_query(f"q{len(queries) + 1}", story_.query, why))
    user = QuestUser(
        user_id=writer.profile.user_id, persona=writer.profile.persona, sessions=sessions, queries=queries, notes=notes
    )
    await anyio.to_thread.run_sync(_write, folder, user, dialogues, cues)
    return user


async def _lost(writer: Writer, query: Planned, infos: Sequence[str]) -> str | None:
    """Say why a request cannot be kept as its references are worded now; None when it can."""
    if len(infos) < FEWEST:
        return f"only {len(infos)} of its {len(query.references)} references were found back"
    near = await cosines(writer.embedder, query.text, infos)
    mean, gamma = sum(near) / len(near), writer.recipe.gamma
    return f"as extracted, its references have mean cosine {mean:.2f}, above {gamma:g}" if mean > gamma else None


def _query(name: str, query: Planned, why: dict[str, str]) -> QuestQuery:
    return QuestQuery.model_validate(
        {"query_id": name, "date": query.at.isoformat(), "query": query.text, "references": list(why), "why": why}
    )


def _write(folder: Folder, user: QuestUser, dialogues: list[dict[str, object]], cues: dict[str, list[str]]) -> None:
    folder.write_dialogues(user.user_id, dialogues)
    if any(cues.values()):
        folder.write_cues(user.user_id, cues)
    folder.write_user(user)  # last: a user file says that the user is finished
