"""`prospection quest`: build a benchmark, from profiles or from one's own memory, and check it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from prospection.cli.options import (
    Place,
    as_json,
    encoder_option,
    memory_options,
    model_options,
    open_memory,
    placed,
    print_value,
    progress_bars,
    settings_of,
)
from prospection.cli.words import suggested

if TYPE_CHECKING:
    from prospection.config import ModelsSettings
    from prospection.evaluation.building.layout import Folder, QuestUser
    from prospection.evaluation.building.review import Reviewed
    from prospection.evaluation.building.validation import Validation
    from prospection.protocols import ChatModel, Embedder

__all__ = ["quest"]

R = TypeVar("R")

_FOLDER = click.Path(path_type=Path, file_okay=False)
_out = click.option("--out", type=_FOLDER, required=True, help="Folder to write; run again, it goes on there.")
_gamma = click.option(
    "--gamma", default=0.3, show_default=True, type=click.FloatRange(-1, 1), help="Largest mean cosine to references."
)
_queries = click.option("--queries", default=8, show_default=True, type=click.IntRange(1), help="Requests a person.")


def _ceilings(command: Callable[..., R]) -> Callable[..., R]:
    calls = click.option("--max-calls", type=click.IntRange(0), help="Stop at so many calls, earlier runs included.")
    tokens = click.option("--max-tokens", type=click.IntRange(0), help="Stop at so many tokens.")
    cost = click.option("--max-cost", type=click.FloatRange(0), help="Stop at so many dollars.")
    return calls(tokens(cost(command)))


@click.group(name="quest")
def quest() -> None:
    """Build a benchmark, from profiles or from your own memory, and check it."""


@quest.command()
@click.argument("profiles", type=click.Path(path_type=Path))
@_out
@_queries
@_gamma
@click.option("--until", type=click.DateTime(["%Y-%m-%d"]), help="Latest day of a request.  [default: today]")
@click.option("--users", type=click.IntRange(1), help="Only the first so many profiles.")
@_ceilings
@encoder_option
@model_options
@placed
def build(
    place: Place,
    profiles: Path,
    out: Path,
    queries: int,
    gamma: float,
    until: datetime | None,
    users: int | None,
    max_calls: int | None,
    max_tokens: int | None,
    max_cost: float | None,
) -> None:
    """Make people up after PROFILES: requests, timelines, conversations and facts (the recipe of MemoryQuest).

    PROFILES is a folder of PersonaLens, or JSON or JSONL of {"user_id": ..., "persona": ...}. Cosines are those of
    --encoder. A build that was stopped goes on; no reply is paid for twice.
    """
    import anyio

    from prospection.evaluation.building.build import build_quest
    from prospection.evaluation.building.layout import Folder
    from prospection.evaluation.building.planned import Recipe
    from prospection.evaluation.building.profiles import read_profiles
    from prospection.evaluation.runs.plan import PlanBudget

    people, settings, folder = read_profiles(path=profiles)[:users], settings_of(place), Folder(out)
    recipe = Recipe(
        until=until.date() if until else _begun(folder) or datetime.now(UTC).date(),
        queries=queries,
        gamma=gamma,
        cues=settings.remember.cues_per_fact,
        max_session_tokens=settings.remember.max_session_tokens,
    )
    model = _model(settings.models)
    budget = PlanBudget(max_calls=max_calls, max_tokens=max_tokens, max_cost=max_cost)
    with progress_bars("Building people") as (building,):

        async def all_people() -> list[QuestUser]:
            embedder = await _encoder(settings.models, out)
            return await build_quest(
                people, folder, recipe, model=model, embedder=embedder, budget=budget, progress=building
            )

        built = anyio.run(all_people)
    for user in built:
        click.echo(
            f"{folder.user_file(user.user_id)}: {len(user.queries)} requests, {len(user.sessions)} conversations"
            + (f"; {len(user.notes)} dropped on the way, see its notes" if user.notes else ""),
            err=True,
        )
    if not any(user.queries for user in built):
        raise click.ClickException("no request was kept; the notes in the people's files say why each was dropped")
    click.echo(f"Next: {suggested('quest', 'validate', out)}", err=True)


@quest.command(name="from-store")
@_out
@_queries
@_gamma
@_ceilings
@memory_options
@model_options
def from_store(
    place: Place,
    user: str,
    out: Path,
    queries: int,
    gamma: float,
    max_calls: int | None,
    max_tokens: int | None,
    max_cost: float | None,
) -> None:
    """Draft requests over your own memories, for your review.

    Your facts go to the model that you name, and to an encoder if you name a remote one; nothing else leaves this
    machine. Nothing is in the data set before you accept it: see `quest review`.
    """
    import anyio

    from prospection.evaluation.building.layout import Folder
    from prospection.evaluation.building.own import draft_from_facts
    from prospection.evaluation.runs.plan import PlanBudget

    models = settings_of(place).models
    model, facts = _model(models), []
    with open_memory(place) as memory:
        after = None
        while page := memory.facts(user=user, after=after, limit=500):
            facts += page
            after = page[-1].fid
    click.echo(f"{len(facts)} facts of {user!r} go to {model.name} and nowhere else.", err=True)
    budget = PlanBudget(max_calls=max_calls, max_tokens=max_tokens, max_cost=max_cost)

    async def draft() -> QuestUser:
        return await draft_from_facts(
            user,
            facts,
            Folder(out),
            at=datetime.now(UTC),
            model=model,
            embedder=await _encoder(models, out),
            queries=queries,
            gamma=gamma,
            budget=budget,
        )

    drafted = anyio.run(draft)
    click.echo(f"{len(drafted.queries)} requests in {out / 'review.md'}, {len(drafted.notes)} rejected.", err=True)
    click.echo(f"Next: {suggested('quest', 'review', out)}, or edit the file and add --apply.", err=True)


@quest.command()
@click.argument("folder", type=_FOLDER)
@click.option("--apply", is_flag=True, help="Ask nothing; take the review file as it is edited.")
def review(folder: Path, apply: bool) -> None:
    """Go through the drafted requests of FOLDER: y accepts, n rejects, e edits and accepts, q ends for now.

    What is accepted is written as a data set; `quest review` again goes on with what is open.
    """
    from prospection.evaluation.building.layout import Folder
    from prospection.evaluation.building.review import apply_review, read_review, write_review

    place = Folder(folder)
    draft, reviewed = read_review(place)
    if not apply:
        infos = {fact.fact_id: fact.info for session in draft.sessions for fact in session.facts}
        for at, one in enumerate(reviewed):
            if one.verdict:
                continue
            decided = _ask(one, infos, f"{at + 1} of {len(reviewed)}")
            if decided is None:
                break
            reviewed[at] = decided
            write_review(place, draft, reviewed)
    user = apply_review(place)
    click.echo(f"{len(user.queries)} requests accepted, in {place.user_file(user.user_id)}", err=True)
    click.echo(f"Next: {suggested('quest', 'validate', folder)}", err=True)


@quest.command()
@click.argument("folder", type=_FOLDER)
@_gamma
@as_json
@encoder_option
@placed
def validate(place: Place, folder: Path, gamma: float, json_: bool) -> None:
    """Check a data set of this layout: counts, similarities, leaks; exit code 1 when it is broken."""
    import anyio

    from prospection.evaluation.building.validation import read_users
    from prospection.evaluation.building.validation import validate as check

    users, models = read_users(folder), settings_of(place).models

    async def checked() -> Validation:
        return await check(users, embedder=await _encoder(models, None), gamma=gamma)

    found = anyio.run(checked)
    if json_:
        print_value(found)
    else:
        _show(found)
    if found.faults:
        raise click.ClickException(f"{len(found.faults)} faults; the first: {found.faults[0]}")


def _ask(one: Reviewed, infos: dict[str, str], where: str) -> Reviewed | None:
    click.echo(f"\n{where}: {one.query.query}")
    for name in one.query.references:
        click.echo(f"  {infos[name]}\n      why: {one.query.why.get(name, '')}")
    key = ""
    while key not in set("yneq"):
        click.echo("y accept, n reject, e edit, q later: ", nl=False, err=True)
        try:
            key = click.getchar().lower()
        except OSError as error:
            raise click.ClickException("there is no terminal to ask; edit the review file and add --apply") from error
        click.echo(key, err=True)
    if key == "q":
        return None
    if key == "e":
        words = " ".join(click.prompt("Request", default=one.query.query, err=True).split())
        one = replace(one, query=one.query.model_copy(update={"query": words}))
    return replace(one, verdict="reject" if key == "n" else "accept")


def _show(found: Validation) -> None:
    from rich.table import Table

    from prospection.cli.show import console

    counts = Table("users", "sessions", "facts", "requests", "references", "leaks", "faults", box=None)
    numbers = (found.users, found.sessions, found.facts, found.queries, found.references)
    counts.add_row(*map(str, (*numbers, len(found.leaks), len(found.faults))))
    console().print(counts)
    if found.mean is not None:
        near = Table("least", *(f"{tenth}0 %" for tenth in range(1, 10)), "largest", box=None)
        near.add_row(*(f"{value:.2f}" for value in found.deciles))
        console().print(near)
        click.echo(f"Cosines of requests with references under {found.encoder}; mean {found.mean:.3f}.")
    for leak in found.leaks:
        click.echo(f"leak   {leak.user}-{leak.query}, {leak.fact}: {', '.join(leak.words)}")
    for fault in found.faults:
        click.echo(f"fault  {fault}")


def _begun(folder: Folder) -> date | None:
    """The last day with which a build was begun, so that it can go on another day."""
    until = ((folder.made_with() or {}).get("recipe") or {}).get("until")
    return date.fromisoformat(until) if until else None


def _model(models: ModelsSettings) -> ChatModel:
    from prospection.models.open import open_chat

    model = open_chat(models)
    if model is None:
        raise click.UsageError("requests are written by a language model; name one, for example --model openai:gpt-4o")
    return model


async def _encoder(models: ModelsSettings, out: Path | None) -> Embedder:
    """Open the encoder; what a remote one is paid for is kept in the folder."""
    import anyio

    from prospection.evaluation.runs.session import LOCAL
    from prospection.models.embedding_cache import CachedEmbedder
    from prospection.models.encoders import open_encoder

    encoder = await open_encoder(models.encoder, call_timeout=models.timeout, retries=models.retries)
    if out is None or models.encoder in LOCAL:
        return encoder
    await anyio.Path(out).mkdir(parents=True, exist_ok=True)
    return CachedEmbedder(encoder, path=out / "embeddings.db")
