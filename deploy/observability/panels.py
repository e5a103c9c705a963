"""Boards of Grafana as plain values, and the JSON that Grafana reads (schema 39 of dashboards, Grafana 10 to 12).

Source of the fields: https://grafana.com/docs/grafana/latest/dashboards/build-dashboards/view-dashboard-json-model
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

_SCHEMA = 39
_WIDTH = 24
_DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}

Json = dict[str, Any]


class Form(StrEnum):
    """How a panel shows what it asks for."""

    LINES = "timeseries"
    NUMBER = "stat"
    TABLE = "table"
    BARS = "bargauge"


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel. `queries`: PromQL by legend; `unit`: of Grafana; `width` of 24; `red`: from which value it is red."""

    title: str
    queries: Mapping[str, str]
    text: str = ""
    form: Form = Form.LINES
    unit: str = "short"
    width: int = 12
    height: int = 8
    is_stacked: bool = False
    red: float | None = None
    is_signed: bool = False
    """It may be negative, so its axis does not begin at 0."""


@dataclass(frozen=True, slots=True)
class Board:
    """One board. `choices`: labels by which it may be narrowed, each with a metric that has them."""

    uid: str
    title: str
    text: str
    rows: Mapping[str, Sequence[Panel]]
    choices: Mapping[str, str] = field(default_factory=dict)
    is_of_one: bool = False
    """One value of each choice is chosen, not several."""

    def json(self) -> Json:
        """The model that Grafana imports."""
        return {
            "uid": f"penstock-{self.uid}",
            "title": f"Penstock / {self.title}",
            "description": self.text,
            "tags": ["penstock"],
            "schemaVersion": _SCHEMA,
            "editable": True,
            "refresh": "30s",
            "time": {"from": "now-6h", "to": "now"},
            "templating": {"list": list(self._variables())},
            "links": [{"type": "dashboards", "title": "Penstock", "tags": ["penstock"], "asDropdown": True}],
            "panels": list(self._panels()),
        }

    def panels(self) -> Iterator[Panel]:
        """All panels, row by row."""
        for row in self.rows.values():
            yield from row

    def _variables(self) -> Iterator[Json]:
        yield {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"}
        for label, metric in self.choices.items():
            query = f"label_values({metric}, {label})"
            yield {
                "name": label,
                "label": label.replace("_", " "),
                "type": "query",
                "datasource": _DATASOURCE,
                "query": {"query": query, "refId": "variable"},
                "definition": query,
                "refresh": 2,
                "sort": 1,
                "multi": not self.is_of_one,
                "includeAll": not self.is_of_one,
                **({} if self.is_of_one else {"allValue": ".*", "current": {"text": "All", "value": "$__all"}}),
            }

    def _panels(self) -> Iterator[Json]:
        top, number = 0, 0
        for title, row in self.rows.items():
            number += 1
            yield {
                "id": number,
                "type": "row",
                "title": title,
                "collapsed": False,
                "panels": [],
                "gridPos": _at(0, top, _WIDTH, 1),
            }
            top, left, lowest = top + 1, 0, 0
            for panel in row:
                if left + panel.width > _WIDTH:
                    top, left, lowest = top + lowest, 0, 0
                number += 1
                yield _panel(panel, number, _at(left, top, panel.width, panel.height))
                left, lowest = left + panel.width, max(lowest, panel.height)
            top += lowest


def _at(left: int, top: int, width: int, height: int) -> Json:
    return {"x": left, "y": top, "w": width, "h": height}


def _panel(panel: Panel, number: int, place: Json) -> Json:
    is_of_now = panel.form is not Form.LINES
    targets = [
        {
            "refId": chr(ord("A") + place_of),
            "datasource": _DATASOURCE,
            "expr": query,
            "legendFormat": legend,
            **({"instant": True, "range": False} if is_of_now else {}),
            **({"format": "table"} if panel.form is Form.TABLE else {}),
        }
        for place_of, (legend, query) in enumerate(panel.queries.items())
    ]
    steps: list[Json] = [{"color": "green", "value": None}]
    steps += [] if panel.red is None else [{"color": "red", "value": panel.red}]
    custom = {"fillOpacity": 10, "stacking": {"mode": "normal" if panel.is_stacked else "none"}}
    return {
        "id": number,
        "type": panel.form.value,
        "title": panel.title,
        "description": panel.text,
        "datasource": _DATASOURCE,
        "gridPos": place,
        "targets": targets,
        "fieldConfig": {
            "defaults": {
                "unit": panel.unit,
                **({} if panel.is_signed else {"min": 0}),
                "thresholds": {"mode": "absolute", "steps": steps},
                **({"custom": custom} if panel.form is Form.LINES else {}),
            },
            "overrides": [],
        },
        "options": _options(panel.form),
    }


def _options(form: Form) -> Json:
    match form:
        case Form.LINES:
            return {
                "legend": {"displayMode": "list", "placement": "bottom"},
                "tooltip": {"mode": "multi", "sort": "desc"},
            }
        case Form.NUMBER:
            return {"colorMode": "value", "graphMode": "area", "reduceOptions": {"calcs": ["lastNotNull"]}}
        case Form.BARS:
            return {"orientation": "horizontal", "reduceOptions": {"calcs": ["lastNotNull"]}}
        case Form.TABLE:
            return {"showHeader": True}
