"""`python -m controller.dashboard.schema`: the form of what the page is sent, as JSON Schema, for its TypeScript."""

from __future__ import annotations

import sys
from typing import Any, Final

import msgspec

from controller.dashboard.pod_table import Window
from controller.dashboard.problems import Problem
from controller.dashboard.server import Session
from controller.dashboard.timeline import Timeline
from controller.dashboard.viewers import SignIn
from controller.extension_api.queueing.usage_reports import UsageReportRow
from controller.history.run_rows import RunRow
from controller.visibility.explanation_rows import ExplanationRow, ReasonRow, RemedyRow
from controller.visibility.node_rows import FlavorRow, NodeRow
from controller.visibility.rows import ClusterQueueRow, LocalQueueRow
from controller.visibility.simulation_rows import SimulationRow
from controller.visibility.start_rows import AccuracyRow

SENT: Final[tuple[type[msgspec.Struct], ...]] = (
    Session,
    SignIn,
    Problem,
    Window,
    Timeline,
    ClusterQueueRow,
    LocalQueueRow,
    FlavorRow,
    NodeRow,
    AccuracyRow,
    ExplanationRow,
    RemedyRow,
    ReasonRow,
    SimulationRow,
    RunRow,
    UsageReportRow,
)


def schema() -> dict[str, Any]:
    """Return the schema of an object that has one of each, so that each gets a type."""
    found, components = msgspec.json.schema_components(SENT, ref_template="#/definitions/{name}")
    for name, one in components.items():
        _complete(one, is_whole=name != SimulationRow.__name__)
    names = [one.__name__ for one in SENT]
    return {
        "title": "Sent",
        "type": "object",
        "properties": dict(zip(names, found, strict=True)),
        "required": names,
        "additionalProperties": False,
        "definitions": components,
    }


def _complete(one: dict[str, Any], *, is_whole: bool) -> None:
    """Say that all fields are there: a default is sent, too, unless the form leaves defaults out."""
    one["additionalProperties"] = False
    if is_whole:
        one["required"] = list(one.get("properties", {}))


if __name__ == "__main__":
    sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(schema())))
