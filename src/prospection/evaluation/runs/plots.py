"""Plots of a run, for a paper or a README: recall against facts, against cost, and by similarity.

In go summaries of one data set; out come figures, which `save_plots` writes as PNG and SVG. Needs the extra `plots`;
matplotlib is imported when a plot is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING

from prospection.errors import InputError, MissingExtraError
from prospection.evaluation.metrics import BUDGETS
from prospection.evaluation.runs.summary import Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_budgets", "plot_calls", "plot_deciles", "plot_money", "save_plots"]

INK, MUTED, GRID = "#1f2933", "#616e7c", "#e4e7eb"

# Told apart without red and green, and in grey (Okabe and Ito, with a darker yellow); the first is for the best.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8c6d00", "#56b4e9", "#444444", "#a05195")
DASHES: tuple[str | tuple[int, tuple[int, ...]], ...] = ("-", (0, (5, 2)), (0, (1, 1.5)))  # type: ignore[assignment]

AT = 20

LEFT = 0.09
"""Where the axes begin, and everything written above them."""

STYLE = {
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "svg.fonttype": "none",
    "svg.hashsalt": "prospection",  # the same figures give the same file
    "figure.dpi": 100,
    "savefig.dpi": 200,
}


def save_plots(summaries: Sequence[Summary], folder: Path) -> list[Path]:
    """Write every plot of every data set as PNG and SVG.

    Returns:
        The files.

    Raises:
        MissingExtraError: matplotlib is not installed.
        InputError: The folder cannot be written.
    """
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise MissingExtraError("plots", "plots") from error
    kinds: dict[str, Callable[[Sequence[Summary]], Figure]] = {
        "budgets": plot_budgets,
        "deciles": plot_deciles,
    }
    if any(one.calls for one in summaries):
        kinds["calls"] = plot_calls
    if any(one.cost for one in summaries):
        kinds["money"] = plot_money
    written = []
    with mpl.rc_context(STYLE):  # type: ignore[arg-type]
        for dataset in dict.fromkeys(summary.dataset for summary in summaries):
            own = [summary for summary in summaries if summary.dataset == dataset]
            for kind, plot in kinds.items():
                figure = plot(own)
                for suffix in ("png", "svg"):
                    path = folder / f"{dataset.replace(' ', '-')}-{kind}.{suffix}"
                    try:
                        figure.savefig(path, metadata={"Date": None} if suffix == "svg" else {"Software": None})
                    except OSError as error:
                        raise InputError(f"{str(path)!r} cannot be written: {error}; name another folder") from error
                    written.append(path)
    return written


def plot_budgets(own: Sequence[Summary]) -> Figure:
    """Plot recall against the number of facts, with its interval over people as a band for the two best."""
    figure, axes = _canvas(own[0], "Recall by number of facts", "bands of the two best: 95 %")
    places = range(len(BUDGETS))
    looks = _looks(own)
    for rank, one in enumerate(_best_first(own)):
        colour, dash = looks[one.system]
        values = [one.recall[k] for k in BUDGETS]
        ends = [one.intervals[k] for k in BUDGETS]
        if rank < 2 and all(ends):
            low, high = zip(*(pair for pair in ends if pair), strict=True)
            axes.fill_between(places, low, high, color=colour, alpha=0.12, linewidth=0)
        axes.plot(places, values, color=colour, linestyle=dash, linewidth=2, marker="o", markersize=4.5)
    axes.set_xticks(places, [str(k) for k in BUDGETS])
    axes.set_xlabel("facts given to the assistant")
    _share_axis(axes)
    _label_ends(axes, {one.system: one.recall[BUDGETS[-1]] for one in own}, looks, x=len(BUDGETS) - 1)
    return figure


def plot_calls(own: Sequence[Summary]) -> Figure:
    """Plot recall at a fixed number of facts against calls to a language model."""
    from matplotlib.ticker import MaxNLocator

    figure, axes = _canvas(own[0], f"Recall of the first {AT} facts by calls to a model", "bars: 95 %")
    calls = {one.system: one.calls for one in own}
    _scatter(axes, own, calls, unit=1.0)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("calls to a language model for a query, the answer not counted")
    return figure


def plot_money(own: Sequence[Summary]) -> Figure:
    """Plot recall at a fixed number of facts against US cents, of those systems whose price is known."""
    known = {one.system: 100 * one.cost for one in own if one.cost is not None}
    figure, axes = _canvas(own[0], f"Recall of the first {AT} facts by price", "bars: 95 %")
    _scatter(axes, [one for one in own if one.system in known], known, unit=0.01)
    axes.set_xlabel("US cents for a query, the answer not counted")
    return figure


def _scatter(axes: Axes, own: Sequence[Summary], cost: Mapping[str, float], *, unit: float) -> None:
    """Plot recall against a cost, with intervals over people; `unit` is the least width of the axis."""
    axes.set_position((LEFT, 0.135, 0.9 - LEFT, 0.7))  # names stand inside
    looks = _looks(own)
    most = max([unit, *cost.values()])
    axes.set_xlim(-0.05 * most, 1.35 * most)
    _share_axis(axes)
    columns: dict[int, dict[str, float]] = {}
    for one in sorted(own, key=lambda one: cost[one.system]):
        columns.setdefault(round(40 * cost[one.system] / most), {})[one.system] = one.recall[AT]
    for column in columns.values():
        for one in own:
            if one.system not in column:
                continue
            colour, x = looks[one.system][0], cost[one.system]
            if (ends := one.intervals[AT]) is not None:
                axes.plot([x, x], ends, color=colour, linewidth=1.6, alpha=0.45, solid_capstyle="round")
            axes.plot([x], [one.recall[AT]], "o", color=colour, markersize=8, markeredgecolor="white")
        _label_ends(axes, column, looks, x=max(cost[name] for name in column), offset=10)


def plot_deciles(own: Sequence[Summary]) -> Figure:
    """Plot recall at a fixed number of facts by how similar the needed facts are to the query."""
    figure, axes = _canvas(own[0], f"Recall of the first {AT} facts by similarity")
    looks = _looks(own)
    means = {group: mean for one in own for group, (mean, _) in one.by_decile.items()}
    groups = sorted(means)
    for one in _best_first(own):
        colour, dash = looks[one.system]
        # A system that was not asked about a group has a gap there.
        values = [one.by_decile[group][1][AT] if group in one.by_decile else nan for group in groups]
        axes.plot(groups, values, color=colour, linestyle=dash, linewidth=2, marker="o", markersize=4.5)
    axes.set_xticks(groups, [f"{means[group]:.2f}" for group in groups])
    axes.set_xlabel("mean cosine of query and needed fact, in ten groups of equal size")
    _share_axis(axes)
    last = {one.system: one.by_decile[max(one.by_decile)][1][AT] for one in own}
    _label_ends(axes, last, looks, x=groups[-1])
    return figure


def _canvas(one: Summary, title: str, *notes: str) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 4.4))
    # Room on the right is for labels at the ends of lines, which spare a legend.
    axes = figure.add_axes((LEFT, 0.135, 0.675, 0.7))
    figure.text(LEFT, 0.945, title, fontsize=13, fontweight="bold", ha="left")
    said = (f"{one.dataset}: {one.queries} queries of {one.people} people", "needed facts found", *notes)
    figure.text(LEFT, 0.89, "; ".join(said), color=MUTED, ha="left")
    return figure, axes


def _share_axis(axes: Axes) -> None:
    axes.set_ylim(0, 1.02)
    axes.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1.0], ["0", "20 %", "40 %", "60 %", "80 %", "100 %"])
    axes.tick_params(length=0)
    axes.grid(axis="x", visible=False)


def _best_first(own: Sequence[Summary]) -> list[Summary]:
    return sorted(own, key=lambda one: -one.recall[AT])


def _looks(own: Sequence[Summary]) -> dict[str, tuple[str, str | tuple[int, tuple[int, ...]]]]:
    """Colour and dash of each system: the best the first colour, and beyond eight systems a dash as well."""
    return {
        one.system: (COLOURS[place % len(COLOURS)], DASHES[place // len(COLOURS) % len(DASHES)])
        for place, one in enumerate(_best_first(own))
    }


def _label_ends(
    axes: Axes,
    values: Mapping[str, float],
    looks: Mapping[str, tuple[str, object]],
    *,
    x: float,
    offset: int = 8,
    apart: float = 0.052,
) -> None:
    """Write names beside points, moved apart where they would overlap."""
    order = sorted(values, key=lambda name: values[name])
    heights = [values[name] for name in order]
    for _ in range(200):  # push neighbours apart until all have room
        moved = False
        for place in range(1, len(heights)):
            overlap = apart - (heights[place] - heights[place - 1])
            if overlap > 1e-6:
                heights[place - 1] -= overlap / 2
                heights[place] += overlap / 2
                moved = True
        if not moved:
            break
    ceiling, floor = 1.0, 0.0  # then back from the edges, above which there are titles and below which numbers
    for place in reversed(range(len(heights))):
        heights[place] = min(heights[place], ceiling)
        ceiling = heights[place] - apart
    for place in range(len(heights)):
        heights[place] = max(heights[place], floor)
        floor = heights[place] + apart
    for name, height in zip(order, heights, strict=True):
        axes.annotate(
            f"{name}  {100 * values[name]:.0f} %",
            (x, height),
            xytext=(offset, 0),
            textcoords="offset points",
            va="center",
            color=looks[name][0],
            fontsize=9.5,
            annotation_clip=False,
        )
