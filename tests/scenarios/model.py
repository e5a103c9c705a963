"""A scenario as it is written: strict models, and the reading of one file. What it means is told in README.md.

A key that is not listed here, a step that expects nothing, a file of two documents: faults of the scenario.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType, field

from controller.kube.manifests import ManifestError, parse, read_text

Form = dict[str, Any]
"""An object in short form (`forms`); on an object that is there: the fields that change."""
Forms = dict[str, Form | None]
"""Short forms by name; None takes the object away."""
Json = dict[str, Any]

START = "2026-03-02T08:00:00Z"
"""What time it is where a world does not say: a Monday morning."""


class ScenarioError(Exception):
    """The scenario itself is at fault; the text says where and what to write instead."""


class Objects(Struct, forbid_unknown_fields=True, rename="camel"):
    """What both a world and a step may hold: a world begins with it, a step changes it."""

    time: Any = UNSET
    namespaces: dict[str, dict[str, str] | None] | UnsetType = UNSET
    flavors: Forms | UnsetType = UNSET
    priority_classes: Forms | UnsetType = UNSET
    cluster_queues: Forms | UnsetType = UNSET
    local_queues: dict[str, str | Form | None] | UnsetType = UNSET
    nodes: Forms | UnsetType = UNSET
    jobs: Forms | UnsetType = UNSET
    pod_groups: dict[str, int | None] | UnsetType = UNSET
    foreign: dict[str, Form] | UnsetType = UNSET


class World(Objects, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """What there is before the first step. `quota_resources`: what the file of --quota-resources says."""

    quota_resources: Form | UnsetType = UNSET


class Step(Objects, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """What happens, in the order in which it is written, and what is expected once nothing moves any more."""

    why: str = ""

    create: dict[str, Form] | UnsetType = UNSET
    edit: dict[str, Form] | UnsetType = UNSET
    end: list[str] | UnsetType = UNSET
    terminate: list[str] | UnsetType = UNSET
    delete: list[str] | UnsetType = UNSET
    open_gate: list[str] | UnsetType = UNSET
    bind: dict[str, str] | UnsetType = UNSET
    unschedulable: dict[str, str] | UnsetType = UNSET
    cordon: list[str] | UnsetType = UNSET
    uncordon: list[str] | UnsetType = UNSET
    not_ready: list[str] | UnsetType = UNSET
    ready: list[str] | UnsetType = UNSET
    refuse: dict[str, str] | UnsetType = UNSET
    accept: list[str] | UnsetType = UNSET
    restart: bool | UnsetType = UNSET

    admitted: dict[str, str] | UnsetType = UNSET
    order: list[str] | UnsetType = UNSET
    waiting: dict[str, str] | UnsetType = UNSET
    remedies: dict[str, list[str]] | UnsetType = UNSET
    evicted: dict[str, str] | UnsetType = UNSET
    usage: dict[str, dict[str, dict[str, str | int]]] | UnsetType = UNSET
    status: dict[str, dict[str, Any]] | UnsetType = UNSET


EXPECTATIONS = ("admitted", "order", "waiting", "remedies", "evicted", "usage", "status")
_NO_EVENT = (*EXPECTATIONS, "why")


class Scenario(Struct, forbid_unknown_fields=True, rename="camel"):
    """One file."""

    title: str
    rule: str
    world: World
    steps: list[Step]
    invalid: dict[str, str] = field(default_factory=dict)


class Written(Struct):
    """A scenario with what its model does not keep: where it stands, and in which order its events are written."""

    file: Path
    scenario: Scenario
    events: list[list[str]]


def attribute(key: str) -> str:
    """Return how a key of a file is called in the models: clusterQueues, cluster_queues."""
    return re.sub("[A-Z]", lambda upper: f"_{upper[0].lower()}", key)


def load(file: Path) -> Written:
    """Read one file. Raises ScenarioError."""
    try:
        documents = parse(read_text(file), str(file))
    except ManifestError as error:
        raise ScenarioError(str(error)) from None
    if len(documents) != 1:
        raise ScenarioError(f"{file}: must hold one scenario, holds {len(documents)} documents")
    try:
        scenario = msgspec.convert(documents[0], Scenario)
    except msgspec.ValidationError as error:
        raise ScenarioError(f"{file}: {error}") from None
    faults = _faults(scenario)
    if faults:
        raise ScenarioError("\n".join(f"{file}: {fault}" for fault in faults))
    events = [[name for name in step if name not in _NO_EVENT] for step in documents[0]["steps"]]
    return Written(file, scenario, events)


def _faults(scenario: Scenario) -> list[str]:
    faults = [f"{name}: must say something" for name in ("title", "rule") if not getattr(scenario, name).strip()]
    if not scenario.steps:
        faults.append("steps: must hold at least one step")
    for number, step in enumerate(scenario.steps):
        if all(getattr(step, name) is UNSET for name in EXPECTATIONS):
            faults.append(f"steps[{number}]: expects nothing; say one of {', '.join(EXPECTATIONS)}")
        if step.restart is False:
            faults.append(f"steps[{number}].restart: must be true, or left out")
    return faults
