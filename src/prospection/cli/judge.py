"""`prospection judge`: which of two answers is better, by a model and by people, and how far they agree."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from prospection.cli.options import (
    Place,
    as_json,
    model_options,
    placed,
    print_json,
    print_value,
    progress_bars,
    settings_of,
)
from prospection.cli.words import spent, suggested
from prospection.types import Usage

if TYPE_CHECKING:
    from prospection.config import ModelsSettings
    from prospection.evaluation.judge.agreement import Agreement
    from prospection.evaluation.judge.ballots import Label
    from prospection.evaluation.judge.pairs import Pair
    from prospection.evaluation.judge.verdicts import Judgement
    from prospection.evaluation.judge.winrate import Judged

__all__ = ["judge"]

_FILE = click.Path(path_type=Path, dir_okay=False)

_names = click.option(
    "--names", nargs=2, metavar="A B", help="What the systems are called.  [default: names of the files]"
)
_seed = click.option("--seed", default=0, show_default=True, help="Draws sides and samples; keep it to get the same.")


@click.group(name="judge")
def judge() -> None:
    """Compare answers, blind: by a model, by people, and both with each other.

    A file of answers is JSONL, one a line: {"id", "query", "answer"}, and perhaps "dataset" and "user".
    """


@judge.command()
@click.argument("answers_a", type=_FILE)
@click.argument("answers_b", type=_FILE)
@click.option("--out", type=_FILE, default=Path("verdicts.jsonl"), show_default=True, help="File of the verdicts.")
@click.option("--at-once", default=8, show_default=True, type=click.IntRange(1, 64), help="Calls kept open.")
@click.option("--dry-run", is_flag=True, help="Estimate calls, tokens and money, and call no model.")
@_names
@as_json
@model_options
@placed
def run(
    place: Place,
    answers_a: Path,
    answers_b: Path,
    out: Path,
    at_once: int,
    dry_run: bool,
    names: tuple[str, str] | None,
    json_: bool,
) -> None:
    """Let a model judge every pair in both orders, and count wins.

    A run that was stopped goes on from the file of its verdicts; what failed is tried again. The file can hold several
    comparisons; a verdict is used again only for the same systems, request and answers. A request that one file alone
    answers is left out.
    """
    import anyio

    from prospection.evaluation.judge.verdicts import judge_pairs
    from prospection.models.open import open_chat

    pairs = _paired(answers_a, answers_b, names)
    if dry_run:
        _say_estimate(pairs, settings_of(place).models, json_)
        return
    model = open_chat(settings_of(place).models)
    if model is None:
        raise click.UsageError("a judge is a language model; name one with --model, for example --model openai:gpt-4o")
    with progress_bars("Judging") as (judging,):

        async def all_pairs() -> list[Judgement]:
            return await judge_pairs(pairs, model, out, at_once=at_once, progress=judging)

        judgements = anyio.run(all_pairs)
    _show(judgements, "json" if json_ else "text")
    click.echo(f"Took {spent(sum((one.usage for one in judgements), Usage()))}.", err=True)
    if failed := sum(one.verdict is None for one in judgements):
        raise click.ClickException(f"{failed} of {len(judgements)} calls failed; run the same again to repeat them")


@judge.command()
@click.argument("verdicts", type=_FILE, nargs=-1)
@click.option("--people", type=_FILE, metavar="LABELS", help="CSV file of what people said; needs --pairs.")
@click.option("--pairs", type=_FILE, help="The pairs that people were shown.")
@click.option("--format", "format_", type=click.Choice(["text", "markdown", "csv", "json"]), default="text")
def report(verdicts: Sequence[Path], people: Path | None, pairs: Path | None, format_: str) -> None:
    """Count the wins in files of verdicts and in what people said, by systems, judge and data set.

    Of several people who judged a pair the majority counts; a draw is a tie.
    """
    from prospection.evaluation.judge.ballots import read_labels
    from prospection.evaluation.judge.pairs import read_pairs
    from prospection.evaluation.judge.verdicts import read_judgements
    from prospection.evaluation.judge.winrate import judged_by_people

    if not verdicts and people is None:
        raise click.UsageError("name files of verdicts, or --people LABELS and --pairs PAIRS")
    if (people is None) != (pairs is None):
        raise click.UsageError("--people and --pairs belong together; give both")
    said = judged_by_people(read_labels(people), read_pairs(pairs)) if people and pairs else []
    _show(read_judgements(verdicts), format_, said)


@judge.command()
@click.argument("answers_a", type=_FILE)
@click.argument("answers_b", type=_FILE)
@click.option("--out", type=_FILE, default=Path("pairs.jsonl"), show_default=True, help="File of the pairs.")
@click.option(
    "--share",
    default=1.0,
    show_default=True,
    type=click.FloatRange(0, 1, min_open=True),
    help="Share of each data set.",
)
@_seed
@_names
def pairs(answers_a: Path, answers_b: Path, out: Path, share: float, seed: int, names: tuple[str, str] | None) -> None:
    """Put pairs of answers into one file, for people to compare."""
    from prospection.evaluation.judge.pairs import sample_pairs, write_pairs

    chosen = sample_pairs(_paired(answers_a, answers_b, names), share, seed=seed)
    write_pairs(chosen, out)
    click.echo(f"{len(chosen)} pairs in {out}. Next: {suggested('judge', 'serve', out)}", err=True)


@judge.command()
@click.argument("pairs", type=_FILE)
@click.option("--db", type=_FILE, help="File of what people say.  [default: PAIRS with .db]")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8737, show_default=True, type=click.IntRange(0, 65535), help="0 for any free one.")
def serve(pairs: Path, db: Path | None, host: str, port: int) -> None:
    """Serve a page on which people compare the pairs of PAIRS, blind.

    Give annotators the link that is printed; ?name=ADA behind it spares them to type a name. Everybody goes on where
    they stopped. Ctrl-C ends it; the same command again serves the same link.
    """
    from prospection.evaluation.annotate.serve import serve as serve_box

    def ready(link: str) -> None:
        click.echo(
            f"Annotators open {link}\nCtrl-C ends it. Then: {suggested('judge', 'labels', pairs)} > labels.csv",
            err=True,
        )

    serve_box(_box(pairs, db), host=host, port=port, ready=ready)


@judge.command()
@click.argument("pairs", type=_FILE)
@click.option("--db", type=_FILE, help="File of what people said.  [default: PAIRS with .db]")
def labels(pairs: Path, db: Path | None) -> None:
    """Write what people said on the page as CSV."""
    from prospection.evaluation.annotate.box import EXPORT
    from prospection.evaluation.judge.tables import as_csv

    click.echo(as_csv([EXPORT, *_box(pairs, db).rows()]), nl=False)


@judge.command()
@click.argument("pairs", type=_FILE)
@_seed
def sheet(pairs: Path, seed: int) -> None:
    """Write pairs as a blind CSV sheet, for a crowd platform."""
    from prospection.evaluation.judge.ballots import sheet_rows
    from prospection.evaluation.judge.pairs import read_pairs
    from prospection.evaluation.judge.tables import as_csv

    click.echo(as_csv(sheet_rows(read_pairs(pairs), seed=seed)), nl=False)


@judge.command(name="read-sheet")
@click.argument("pairs", type=_FILE)
@click.argument("filled", type=_FILE)
@_seed
def read_sheet(pairs: Path, filled: Path, seed: int) -> None:
    """Turn a filled sheet into labels as CSV. It needs the columns pair and verdict (1, 2 or tie)."""
    from prospection.evaluation.judge.ballots import read_sheet as read
    from prospection.evaluation.judge.pairs import read_pairs
    from prospection.evaluation.judge.tables import as_csv

    found = read(filled, read_pairs(pairs), seed=seed)
    click.echo(as_csv([("annotator", "pair", "verdict"), *found]), nl=False)


@judge.command()
@click.argument("labels", type=_FILE)
@click.argument("verdicts", type=_FILE, nargs=-1)
@as_json
def agreement(labels: Path, verdicts: Sequence[Path], json_: bool) -> None:
    """Say how far people agree with a judge, and with each other.

    LABELS is a CSV file of people, VERDICTS are files of `judge run`, by one judge. People's majority is compared;
    without VERDICTS only people with each other.
    """
    from prospection.evaluation.judge.agreement import agreement as measure
    from prospection.evaluation.judge.agreement import between_annotators, confusion, majority
    from prospection.evaluation.judge.ballots import read_labels
    from prospection.evaluation.judge.verdicts import read_judgements
    from prospection.evaluation.judge.winrate import combine, verdicts_by_pair

    said: list[Label] = read_labels(labels)
    between = between_annotators(said)
    with_judge = None
    if verdicts:
        judged = verdicts_by_pair(combine(read_judgements(verdicts)))
        people = majority(said)
        matrix = confusion(people, judged)
        if not any(map(sum, matrix)):
            raise click.ClickException("people and judge have no pair in common; name files about the same pairs")
        if without := len(people.keys() - judged.keys()):
            click.echo(f"{without} of {len(people)} pairs that people judged have no verdict of the judge.", err=True)
        with_judge = measure(matrix)
    if json_:
        print_json(_agreement_json(with_judge, between))
    else:
        _show_agreement(with_judge, between)


def _paired(answers_a: Path, answers_b: Path, names: tuple[str, str] | None) -> list[Pair]:
    from prospection.evaluation.judge.pairs import pair_answers

    found = pair_answers(answers_a, answers_b, names=names)
    for path, only in ((answers_a, found.only_a), (answers_b, found.only_b)):
        if only:
            click.echo(
                f"Requests left out because only {str(path)!r} answers them: {len(only)}, for example {only[0]!r}.",
                err=True,
            )
    return found.pairs


def _say_estimate(pairs: Sequence[Pair], models: ModelsSettings, json_: bool) -> None:
    from dataclasses import replace

    from prospection.evaluation.judge.verdicts import estimate_judging
    from prospection.evaluation.prices import price_of

    found = estimate_judging(pairs)
    price = price_of(models.chat, models.base_url) if models.chat else None
    found = replace(found, cost=None if price is None else price.of(found.tokens_in, found.tokens_out))
    if json_:
        print_value(found)
    else:
        click.echo(
            f"{len(pairs)} pairs in both orders: about {spent(found)}, less what the file of verdicts holds already."
        )


def _box(pairs: Path, db: Path | None) -> Any:  # noqa: ANN401 - a BallotBox, which loads SQLite
    from prospection.evaluation.annotate.box import BallotBox
    from prospection.evaluation.judge.pairs import read_pairs

    return BallotBox(read_pairs(pairs), db or pairs.with_suffix(".db"))


def _show(judgements: Sequence[Judgement], format_: str, people: Sequence[Judged] = ()) -> None:
    from prospection.evaluation.judge.tables import HEAD, as_csv, as_markdown, judge_json, judge_rows

    if format_ == "json":
        print_json(judge_json(judgements, people))
        return
    rows = judge_rows(judgements, people)
    if format_ in {"markdown", "csv"}:
        click.echo((as_markdown if format_ == "markdown" else as_csv)([HEAD, *rows]).rstrip("\n"))
        return
    if not rows:
        click.echo("No pair has been judged in both orders yet.", err=True)
        return
    # On its side: a terminal has room for few columns, and there are more figures than comparisons.
    head, *figures = zip(HEAD, *rows, strict=True)
    _print_table(head, *figures)


def _show_agreement(with_judge: Agreement | None, between: dict[tuple[str, str], Agreement]) -> None:
    from prospection.evaluation.judge.tables import agreement_rows

    if with_judge is not None:
        head, *rows = agreement_rows(with_judge)
        _print_table(("people \\ judge, %", *head[1:]), *rows)
        click.echo(f"People and judge: {_sentence(with_judge)}")
    for (one, other), found in between.items():
        click.echo(f"{one} and {other}: {_sentence(found)}")
    if with_judge is None and not between:
        click.echo("No two annotators share a pair.", err=True)


def _sentence(found: Agreement) -> str:
    kappa = (
        "kappa is undefined, because both always say the same"
        if found.kappa is None or found.interval is None
        else f"Cohen's kappa {found.kappa:.3f} (95 % {found.interval[0]:.3f} to {found.interval[1]:.3f})"
    )
    return f"{found.pairs} pairs, raw agreement {found.raw:.3f}, by chance {found.expected:.3f}; {kappa}."


def _agreement_json(with_judge: Agreement | None, between: dict[tuple[str, str], Agreement]) -> dict[str, Any]:
    from prospection.evaluation.judge.agreement import SIDES
    from prospection.serial import to_json

    return {
        "labels": list(SIDES),
        "people_and_judge": None if with_judge is None else {"pairs": with_judge.pairs, **to_json(with_judge)},
        "people": [
            {"annotators": [one, other], "pairs": found.pairs, **to_json(found)}
            for (one, other), found in between.items()
        ],
    }


def _print_table(head: Sequence[str], *rows: Sequence[str]) -> None:
    from rich.table import Column, Table

    from prospection.cli.show import console

    # Folded, because a figure that is cut short reads as another figure.
    table = Table(*(Column(name, overflow="fold") for name in head), box=None, header_style="bold")
    for row in rows:
        table.add_row(*row)
    console().print(table)
