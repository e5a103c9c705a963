"""Boards for Grafana ask for metrics that exist, by labels that these have; what is written is what is described."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from deploy.observability import generate
from deploy.observability.catalog import BOARDS
from deploy.observability.panels import Board

_REFERENCE = (Path(__file__).parents[3] / "docs" / "reference" / "metrics.md").read_text()
METRICS = {
    name: (kind, set(re.findall(r"`(\w+)`", labels)))
    for name, kind, labels in re.findall(r"^\| `(penstock_\w+)` \| (\w+) \| (.*?) \|", _REFERENCE, re.MULTILINE)
}


def queries(board: Board) -> list[str]:
    return [query for panel in board.panels() for query in panel.queries.values()]


def test_files_are_as_described() -> None:
    assert {path: (generate.ROOT / path).read_text() for path in generate.render()} == generate.render()


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.uid)
def test_a_board_asks_for_metrics_and_labels_that_exist(board: Board) -> None:
    assert queries(board)
    for query in queries(board):
        names = {re.sub(r"_(bucket|count|sum)$", "", name) for name in re.findall(r"penstock_\w+", query)}
        assert names <= set(METRICS), query
        grouped = re.findall(r"by \(([^)]*)\)", query)
        used = {label.strip() for labels in grouped for label in labels.split(",")}
        used |= set(re.findall(r"(\w+)=~?\"", query))
        known = set().union(*(METRICS[name][1] for name in names)) | {"le"}
        assert used <= known, query


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.uid)
def test_counters_are_shown_as_rates(board: Board) -> None:
    for query in queries(board):
        counters = [name for name, (kind, _) in METRICS.items() if kind == "counter" and name in query]
        assert not counters or "rate(" in query or "increase(" in query, query


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.uid)
def test_a_board_is_what_grafana_imports(board: Board) -> None:
    model = json.loads(json.dumps(board.json()))
    panels = model["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken
        assert max(x for x, _ in cells) < 24
        taken |= cells
    chosen = {f"${one['name']}" for one in model["templating"]["list"] if one["name"] != "datasource"}
    asked = {name for query in queries(board) for name in re.findall(r"\$[a-z]\w+", query)}
    assert asked == chosen


def test_every_metric_is_on_a_board() -> None:
    shown = {name for board in BOARDS for query in queries(board) for name in re.findall(r"penstock_\w+", query)}
    left_out = set(METRICS) - {re.sub(r"_(bucket|count|sum)$", "", name) for name in shown}
    assert left_out == {
        # alerts tell these
        "penstock_notifications_file_faulty",
        "penstock_source_up",
        "penstock_webhook_source_up",
        # for who looks at the program itself
        "penstock_forecast_cpu_seconds_total",
        "penstock_notifications_pending",
    }
