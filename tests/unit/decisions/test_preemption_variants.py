"""Scenarios of whom a preemptor takes, again with shares, in deeper trees, in strict queues and on nodes: the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.scenarios.model import load
from tests.scenarios.play import play, report

_HERE = Path(__file__).parents[2] / "scenarios" / "preemption"
_NAMES = ("only-what-is-short", "own-last", "gang-in-several-flavors", "cheapest-flavor")
Json = dict[str, Any]


def preemptor(world: Json) -> Json:
    """The queue whose workload preempts: the first below the root."""
    queue: Json = next(queue for name, queue in world["clusterQueues"].items() if name != "pool")
    return queue


def fair(world: Json) -> None:
    world["clusterQueues"]["pool"] = {"fairSharing": {}}


def deep(world: Json) -> None:
    preemptor(world)["parent"] = "dept"
    world["clusterQueues"]["dept"] = {"parent": "pool"}


def fair_and_deep(world: Json) -> None:
    fair(world)
    deep(world)


def strict(world: Json) -> None:
    preemptor(world)["queueingStrategy"] = "StrictFIFO"


def backfill(world: Json) -> None:
    preemptor(world)["queueingStrategy"] = "Backfill"


def on_nodes(world: Json) -> None:
    world["nodes"] = {}
    for name, flavor in world["flavors"].items():
        del flavor["capacity"]
        labels = flavor["nodeLabels"] = {**flavor.get("nodeLabels", {}), "flavor": name}
        world["nodes"][name] = {"cpu": 100, "nvidia.com/gpu": 100, "labels": labels}


def with_a_third_resource(world: Json) -> None:
    """Of which there is plenty, and which those who stay have borrowed as well."""
    for flavor in world["flavors"].values():
        flavor["capacity"]["static"]["example.com/other"] = 100
    for queue in world["clusterQueues"].values():
        for quota in queue.get("quotas", {}).values():
            quota["example.com/other"] = 10


_VARIANTS = (fair, deep, fair_and_deep, strict, backfill, on_nodes, with_a_third_resource)


@pytest.mark.parametrize("variant", _VARIANTS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("name", _NAMES)
def test_the_same_go_whatever_else_is_different(name: str, variant: Callable[[Json], None], tmp_path: Path) -> None:
    document = yaml.safe_load((_HERE / f"{name}.yaml").read_text("utf-8"))
    variant(document["world"])
    file = tmp_path / f"{name}.yaml"
    file.write_text(yaml.safe_dump(document, sort_keys=False), "utf-8")
    written = load(file)
    first = next((played for played in play(written) if played.faults), None)
    assert first is None, report(written, first)
