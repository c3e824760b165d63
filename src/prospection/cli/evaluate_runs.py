"""`prospection eval run|report|compare|answers|datasets|plans`: runs from a plan to tables, plots and tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from prospection.cli.options import (
    Place,
    as_json,
    encoder_option,
    model_options,
    placed,
    print_json,
    print_value,
    progress_bars,
    settings_of,
)
from prospection.cli.words import suggested

if TYPE_CHECKING:
    from prospection.evaluation.runs.compare import Comparison
    from prospection.evaluation.runs.estimate import Estimate
    from prospection.evaluation.runs.rows import Row

__all__ = ["answers", "compare", "datasets", "plans", "report", "run"]

RUNS = Path("runs")

over_option = click.option(
    "--over",
    type=click.Choice(["people", "queries"]),
    default="people",
    show_default=True,
    help="What the permutation test takes for independent. Queries of one person are not: over queries p comes out "
    "too small, unless each person asked one.",
)


@click.command()
@click.argument("plan", metavar="PLAN", required=False)
@click.option("--data", "data", multiple=True, metavar="NAME=PATH", help="Where a data set of the plan is.")
@click.option("--out", metavar="DIR", help="Folder of the run.  [default: runs/ and the plan's name]")
@click.option("--dry-run", is_flag=True, help="Estimate calls, tokens and money, and call no model.")
@click.option("--resume", is_flag=True, help="Go on with a run that was begun in that folder.")
@click.option("--retry-failed", is_flag=True, help="Resume, and ask failed cases and answers again.")
@click.option("--replay", metavar="RUN", help="Make the rows of a run again from its recording, without a model.")
@encoder_option
@as_json
@model_options
@placed
def run(
    place: Place,
    plan: str | None,
    data: Sequence[str],
    out: str | None,
    dry_run: bool,
    resume: bool,
    retry_failed: bool,
    replay: str | None,
    json_: bool,
) -> None:
    """Run PLAN: every system is put every query of every data set.

    PLAN is a TOML file, or the name of a plan that comes with the package (`prospection eval plans`). Every case is
    written down when it is done: a run that was stopped goes on with --resume. A replay says whether every row came
    out the same, seconds apart, and exits with 1 when one did not.
    """
    import anyio

    from prospection.evaluation.runs import session

    if (plan is None) == (replay is None):
        raise click.UsageError("give either PLAN or --replay RUN")
    places = dict(_pair(text) for text in data)
    settings = settings_of(place)
    with progress_bars("Storing facts", "Asking") as (storing, asking):
        if replay is not None:
            differing = anyio.run(session.replay, Path(replay), places, settings, storing, asking)
            _say_replay(replay, differing, json_)
            return
        begun = session.begin(str(plan), places, settings)
        if dry_run:
            estimates = anyio.run(session.estimate, begun, storing, asking)
        else:
            folder = Path(out) if out else RUNS / begun.plan.name.replace(" ", "-")
            resumed: session.Resumed | None = "failed" if retry_failed else "unfinished" if resume else None
            stopped, rows = anyio.run(session.measure, begun, folder, resumed, storing, asking)
    if dry_run:
        _say_estimates(estimates, json_)
    else:
        _say_run(folder, stopped, rows, json_, answers=begun.plan.answers)


@click.command()
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@click.option("--format", "form", type=click.Choice(["md", "csv", "json"]), default="md", show_default=True)
@click.option("--out", metavar="DIR", help="Write report.md, report.csv, report.json and plots (PNG, SVG) there.")
@click.option("--no-plots", is_flag=True, help="Write no plots.")
@click.option("--at", type=click.IntRange(min=1), default=20, show_default=True, help="Fact budget of the tests.")
@click.option("--baseline", metavar="SYSTEM", help="Test the others against this one.  [default: all pairs]")
@over_option
def report(
    runs: Sequence[str],
    form: str,
    out: str | None,
    no_plots: bool,
    at: int,
    baseline: str | None,
    over: Any,  # noqa: ANN401 - a choice of click's
) -> None:
    """Make tables of one or several RUNs: recall, exact recall, precision, costs, tests between systems.

    Systems of several runs stand side by side where their data set has one name and is the same data; one that several
    runs have measured is named after each of them, "system (run)".
    """
    from prospection.evaluation.runs.compare import compare_all
    from prospection.evaluation.runs.several import read_runs
    from prospection.evaluation.runs.summary import summarise
    from prospection.evaluation.runs.tables import as_csv, as_json, as_markdown

    read = read_runs([_folder(path) for path in runs])
    if not read.rows:
        raise click.ClickException(f"{', '.join(map(repr, runs))}: no case is done yet; run the plan first")
    summaries = summarise(read.rows, read.indexes)
    comparisons = compare_all(read.rows, at=at, baseline=baseline, unit=over)
    if out is None:
        if form == "json":
            print_json(as_json(summaries, comparisons, read.notes, read.about))
        elif form == "csv":
            click.echo(as_csv(summaries), nl=False)
        else:
            click.echo(as_markdown(summaries, comparisons, read.notes, read.about), nl=False)
        return
    from prospection.evaluation.runs.plots import save_plots
    from prospection.evaluation.runs.write import write_report

    place = Path(out)
    written = write_report(place, summaries, comparisons, read.notes, read.about)
    if not no_plots:
        written += save_plots(summaries, place)
    for path in written:
        click.echo(str(path))


@click.command()
@click.argument("run_", metavar="RUN")
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option("--against", metavar="RUN", help="Take B from this run.")
@click.option("--dataset", metavar="NAME", help="Only this data set.  [default: all that both were asked]")
@click.option("--measure", type=click.Choice(["recall", "exact"]), default="recall", show_default=True)
@click.option("--at", type=click.IntRange(min=1), default=20, show_default=True, help="Fact budget.")
@click.option(
    "--all", "everything", is_flag=True, help="Everything returned, as the paper does, however many facts that is."
)
@over_option
@click.option("--fail-below", type=float, metavar="X", help="Exit with 1 when B - A is below X on a data set.")
@as_json
def compare(
    run_: str,
    a: str,
    b: str,
    against: str | None,
    dataset: str | None,
    measure: Any,  # noqa: ANN401 - a choice of click's
    at: int,
    everything: bool,
    over: Any,  # noqa: ANN401 - a choice of click's
    fail_below: float | None,
    json_: bool,
) -> None:
    """Say whether system B differs from system A: the difference, its interval, a paired permutation test.

    In a pipeline: `prospection eval compare yesterday foresight foresight --against today --fail-below -0.02`.
    It exits with 1 as well where nothing can be judged: a query that one of both was not asked, or a failed case of A,
    which counts as found nothing and would hide a loss.
    """
    from dataclasses import replace

    from prospection.evaluation.runs.compare import compare as test
    from prospection.evaluation.runs.compare import corrected, rows_of
    from prospection.evaluation.runs.several import check_same_data, in_run, run_names

    folders = [_folder(run_), _folder(against or run_)]
    of_a, of_b = rows_of(folders[0].rows().values(), a, dataset), rows_of(folders[1].rows().values(), b, dataset)
    common = [name for name in of_a if name in of_b]
    if not common:
        raise click.ClickException(f"{a!r} and {b!r} have no data set in common: {list(of_a)} and {list(of_b)}")
    check_same_data(folders, common)
    budget = None if everything else at
    found = corrected([test(of_a[name], of_b[name], measure=measure, at=budget, unit=over) for name in common])
    if against is not None:
        of_run = [in_run(system, run) for system, run in zip((a, b), run_names(folders), strict=True)]
        found = [replace(one, system_a=of_run[0], system_b=of_run[1]) for one in found]
    if json_:
        print_value(found)
    else:
        for one in found:
            click.echo(_sentence(one))
    if fail_below is not None:
        _gate(found, fail_below)


@click.command()
@click.argument("run_", metavar="RUN")
@click.option("--data", "data", multiple=True, metavar="NAME=PATH", help="Where a data set of the plan is.")
@click.option("--out", metavar="DIR", help="Folder of the files.  [default: answers/ in the run]")
def answers(run_: str, data: Sequence[str], out: str | None) -> None:
    """Write the answers of RUN to one file a system, for the judge. Its plan has to say `answers = true`."""
    from prospection.config import load_settings
    from prospection.evaluation.runs import session

    _folder(run_)
    place = Path(out) if out else Path(run_) / "answers"
    written = session.answers(Path(run_), dict(_pair(text) for text in data), load_settings(), place)
    if not written:
        raise click.ClickException(f"{run_!r} has no answers; write answers = true into its plan and run it again")
    for path in written:
        click.echo(str(path))


@click.command()
@as_json
def datasets(json_: bool) -> None:
    """List the data sets that can be loaded: where to get them, on what terms, when a reference counts as found."""
    from prospection.evaluation.datasets.cards import CARDS

    if json_:
        print_value(list(CARDS))
        return
    from rich.console import Group
    from rich.text import Text

    from prospection.cli.show import console

    for card in CARDS:
        lines = [("get it", card.where), ("pass", card.files), ("licence", card.licence), ("size", card.size)]
        lines += [("found by", card.found), ("cite", card.citation)]
        lines += [("sha256", f"{checksum}  {file}") for file, checksum in card.sha256]
        head = Text(f"{card.name}  ", style="bold").append(card.title, style="default")
        body = [Text(f"  {what:9}{value}") for what, value in lines if value]
        console().print(Group(head, *body, ""), soft_wrap=True)


@click.command()
@click.argument("name", metavar="NAME", required=False)
def plans(name: str | None) -> None:
    """List the plans that come with the package, or print the plan NAME, to be changed and run as a file."""
    from prospection.errors import UnknownNameError
    from prospection.evaluation.runs.plan import packaged_plans

    packaged = packaged_plans()
    if name is None:
        for known, text in packaged.items():
            click.echo(f"{known:22}{text.split(chr(10), 1)[0].removeprefix('# ')}")
        return
    if name not in packaged:
        raise UnknownNameError("plan", name, packaged)
    click.echo(packaged[name], nl=False)


def _pair(text: str) -> tuple[str, Path]:
    name, found, path = text.partition("=")
    if not found or not path:
        raise click.BadParameter(f"{text!r} is not NAME=PATH", param_hint="--data")
    return name, Path(path)


def _folder(path: str) -> Any:  # noqa: ANN401 - imported when it is used
    from prospection.evaluation.runs.folder import RunFolder

    folder = RunFolder(Path(path))
    folder.manifest()  # says what is wrong when it is not a run
    return folder


def _say_run(folder: Path, stopped: str | None, rows: Sequence[Row], json_: bool, *, answers: bool) -> None:
    errors = Counter(row.error for row in rows if row.error is not None)
    failed = errors.total()
    unanswered = sum(answers and row.error is None and row.answer is None for row in rows)
    if json_:
        counts = {"cases": len(rows), "failed": failed, "unanswered": unanswered}
        print_json({"run": str(folder), **counts, "stopped": stopped})
    else:
        without = f", {unanswered} have no answer (--retry-failed)" if unanswered else ""
        see = suggested("eval", "report", folder)
        click.echo(f"{len(rows)} cases in {folder}, {failed} of them failed{without}. See: {see}")
    if errors:
        (error, count), *_ = errors.most_common(1)
        click.echo(f"{count} times: {error}", err=True)
    if stopped is not None:
        raise click.ClickException(f"the run stopped at its ceiling: {stopped}; raise it in the plan and --resume")
    worked = {row.system for row in rows if row.error is None}
    if broken := list(dict.fromkeys(row.system for row in rows if row.system not in worked)):
        raise click.ClickException(
            f"every case of {', '.join(map(repr, broken))} failed; mend the cause and ask again with --retry-failed"
        )


def _say_replay(run_: str, differing: Sequence[str], json_: bool) -> None:
    if json_:
        print_json({"run": run_, "differing": list(differing)})
    elif not differing:
        click.echo(f"Every row of {run_} came out the same.")
    if differing:
        shown = "; ".join(differing[:3])
        raise click.ClickException(f"{len(differing)} rows of {run_} came out differently: {shown}")


def _say_estimates(estimates: Sequence[Estimate], json_: bool) -> None:
    if json_:
        print_value(list(estimates))
        return
    from rich import box
    from rich.table import Table

    from prospection.cli.show import console

    table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    for heading in ("data set", "system"):
        table.add_column(heading, overflow="fold")
    for heading in ("cases", "calls", "index", "tokens in", "out", "dollars"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in estimates:
        figures = (one.cases, one.calls, one.index_calls, one.tokens_in, one.tokens_out)
        cost = "?" if one.cost is None else f"{one.cost:,.2f}"
        table.add_row(one.dataset, one.system, *("?" if value is None else f"{value:,.0f}" for value in figures), cost)
    console().print(table)
    total = [one.cost for one in estimates]
    known = sum(cost for cost in total if cost is not None)
    click.echo(
        f"About {sum(one.calls + one.index_calls for one in estimates):,.0f} calls and {known:,.2f} dollars"
        + (", without what has no known price or tokens" if None in total else "")
        + ", rehearsed on a few queries with made-up replies: calls are good to a third where a system decides itself "
        "when to stop, the tokens of replies to a half.",
        err=True,
    )


def _gate(found: Sequence[Comparison], fail_below: float) -> None:
    """Fail when B lost more than is allowed, or when that cannot be told."""
    for one in found:
        if one.only_a or one.only_b or one.failed_a:
            raise click.ClickException(
                f"{one.system_b!r} cannot be judged on {one.dataset}:{_gaps(one)}; finish the runs (--resume, "
                "--retry-failed) and compare again"
            )
    lost = [one for one in found if one.difference < fail_below]
    if lost:
        a, b = lost[0].system_a, lost[0].system_b
        found_less = ", ".join(f"{one.difference:+.3f} on {one.dataset}" for one in lost)
        failed = sum(one.failed_b for one in lost)
        because = f"; {failed} of its cases failed and count as found nothing" if failed else ""
        raise click.ClickException(f"{b!r} less {a!r} is {found_less}, below the limit {fail_below:+g}{because}")


def _gaps(one: Comparison) -> str:
    """Say which queries are left out and which cases failed; nothing where there are none."""
    parts = [
        f"{count} queries are missing from {system} and left out"
        for system, count in ((one.system_a, one.only_b), (one.system_b, one.only_a))
        if count
    ]
    parts += [
        f"{count} cases of {system} failed and count as found nothing"
        for system, count in ((one.system_a, one.failed_a), (one.system_b, one.failed_b))
        if count
    ]
    return f" {'; '.join(parts)}" if parts else ""


def _sentence(one: Comparison) -> str:
    from prospection.evaluation.runs.compare import smallest_p

    what = {"recall": "recall", "exact": "exact recall"}[one.measure]
    at = " of everything returned" if one.at is None else f"@{one.at}"
    ends = "" if one.interval is None else f", 95 % {one.interval[0]:+.3f} to {one.interval[1]:+.3f} over people"
    verdict = {
        "real": "a real difference",
        "open": f"not told apart by this many {one.unit}",
        "too few people": f"{one.people} are too few people to tell, the smallest p is {smallest_p(one.people):g}",
    }[one.verdict]
    caveat = ", as if those of one person were independent" if one.unit == "queries" else ""
    gaps = _gaps(one)
    return (
        f"{one.dataset}: {what}{at} {one.a:.3f} by {one.system_a} and {one.b:.3f} by {one.system_b}: "
        f"{one.difference:+.3f}{ends}; p = {one.p_corrected:.4f} over {one.unit}{caveat}, {one.better} better and "
        f"{one.worse} worse of {one.queries}: {verdict}." + (f"{gaps}." if gaps else "")
    )
