"""The table of requests that both ways of protecting the gate are held to: rows as data.

Every request is a dry run, by somebody impersonated, about a pod that the break-glass group has made as `Start` says.
Namespaces have no LocalQueue and the cluster no nodes, so that nothing happens to a pod but what a row does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from controller.core.keys import (
    ADMITTED_AT,
    CLUSTER_QUEUE,
    CONDITION,
    DEFAULT_QUEUE,
    FLAVOR,
    FLAVORS,
    GATE,
    POLICIES,
    QUEUE_NAME,
    QUEUEING,
    REQUIRED,
)
from controller.core.protection import Rule

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
    SCHEDULER = "scheduler"


class Where(StrEnum):
    PLAIN = "plain"
    REQUIRED = "required"
    DEFAULTED = "defaulted"
    """With the default queue `main`."""


LABELS_OF: dict[Where, dict[str, str]] = {
    Where.PLAIN: {QUEUEING: "required"},  # another value than Required means nothing
    Where.REQUIRED: {QUEUEING: REQUIRED},
    Where.DEFAULTED: {DEFAULT_QUEUE: "main"},
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
    """It goes through; where it is said, with our gate or without it afterwards, and without these keys."""

    gated: bool | None = None
    without: tuple[str, ...] = ()
    labels: Json = field(default_factory=dict)


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
OURS = {"type": CONDITION, "status": "False", "reason": "Forged", "message": "nothing to see"}
THEIRS = {"type": "example.com/Ready", "status": "True", "reason": "Fine", "message": ""}


def _metadata(*parts: Json) -> Json:
    """Several parts of metadata as one."""
    merged: Json = {}
    for part in parts:
        for name, value in part.items():
            merged[name] = {**merged.get(name, {}), **value} if isinstance(value, dict) else value
    return merged


def _labels(**changes: str | None) -> Json:
    """A change of our labels: queue, cluster_queue, flavor."""
    keys = {"queue": QUEUE_NAME, "cluster_queue": CLUSTER_QUEUE, "flavor": FLAVOR}
    return {"metadata": {"labels": {keys[name]: value for name, value in changes.items()}}}


def _annotation(key: str, value: str | None) -> Json:
    return {"metadata": {"annotations": {key: value}}}


def _resources(requests: Json, limits: Json | None = None) -> Json:
    """A resize of the container `main`, which asks for 1 cpu."""
    resources = {"requests": requests, **({"limits": limits} if limits else {})}
    return {"spec": {"containers": [{"name": "main", "resources": resources}]}}


_DEBUG = {"spec": {"ephemeralContainers": [{"name": "debug", "image": "none"}]}}
_IN_GATES = ("spec.schedulingGates",)
_IN_NODE = ("spec.nodeName",)
_IN_QUEUE_NAME = (f"metadata.labels[{QUEUE_NAME}]",)
_IN_CPU = ("spec.containers[main].resources.requests.cpu",)

_CREATE = (
    Row(
        rule=Rule.GATE_REQUIRED,
        name="a pod that names a queue gets the gate",
        does=Create(QUEUED_LABELS),
        outcome=Allowed(gated=True),
        warning="LocalQueue 'main' does not exist",
    ),
    Row(
        rule=Rule.GATE_REQUIRED,
        name="a pod of a namespace with a default queue gets that queue and the gate",
        does=Create(where=Where.DEFAULTED),
        outcome=Allowed(gated=True, labels={QUEUE_NAME: "main"}),
        warning="LocalQueue 'main' does not exist",
    ),
    Row(
        rule=Rule.GATE_REQUIRED,
        name="a pod that names no queue is none of our business",
        does=Create(),
        outcome=Allowed(gated=False),
    ),
    Row(
        rule=Rule.GATE_REQUIRED,
        name="a queued pod cannot name its node",
        does=Create(QUEUED_LABELS, ON_NODE),
        outcome=Refused(_IN_NODE),
    ),
    Row(
        rule=Rule.GATE_REQUIRED,
        name="an administrator's queued pod cannot name its node either",
        who=Who.ADMINISTRATOR,
        does=Create(QUEUED_LABELS, ON_NODE),
        outcome=Refused(_IN_NODE),
    ),
    Row(
        rule=Rule.GATE_REQUIRED,
        name="a pod on a node without a queue is none of our business",
        does=Create(spec=ON_NODE),
        outcome=Allowed(gated=False),
    ),
    Row(
        rule=Rule.GATE_REQUIRED,
        name="a pod of a daemon set passes by its queue",
        who=Who.DAEMON_SET_CONTROLLER,
        does=Create(_metadata(QUEUED_LABELS, DAEMON)),
        outcome=Allowed(gated=False),
    ),
    Row(
        rule=Rule.GATE_REQUIRED,
        name="an owner reference to a daemon set opens no way around the gate",
        does=Create(_metadata(QUEUED_LABELS, DAEMON)),
        outcome=Allowed(gated=True),
    ),
    Row(
        rule=Rule.GATE_REQUIRED,
        name="a static pod's image passes by its queue",
        who=Who.NODE,
        does=Create(_metadata(QUEUED_LABELS, MIRROR), ON_NODE),
        outcome=Allowed(gated=False),
    ),
    Row(
        rule=Rule.GATE_REQUIRED,
        name="the annotation of static pods opens no way around the gate",
        does=Create(_metadata(QUEUED_LABELS, MIRROR), ON_NODE),
        outcome=Refused(_IN_NODE),
    ),
    Row(
        rule=Rule.QUEUE_REQUIRED,
        name="a pod without a queue is refused where one is required",
        does=Create(where=Where.REQUIRED),
        outcome=Refused((*_IN_QUEUE_NAME, QUEUEING)),
    ),
    Row(
        rule=Rule.QUEUE_REQUIRED,
        name="an administrator's pod without a queue is refused where one is required",
        who=Who.ADMINISTRATOR,
        does=Create(where=Where.REQUIRED),
        outcome=Refused(_IN_QUEUE_NAME),
    ),
    Row(
        rule=Rule.QUEUE_REQUIRED,
        name="a queued pod is let in where a queue is required",
        does=Create(QUEUED_LABELS, where=Where.REQUIRED),
        outcome=Allowed(gated=True),
    ),
    Row(
        rule=Rule.QUEUE_REQUIRED,
        name="a pod on a node without a queue is refused where one is required",
        does=Create(spec=ON_NODE, where=Where.REQUIRED),
        outcome=Refused(_IN_QUEUE_NAME),
    ),
    Row(
        rule=Rule.QUEUE_REQUIRED,
        name="a pod of a daemon set that names no queue is refused where one is required",
        who=Who.DAEMON_SET_CONTROLLER,
        does=Create(DAEMON, where=Where.REQUIRED),
        outcome=Refused(_IN_QUEUE_NAME),
    ),
    Row(
        rule=Rule.QUEUE_REQUIRED,
        name="a pod of a daemon set that names a queue is refused where one is required: it cannot wait",
        who=Who.DAEMON_SET_CONTROLLER,
        does=Create(_metadata(QUEUED_LABELS, DAEMON), where=Where.REQUIRED),
        outcome=Refused(_IN_GATES),
    ),
    Row(
        rule=Rule.QUEUE_REQUIRED,
        name="a static pod's image is let in where a queue is required: it runs already",
        who=Who.NODE,
        does=Create(MIRROR, ON_NODE, where=Where.REQUIRED),
        outcome=Allowed(gated=False),
    ),
    Row(
        rule=Rule.QUEUE_REQUIRED,
        name="the break-glass group may do without a queue where one is required",
        who=Who.BREAK_GLASS,
        does=Create(where=Where.REQUIRED),
        outcome=Allowed(gated=False),
    ),
    Row(
        rule=Rule.STAMPS_ARE_OURS,
        name="stamps are taken off a queued pod",
        does=Create(_metadata(QUEUED_LABELS, STAMPS)),
        outcome=Allowed(gated=True, without=(CLUSTER_QUEUE, FLAVOR, ADMITTED_AT)),
        warning="only Penstock writes these",
    ),
    Row(
        rule=Rule.STAMPS_ARE_OURS,
        name="a pod that names no queue but is stamped is refused",
        does=Create({"labels": {FLAVOR: "spot"}}),
        outcome=Refused((f"metadata.labels[{FLAVOR}]",)),
    ),
    Row(
        rule=Rule.STAMPS_ARE_OURS,
        name="a pod that names no queue but says when it was admitted is refused",
        does=Create({"annotations": {ADMITTED_AT: "2026-03-01T08:00:00Z"}}),
        outcome=Refused((f"metadata.annotations[{ADMITTED_AT}]",)),
    ),
    Row(
        rule=Rule.STAMPS_ARE_OURS,
        name="a pod may bring the annotation of policies from its template",
        does=Create(_annotation(POLICIES, "some")["metadata"]),
        outcome=ALLOWED,
    ),
    Row(
        rule=Rule.GATE_NEEDS_QUEUE,
        name="our gate on a pod that names no queue is refused",
        does=Create(spec=GATED),
        outcome=Refused((*_IN_GATES, QUEUE_NAME)),
    ),
    Row(
        rule=Rule.GATE_NEEDS_QUEUE,
        name="our gate on a queued pod is as it should be",
        does=Create(QUEUED_LABELS, GATED),
        outcome=Allowed(gated=True),
    ),
)

_UPDATE = (
    *(
        Row(rule=Rule.GATE_IS_OURS, name=f"{who} cannot open our gate", who=who, does=does, outcome=Refused(_IN_GATES))
        for who in (Who.EDITOR, Who.ADMINISTRATOR)
        for does in (Update(Start.QUEUED, OPENED),)
    ),
    *(
        Row(
            rule=Rule.GATE_IS_OURS,
            name=f"{who} opens our gate",
            who=who,
            does=Update(Start.QUEUED, OPENED),
            outcome=Allowed(gated=False),
        )
        for who in (Who.CONTROLLER, Who.BREAK_GLASS)
    ),
    Row(
        rule=Rule.GATE_IS_OURS,
        name="the gate of somebody else is none of our business",
        does=Update(Start.FOREIGN, {"spec": {"schedulingGates": None}}),
        outcome=ALLOWED,
    ),
    Row(
        rule=Rule.GATE_IS_OURS,
        name="a queued pod may be narrowed",
        does=Update(Start.QUEUED, {"spec": {"nodeSelector": {"pool": "a"}}}),
        outcome=Allowed(gated=True),
    ),
    Row(
        rule=Rule.GATE_IS_OURS,
        name="nothing is kept from a pod that is being deleted",
        does=Update(Start.DELETING, {**OPENED, "metadata": {"labels": {QUEUE_NAME: None}, "finalizers": None}}),
        outcome=ALLOWED,
    ),
    *(
        Row(
            rule=Rule.KEYS_ARE_OURS,
            name=f"of a {start} pod{through} {what}",
            does=Update(start, patch, subresource),
            outcome=Refused((path,)),
        )
        for subresource, through in (("", ""), ("status", " through its status"))
        for what, start, patch, path in (
            ("the queue cannot be changed", Start.QUEUED, _labels(queue="other"), *_IN_QUEUE_NAME),
            ("the queue cannot be left", Start.QUEUED, _labels(queue=None), *_IN_QUEUE_NAME),
            ("the queue cannot be left", Start.RELEASED, _labels(queue=None), *_IN_QUEUE_NAME),
            ("a queue cannot be named later", Start.FOREIGN, _labels(queue="main"), *_IN_QUEUE_NAME),
            (
                "the payer cannot be forged",
                Start.QUEUED,
                _labels(cluster_queue="x"),
                f"metadata.labels[{CLUSTER_QUEUE}]",
            ),
            ("the flavor cannot be changed", Start.RELEASED, _labels(flavor="x"), f"metadata.labels[{FLAVOR}]"),
            ("the flavor cannot be removed", Start.RELEASED, _labels(flavor=None), f"metadata.labels[{FLAVOR}]"),
            ("the flavor cannot be forged", Start.FOREIGN, _labels(flavor="x"), f"metadata.labels[{FLAVOR}]"),
            (
                "the time of admission cannot be changed",
                Start.RELEASED,
                _annotation(ADMITTED_AT, "2030-01-01T00:00:00Z"),
                f"metadata.annotations[{ADMITTED_AT}]",
            ),
            (
                "a set of flavors cannot be forged",
                Start.QUEUED,
                _annotation(FLAVORS, "spot"),
                f"metadata.annotations[{FLAVORS}]",
            ),
            (
                "the policies cannot be forged",
                Start.FOREIGN,
                _annotation(POLICIES, "some"),
                f"metadata.annotations[{POLICIES}]",
            ),
        )
    ),
    *(
        Row(
            rule=Rule.KEYS_ARE_OURS,
            name=f"of a pod that ends on its node {what}: it runs as long as its grace period",
            does=Update(Start.ENDING, patch, subresource),
            outcome=Refused((path,)),
        )
        for what, patch, subresource, path in (
            ("the queue cannot be left", _labels(queue=None), "", *_IN_QUEUE_NAME),
            ("the payer cannot be changed", _labels(cluster_queue="x"), "", f"metadata.labels[{CLUSTER_QUEUE}]"),
            ("the queue cannot be left through its status", _labels(queue=None), "status", *_IN_QUEUE_NAME),
        )
    ),
    Row(
        rule=Rule.KEYS_ARE_OURS,
        name="finalizers come off a pod that ends on its node",
        does=Update(Start.ENDING, {"metadata": {"finalizers": None}}),
        outcome=ALLOWED,
    ),
    *(
        Row(
            rule=Rule.KEYS_ARE_OURS,
            name=f"ephemeral containers change no key of a {start} pod",
            does=Update(start, {**_labels(queue=None, flavor="x"), **_DEBUG}, "ephemeralcontainers"),
            outcome=Allowed(gated=start is Start.QUEUED, labels={QUEUE_NAME: "main"}),
        )
        for start in (Start.QUEUED, Start.RELEASED)
    ),
    Row(
        rule=Rule.KEYS_ARE_OURS,
        name="an administrator cannot change the queue of a released pod",
        who=Who.ADMINISTRATOR,
        does=Update(Start.RELEASED, _labels(queue="other")),
        outcome=Refused(_IN_QUEUE_NAME),
    ),
    Row(
        rule=Rule.KEYS_ARE_OURS,
        name="the break-glass group may take a pod out of its queue",
        who=Who.BREAK_GLASS,
        does=Update(Start.QUEUED, {**_labels(queue=None), **OPENED}),
        outcome=Allowed(gated=False, without=(QUEUE_NAME,)),
    ),
    Row(
        rule=Rule.KEYS_ARE_OURS,
        name="the controller stamps a pod while it opens the gate",
        who=Who.CONTROLLER,
        does=Update(Start.QUEUED, {**_labels(cluster_queue="team", flavor="spot"), **OPENED}),
        outcome=Allowed(gated=False, labels={FLAVOR: "spot"}),
    ),
    *(
        Row(
            rule=Rule.KEYS_ARE_OURS,
            name=f"labels and annotations of others on a {start} pod are free{through}",
            does=Update(start, {"metadata": {"labels": {"app": "a"}, "annotations": {"note": "b"}}}, subresource),
            outcome=Allowed(labels={"app": "a"}),
        )
        for start in (Start.QUEUED, Start.RELEASED)
        for subresource, through in (("", ""), ("status", " through its status"))
    ),
    *(
        Row(
            rule=Rule.CONDITION_IS_OURS,
            name=f"why a pod waits cannot be {what}",
            does=Update(start, {"status": {"conditions": [condition]}}, "status"),
            outcome=Refused((f"status.conditions[{CONDITION}]",)),
        )
        for what, start, condition in (
            ("rewritten", Start.QUEUED, OURS),
            ("erased", Start.QUEUED, {"type": CONDITION, "$patch": "delete"}),
            ("forged on a pod without a queue", Start.FOREIGN, OURS),
        )
    ),
    *(
        Row(
            rule=Rule.CONDITION_IS_OURS,
            name=f"{who} writes why a pod waits",
            who=who,
            does=Update(Start.QUEUED, {"status": {"conditions": [OURS]}}, "status"),
            outcome=ALLOWED,
        )
        for who in (Who.CONTROLLER, Who.BREAK_GLASS)
    ),
    *(
        Row(
            rule=Rule.CONDITION_IS_OURS,
            name=f"{who} writes another condition of a queued pod",
            who=who,
            does=Update(Start.QUEUED, {"status": {"conditions": [THEIRS]}}, "status"),
            outcome=ALLOWED,
        )
        for who in (Who.EDITOR, Who.NODE, Who.SCHEDULER)
    ),
)

_RESIZE = (
    *(
        Row(
            rule=Rule.NO_GROWTH,
            name=f"a {start} pod cannot grow{by}",
            who=who,
            does=Update(start, _resources({"cpu": "2"}), "resize"),
            outcome=Refused(_IN_CPU),
        )
        for who, by in ((Who.EDITOR, ""), (Who.ADMINISTRATOR, ", whoever administers"))
        for start in (Start.QUEUED, Start.RELEASED)
    ),
    Row(
        rule=Rule.NO_GROWTH,
        name="a thousandth more is growth, however it is written",
        does=Update(Start.RELEASED, _resources({"cpu": "1001m"}), "resize"),
        outcome=Refused(_IN_CPU),
    ),
    Row(
        rule=Rule.NO_GROWTH,
        name="the same amount written otherwise is no growth",
        does=Update(Start.RELEASED, _resources({"cpu": "1000m"}), "resize"),
        outcome=ALLOWED,
    ),
    Row(
        rule=Rule.NO_GROWTH,
        name="a request that was not there is growth",
        does=Update(Start.RELEASED, _resources({"memory": "1Mi"}), "resize"),
        outcome=Refused(("spec.containers[main].resources.requests.memory",)),
    ),
    Row(
        rule=Rule.NO_GROWTH,
        name="a limit that was not there brings a request, which is growth",
        does=Update(Start.RELEASED, _resources({}, {"memory": "1Mi"}), "resize"),
        outcome=Refused(("spec.containers[main].resources.requests.memory",)),
    ),
    Row(
        rule=Rule.NO_GROWTH,
        name="a limit alone is not charged",
        does=Update(Start.RELEASED, _resources({}, {"cpu": "4"}), "resize"),
        outcome=ALLOWED,
    ),
    *(
        Row(
            rule=Rule.NO_GROWTH,
            name=f"a {start} pod may shrink",
            does=Update(start, _resources({"cpu": "500m"}), "resize"),
            outcome=ALLOWED,
        )
        for start in (Start.QUEUED, Start.RELEASED)
    ),
    Row(
        rule=Rule.NO_GROWTH,
        name="a pod that names no queue may grow",
        does=Update(Start.FOREIGN, _resources({"cpu": "2"}), "resize"),
        outcome=ALLOWED,
    ),
    Row(
        rule=Rule.NO_GROWTH,
        name="the break-glass group may let a pod grow",
        who=Who.BREAK_GLASS,
        does=Update(Start.RELEASED, _resources({"cpu": "2"}), "resize"),
        outcome=ALLOWED,
    ),
)

_BINDING = (
    *(
        Row(
            rule=Rule.BINDING_KEYS,
            name=f"a binding cannot bring {what}{through}",
            who=who,
            does=Bind(Start.RELEASED, metadata, is_legacy),
            outcome=Refused((path,)),
        )
        for is_legacy, through in ((False, ""), (True, " through `bindings`"))
        for what, who, metadata, path in (
            ("another queue", Who.EDITOR, {"labels": {QUEUE_NAME: "other"}}, *_IN_QUEUE_NAME),
            ("a flavor", Who.EDITOR, {"labels": {FLAVOR: "x"}}, f"metadata.labels[{FLAVOR}]"),
            ("policies", Who.EDITOR, {"annotations": {POLICIES: "x"}}, f"metadata.annotations[{POLICIES}]"),
            ("an administrator's queue", Who.ADMINISTRATOR, {"labels": {QUEUE_NAME: "other"}}, *_IN_QUEUE_NAME),
        )
    ),
    Row(
        rule=Rule.BINDING_KEYS,
        name="a binding may bring labels of others",
        does=Bind(Start.RELEASED, {"labels": {"app": "a"}}),
        outcome=ALLOWED,
    ),
    Row(
        rule=Rule.BINDING_KEYS,
        name="a binding of the scheduler is none of our business",
        who=Who.SCHEDULER,
        does=Bind(Start.RELEASED, {}),
        outcome=ALLOWED,
    ),
    Row(
        rule=Rule.BINDING_KEYS,
        name="the break-glass group may bind with what it likes",
        who=Who.BREAK_GLASS,
        does=Bind(Start.RELEASED, {"labels": {QUEUE_NAME: "other"}}),
        outcome=ALLOWED,
    ),
)

ROWS: tuple[Row, ...] = (*_CREATE, *_UPDATE, *_RESIZE, *_BINDING)
