"""What `penstock simulate` found, drawn: use over time by flavor and resource, and waits by ClusterQueue.

The same outcomes make the same file, byte for byte: no dates, no random ids. Only `cli.simulate_plot` imports this.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from controller.cli.counts import counted
from controller.cli.simulate_series import (
    left_out,
    scale_of,
    shown_columns,
    shown_queues,
    some_wait,
    wait_curve,
    wait_range,
    wait_ticks,
)
from controller.core.reasons import first_few
from controller.kube.clock import rfc3339
from controller.simulator.measurements import Outcome
from controller.simulator.timelines import PARTS

# text stays text, so that it can be searched and read aloud; names are never taken for formulas
_STYLE: Final[Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "penstock",
    "text.parse_math": False,
    "font.family": ["DejaVu Sans", "sans-serif"],
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.titlesize": 9.5,
    "axes.titlelocation": "left",
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.7,
    "savefig.dpi": 150,
}
_BARE: Final = {".svg": {"Date": None, "Creator": "penstock simulate"}, ".png": {"Software": None}}
_COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c564b")
"""Told apart by the colour-blind too (Okabe and Ito, but for their yellow, which is faint on white)."""
_GREY: Final = "#555555"
_DASHES: Final = (0, (4, 2))
_TIMES: Final = ((172_800, 86_400, "days"), (7_200, 3600, "hours"), (120, 60, "minutes"), (0, 1, "seconds"))
_FAR: Final = 6
"""A capacity that is so many times what is used would leave of this a line at the bottom."""
_LONGEST_NAME: Final = 34
_MOST_NAMED: Final = 60


def save(outcomes: Sequence[Outcome], now: float, changes: Sequence[str], path: Path) -> None:
    """Draw outcomes before and after, or alone, as the ending of the path says. Raises OSError."""
    ending = path.suffix.lower()
    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # not what people have set for their own plots
        matplotlib.rcParams.update(_STYLE)
        _figure(outcomes, now, changes).savefig(path, format=ending[1:], metadata=_BARE[ending])


def _figure(outcomes: Sequence[Outcome], now: float, changes: Sequence[str]) -> Figure:
    columns, lacking = shown_columns(outcomes)
    across = {1: 1, 2: 2, 4: 2}.get(len(columns), 3) if columns else 1
    down = -(-len(columns) // across)
    figure = Figure(figsize=(11, 1.4 + 2.1 * down + 4.2), layout="constrained")
    grid = figure.add_gridspec(down + 1, across, height_ratios=[*([2.1] * down), 4.2])
    unit, name, until = _time_axis(outcomes)
    for at, column in enumerate(columns):
        axes = figure.add_subplot(grid[at // across, at % across])
        _draw_use(axes, outcomes, column, unit)
        axes.set_xlim(0, until / unit)
        if at // across == down - 1 or at + across >= len(columns):
            axes.set_xlabel(f"{name} from {rfc3339(now)}")
    _draw_waits(figure.add_subplot(grid[down, :]), outcomes)
    figure.suptitle(f"penstock simulate: {counted(outcomes[-1].runs, 'simulation')}", x=0.01, ha="left", fontsize=12)
    figure.legend(handles=_styles(outcomes), loc="outside upper right", ncols=4, frameon=False)
    figure.supxlabel(_caption(outcomes, changes, lacking), x=0.01, ha="left", fontsize=8, color=_GREY)
    return figure


def _draw_use(axes: Axes, outcomes: Sequence[Outcome], column: tuple[str, str], unit: float) -> None:
    """Mean amounts of all simulations; what is used now is filled, so that it can be told from what there is."""
    flavor, resource = column
    lines = [(one.runs, one.timeline) for one in outcomes if one.timeline is not None]
    drawn = [(line.means(line.used, column, runs), line.means(line.capacity, column, runs)) for runs, line in lines]
    most_used, most_there = (max((max(both[at]) for both in drawn), default=0.0) for at in (0, 1))
    top = max(most_used, most_there) if most_there <= _FAR * most_used else most_used
    divisor, word = scale_of(resource, top)
    for at, ((used, capacity), (_, line)) in enumerate(zip(drawn, lines, strict=True)):
        style = "-" if at == len(lines) - 1 else _DASHES
        edges = [line.seconds * part / PARTS / unit for part in range(PARTS + 1)]
        heights = [amount / divisor for amount in used]
        if any(capacity):
            there = [amount / divisor for amount in capacity]
            axes.stairs(there, edges, baseline=None, color=_GREY, linestyle=style, linewidth=1.0)
        if style == "-":
            axes.stairs(heights, edges, fill=True, color=_COLOURS[0], alpha=0.15, linewidth=0)
        axes.stairs(heights, edges, baseline=None, color=_COLOURS[0], linestyle=style, linewidth=1.4)
    axes.set_ylim(0, top / divisor * 1.08 or 1)
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda amount, _: f"{amount:,.10g}"))
    far = f"; capacity {most_there / divisor:,.0f}, above the plot" if top < most_there else ""
    axes.set_title(f"{_short(flavor)}: {_short(resource)}{f' ({word})' if word else ''}{far}")


def _draw_waits(axes: Axes, outcomes: Sequence[Outcome]) -> None:
    """Which part of a queue's pods had started after so long a wait: who still waits at the end never gets there."""
    shortest, longest = wait_range(outcomes)
    handles = []
    for colour, name in zip(_COLOURS, shown_queues(outcomes), strict=False):
        for at, outcome in enumerate(outcomes):
            waits, parts = wait_curve(outcome.by_queue.get(name), longest)
            is_last = at == len(outcomes) - 1
            axes.step(waits, parts, where="post", color=colour, linestyle="-" if is_last else _DASHES, linewidth=1.5)
        handles.append(Line2D([], [], color=colour, label=_short(name or "(none)"), linewidth=2.5))
    if shortest > 0:
        axes.set_xscale("log")
    else:
        axes.set_xscale("symlog", linthresh=1, linscale=0.5)
    axes.set_xlim(shortest, longest)
    ticks = wait_ticks(shortest, longest)
    axes.set_xticks(list(ticks), list(ticks.values()), minor=False)
    axes.xaxis.minorticks_off()
    axes.set_ylim(0, 102)
    axes.set_title("Waits by ClusterQueue: % of its pods that started within a time")
    axes.set_xlabel("wait from creation to start")
    if handles:
        axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    else:
        axes.text(0.5, 0.5, "no pod came", transform=axes.transAxes, ha="center", color=_GREY)


def _styles(outcomes: Sequence[Outcome]) -> list[Line2D]:
    both = [("before", _DASHES, _COLOURS[0]), ("after", "-", _COLOURS[0])]
    shown = both if len(outcomes) > 1 else [("used", "-", _COLOURS[0])]
    return [Line2D([], [], color=c, linestyle=s, label=n) for n, s, c in [*shown, ("capacity", "-", _GREY)]]


def _time_axis(outcomes: Sequence[Outcome]) -> tuple[float, str, float]:
    """Return the unit in seconds, its name, and how many seconds are shown: to the last part in which any is used."""
    lines = [one.timeline for one in outcomes if one.timeline is not None]
    last = max((at for line in lines for used in line.used.values() for at, one in enumerate(used) if one), default=-1)
    whole = max((line.seconds for line in lines), default=1.0)
    shown = whole if last < 0 else min(whole, whole * (last + 1) / PARTS * 1.05)
    unit, name = next((unit, name) for least, unit, name in _TIMES if shown >= least)
    return unit, name, shown


def _caption(outcomes: Sequence[Outcome], changes: Sequence[str], lacking: Sequence[tuple[str, str]]) -> str:
    rest = left_out(outcomes)
    sentences = [
        f"Before: as it is. After: {first_few(changes, _MOST_NAMED)}." if changes else "",
        f"Left out, with fewer starts: {first_few(rest, _MOST_NAMED)}." if rest else "",
        f"Left out, less used: {first_few([': '.join(one) for one in lacking], _MOST_NAMED)}." if lacking else "",
        "A curve that ends below 100 %: the other pods still wait at the end." if some_wait(outcomes) else "",
    ]
    return "\n".join(line for one in sentences if one for line in textwrap.wrap(one, 165))


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
