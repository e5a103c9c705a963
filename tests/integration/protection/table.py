"""What the table of requests is written in, that both ways of protecting the gate are held to: rows as data.

The rows are in `create_rows`, `together_rows`, `update_rows`, `resize_rows` and `binding_rows`.

Every request is a dry run, by somebody impersonated, about a pod that the break-glass group has made as `Start` says.
Namespaces have no LocalQueue and the cluster no nodes, so that nothing happens to a pod but what a row does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from controller.core.gate.protection import Rule
from controller.core.keys import (
    ACCEPTED,
    ADMITTED_AT,
    ADMITTED_JOB,
    CLUSTER_QUEUE,
    CONDITION,
    DEFAULT_QUEUE,
    FLAVOR,
    GATE,
    HOLD,
    HOLD_JOBS,
    KUEUE_LABELS,
    KUEUE_QUEUE,
    QUEUE_NAME,
    QUEUEING,
    REQUIRED,
)

Json = dict[str, Any]


class Who(StrEnum):
    EDITOR = "editor"
    """Has ClusterRole `edit` in the namespace, and may write pods/status, pods/resize and pods/binding besides."""
    ADMINISTRATOR = "administrator"
    """system:masters, which is not trusted for that."""
    CONTROLLER = "controller"
    BREAK_GLASS = "break-glass"
    NODE = "node"
    DAEMON_SET_CONTROLLER = "daemon-set controller"
    JOB_CONTROLLER = "job controller"
    KIND_CONTROLLER = "controller of a kind"
    """Writes Jobs, and has the ClusterRole penstock-admits-pods."""
    SCHEDULER = "scheduler"


class Where(StrEnum):
    PLAIN = "plain"
    REQUIRED = "required"
    DEFAULTED = "defaulted"
    """With the default queue `main`."""
    KUEUE = "kueue"
    """With Kueue's labels accepted, and the default queue `other`."""
    HOLDING = "holding"
    """With the default queue `main`, which holds Jobs as a whole; accepts Kueue's labels too."""


LABELS_OF: dict[Where, dict[str, str]] = {
    Where.PLAIN: {QUEUEING: "required"},  # another value than Required means nothing
    Where.REQUIRED: {QUEUEING: REQUIRED},
    Where.DEFAULTED: {DEFAULT_QUEUE: "main"},
    Where.KUEUE: {KUEUE_LABELS: ACCEPTED, DEFAULT_QUEUE: "other"},
    Where.HOLDING: {KUEUE_LABELS: ACCEPTED, DEFAULT_QUEUE: "main", HOLD: HOLD_JOBS},
}


class Start(StrEnum):
    FOREIGN = "foreign"
    """Names no queue; has a gate of somebody else."""
    QUEUED = "queued"
    """Waits at our gate, and our condition says why."""
    RELEASED = "released"
    """Admitted: our stamps instead of our gate."""
    DELETING = "deleting"
    """Queued, deleted, and kept by a finalizer."""
    ENDING = "ending"
    """Released, on a node, deleted with an hour of grace, and kept by a finalizer."""


@dataclass(frozen=True, slots=True)
class Create:
    """Create a pod."""

    metadata: Json = field(default_factory=dict)
    spec: Json = field(default_factory=dict)
    where: Where = Where.PLAIN


@dataclass(frozen=True, slots=True)
class Update:
    """Change a pod by strategic merge patch, through a subresource if one is named."""

    start: Start
    patch: Json
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class Bind:
    """Create a Binding for a pod, through pods/binding or the `bindings` of old."""

    start: Start
    metadata: Json
    is_legacy: bool = False


@dataclass(frozen=True, slots=True)
class Allowed:
    """It goes through; where it is said, with our gate or without it afterwards, and without these keys.

    `metadata`: all labels and annotations afterwards; `gates`: all gates, in their order.
    """

    gated: bool | None = None
    without: tuple[str, ...] = ()
    labels: Json = field(default_factory=dict)
    metadata: Json | None = None
    gates: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """403, with the rule and these words in the message."""

    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """`warning`: words of a warning that only the webhook gives."""

    rule: Rule
    name: str
    who: Who = Who.EDITOR
    does: Create | Update | Bind
    outcome: Allowed | Refused
    warning: str = ""


ALLOWED = Allowed()
QUEUED_LABELS = {"labels": {QUEUE_NAME: "main"}}
BY_KUEUE = {"labels": {KUEUE_QUEUE: "main"}}
STAMPS = {"labels": {CLUSTER_QUEUE: "team", FLAVOR: "spot"}, "annotations": {ADMITTED_AT: "2026-03-01T08:00:00Z"}}
GATED = {"schedulingGates": [{"name": GATE}]}
OPENED = {"spec": {"schedulingGates": [{"name": GATE, "$patch": "delete"}]}}
MIRROR = {"annotations": {"kubernetes.io/config.mirror": "x"}}
ON_NODE = {"nodeName": "table-node"}
DAEMON = {
    "ownerReferences": [
        {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": "table", "controller": True}
    ]
}
ADMITTED = {
    "labels": {QUEUE_NAME: "main", CLUSTER_QUEUE: "team", FLAVOR: "spot"},
    "annotations": {ADMITTED_AT: "2026-03-01T08:00:00Z", ADMITTED_JOB: "table"},
}
OF_JOB = {
    "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "table", "controller": True}]
}
OURS = {"type": CONDITION, "status": "False", "reason": "Forged", "message": "nothing to see"}
THEIRS = {"type": "example.com/Ready", "status": "True", "reason": "Fine", "message": ""}


def joined(*parts: Json) -> Json:
    """Several parts of metadata as one."""
    merged: Json = {}
    for part in parts:
        for name, value in part.items():
            merged[name] = {**merged.get(name, {}), **value} if isinstance(value, dict) else value
    return merged


def our_labels(**changes: str | None) -> Json:
    """A change of our labels: queue, cluster_queue, flavor."""
    keys = {"queue": QUEUE_NAME, "cluster_queue": CLUSTER_QUEUE, "flavor": FLAVOR}
    return {"metadata": {"labels": {keys[name]: value for name, value in changes.items()}}}


def annotation(key: str, value: str | None) -> Json:
    return {"metadata": {"annotations": {key: value}}}


def resources(requests: Json, limits: Json | None = None) -> Json:
    """A resize of the container `main`, which asks for 1 cpu."""
    resources = {"requests": requests, **({"limits": limits} if limits else {})}
    return {"spec": {"containers": [{"name": "main", "resources": resources}]}}


IN_GATES = ("spec.schedulingGates",)
IN_NODE = ("spec.nodeName",)
IN_QUEUE_NAME = (f"metadata.labels[{QUEUE_NAME}]",)
IN_CPU = ("spec.containers[main].resources.requests.cpu",)
