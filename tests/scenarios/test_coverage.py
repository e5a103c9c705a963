"""Nothing that the queue objects and the reasons can say goes without a scenario."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from msgspec import UNSET, UnsetType

from controller.api.base import Resource
from controller.api.cluster_queue import ClusterQueue
from controller.api.crd import root_schema
from controller.api.flavor import ResourceFlavor
from controller.api.local_queue import LocalQueue
from controller.api.workload_priority_class import WorkloadPriorityClass
from controller.core.reasons import Reason
from tests.scenarios import forms
from tests.scenarios.model import Objects, Step, load
from tests.scenarios.test_scenarios import FILES

_SCENARIOS = [load(file).scenario for file in FILES]


def _possible(schema: dict[str, Any], path: str) -> Iterator[str]:
    """Every field of a schema, and every value of those that have a closed list of them."""
    for value in schema.get("enum", ()):
        yield f"{path}={value}"
    if "items" in schema:
        yield from _possible(schema["items"], path)
    for name, one in schema.get("properties", {}).items():
        yield f"{path}.{name}"
        yield from _possible(one, f"{path}.{name}")


def _written(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, dict):
        for name, one in value.items():
            yield f"{path}.{name}"
            yield from _written(one, f"{path}.{name}")
    elif isinstance(value, list):
        for one in value:
            yield from _written(one, path)
    else:
        yield f"{path}={value}"


def _documents(objects: Objects) -> Iterator[dict[str, Any]]:
    for flavor in _forms(objects.flavors):
        yield forms.flavor_document("any", flavor)
    for priority in _forms(objects.priority_classes):
        yield forms.priority_class_document("any", priority)
    for queue in _forms(objects.cluster_queues):
        yield forms.cluster_queue_document("any", queue)
    for local in _forms(objects.local_queues):
        yield forms.local_queue_document("any", {"clusterQueue": local} if isinstance(local, str) else local)


def _forms(value: Any) -> list[Any]:
    return [] if value is UNSET else [form for form in value.values() if form is not None]


def test_every_field_and_choice_has_a_scenario() -> None:
    models: tuple[type[Resource], ...] = (ResourceFlavor, ClusterQueue, LocalQueue, WorkloadPriorityClass)
    possible = {
        one for model in models for one in _possible(root_schema(model)["properties"]["spec"], model.definition.kind)
    }
    written = {
        one
        for scenario in _SCENARIOS
        for objects in (scenario.world, *scenario.steps)
        for document in _documents(objects)
        for one in _written(document["spec"], document["kind"])
    }
    assert sorted(possible - written) == []


def test_every_reason_has_a_scenario_with_its_sentence() -> None:
    said = [
        text for scenario in _SCENARIOS for step in scenario.steps if step.waiting for text in step.waiting.values()
    ]
    assert [reason for reason in Reason if not any(text.startswith(f"{reason}: ") for text in said)] == []


def test_of_every_reason_a_remedy_is_applied() -> None:
    """In the step after it was told, a pod of each reason is admitted, or waits for another one."""
    ended = {
        reason
        for scenario in _SCENARIOS
        for step, then in pairwise(scenario.steps)
        for pod in step.remedies or ()
        if _reason(then, pod) != (reason := _reason(step, pod))
    }
    # nothing was said yet of a pod that is Pending: the next decision does
    assert {reason.value for reason in Reason} - ended == {Reason.PENDING}


def _reason(step: Step, pod: str) -> str:
    """Why a pod waits after a step; empty: it was admitted."""
    is_admitted = step.admitted is not UNSET and pod in step.admitted
    waiting = {} if isinstance(step.waiting, UnsetType) else step.waiting
    assert is_admitted or pod in waiting, f"{pod}: nothing is expected of it"
    return "" if is_admitted else waiting[pod].partition(":")[0]


def test_no_two_scenarios_have_one_title() -> None:
    titles = [scenario.title for scenario in _SCENARIOS]
    assert len(set(titles)) == len(titles)
