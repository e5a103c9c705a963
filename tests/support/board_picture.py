"""A board drawn as a picture: its panels in rows, with what Prometheus has of a time. Grafana draws the real one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from deploy.observability.panels import Board, Form, Panel
from tests.support.prometheus_server import Line, Prometheus

_RATE: Final = "15s"
_INCHES: Final = 0.75
"""The height of one of Grafana's rows."""

Found = Mapping[str, Sequence[Line]]
"""What the queries of a panel give, by legend."""


async def ask(board: Board, server: Prometheus, start: float, end: float) -> Sequence[tuple[Panel, Found]]:
    """What each panel of a board shows between two times, in their order; of all its choices."""
    return [
        (panel, {legend: await server.lines(_written(query), start, end) for legend, query in panel.queries.items()})
        for panel in board.panels()
    ]


def _written(query: str) -> str:
    """A query as Grafana sends it where all values of each choice are chosen."""
    return re.sub(r"\$\w+", ".+", query.replace("$__rate_interval", _RATE))


def draw(board: Board, found: Sequence[tuple[Panel, Found]], file: Path) -> None:
    """Draw a board into a file, by whose ending it is an SVG or a PNG."""
    rows, left = list(board.rows.values()), iter(found)
    heights = [max(panel.height for panel in row) for row in rows]
    figure = Figure(figsize=(14, _INCHES * sum(heights)), layout="constrained")
    figure.suptitle(board.title)
    for row, part in zip(
        rows, figure.subfigures(len(rows), 1, height_ratios=heights, squeeze=False)[:, 0], strict=True
    ):
        grid = part.subplots(1, len(row), squeeze=False, width_ratios=[panel.width for panel in row])[0]
        for axes, (panel, lines) in zip(grid, left, strict=False):
            _draw(panel, axes, lines)
    figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else {"Software": None})


def _draw(panel: Panel, axes: Axes, found: Found) -> None:
    axes.set_title(panel.title, fontsize="small", loc="left")
    if panel.form is Form.LINES:
        _draw_lines(axes, found)
        return
    axes.axis("off")
    latest = [
        f"{_legend(legend, labels)} {values[-1][1]:g}".strip()
        for legend, lines in found.items()
        for labels, values in lines
    ]
    axes.text(0.5, 0.5, "\n".join(latest), ha="center", va="center", fontsize="x-large")


def _draw_lines(axes: Axes, found: Found) -> None:
    start = min((values[0][0] for lines in found.values() for _, values in lines), default=0.0)
    for legend, lines in found.items():
        for labels, values in lines:
            times, heights = [at - start for at, _ in values], [value for _, value in values]
            axes.plot(times, heights, label=_legend(legend, labels))
    axes.set_ylim(bottom=0)
    axes.set_xlabel("seconds", fontsize="small")
    if axes.get_legend_handles_labels()[1]:
        axes.legend(fontsize="x-small")


def _legend(legend: str, labels: Mapping[str, str]) -> str:
    return re.sub(r"\{\{(\w+)\}\}", lambda name: labels.get(name[1], ""), legend)
