"""Rows of the table: pods that are created."""

from __future__ import annotations

from controller.core.keys import ADMITTED_AT, CLUSTER_QUEUE, FLAVOR, POLICIES, QUEUE_NAME, QUEUEING, USER
from controller.core.protection import Rule
from tests.integration.protection.table import (
    ALLOWED,
    DAEMON,
    GATED,
    IN_GATES,
    IN_NODE,
    IN_QUEUE_NAME,
    MIRROR,
    ON_NODE,
    QUEUED_LABELS,
    STAMPS,
    Allowed,
    Create,
    Refused,
    Row,
    Where,
    Who,
    annotation,
    joined,
)

FORGED = {"annotations": {USER: "victim"}}

CREATE = (
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
        outcome=Refused(IN_NODE),
    ),
    Row(
        rule=Rule.GATE_REQUIRED,
        name="an administrator's queued pod cannot name its node either",
        who=Who.ADMINISTRATOR,
        does=Create(QUEUED_LABELS, ON_NODE),
        outcome=Refused(IN_NODE),
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
        does=Create(joined(QUEUED_LABELS, DAEMON)),
        outcome=Allowed(gated=False),
    ),
    Row(
        rule=Rule.GATE_REQUIRED,
        name="an owner reference to a daemon set opens no way around the gate",
        does=Create(joined(QUEUED_LABELS, DAEMON)),
        outcome=Allowed(gated=True),
    ),
    Row(
        rule=Rule.GATE_REQUIRED,
        name="a static pod's image passes by its queue",
        who=Who.NODE,
        does=Create(joined(QUEUED_LABELS, MIRROR), ON_NODE),
        outcome=Allowed(gated=False),
    ),
    Row(
        rule=Rule.GATE_REQUIRED,
        name="the annotation of static pods opens no way around the gate",
        does=Create(joined(QUEUED_LABELS, MIRROR), ON_NODE),
        outcome=Refused(IN_NODE),
    ),
    Row(
        rule=Rule.QUEUE_REQUIRED,
        name="a pod without a queue is refused where one is required",
        does=Create(where=Where.REQUIRED),
        outcome=Refused((*IN_QUEUE_NAME, QUEUEING)),
    ),
    Row(
        rule=Rule.QUEUE_REQUIRED,
        name="an administrator's pod without a queue is refused where one is required",
        who=Who.ADMINISTRATOR,
        does=Create(where=Where.REQUIRED),
        outcome=Refused(IN_QUEUE_NAME),
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
        outcome=Refused(IN_QUEUE_NAME),
    ),
    Row(
        rule=Rule.QUEUE_REQUIRED,
        name="a pod of a daemon set that names no queue is refused where one is required",
        who=Who.DAEMON_SET_CONTROLLER,
        does=Create(DAEMON, where=Where.REQUIRED),
        outcome=Refused(IN_QUEUE_NAME),
    ),
    Row(
        rule=Rule.QUEUE_REQUIRED,
        name="a pod of a daemon set that names a queue is refused where one is required: it cannot wait",
        who=Who.DAEMON_SET_CONTROLLER,
        does=Create(joined(QUEUED_LABELS, DAEMON), where=Where.REQUIRED),
        outcome=Refused(IN_GATES),
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
        does=Create(joined(QUEUED_LABELS, STAMPS)),
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
        does=Create(annotation(POLICIES, "some")["metadata"]),
        outcome=ALLOWED,
    ),
    Row(
        rule=Rule.GATE_NEEDS_QUEUE,
        name="our gate on a pod that names no queue is refused",
        does=Create(spec=GATED),
        outcome=Refused((*IN_GATES, QUEUE_NAME)),
    ),
    Row(
        rule=Rule.GATE_NEEDS_QUEUE,
        name="our gate on a queued pod is as it should be",
        does=Create(QUEUED_LABELS, GATED),
        outcome=Allowed(gated=True),
    ),
    Row(
        rule=Rule.USER_IS_TRUE,
        name="a pod of a queue that says it is somebody else's is noted as its creator's",
        does=Create(joined(QUEUED_LABELS, FORGED)),
        outcome=Allowed(gated=True),
    ),
    Row(
        rule=Rule.USER_IS_TRUE,
        name="a static pod's image, which nobody puts right, is nobody else's either",
        who=Who.NODE,
        does=Create(joined(QUEUED_LABELS, MIRROR, FORGED), ON_NODE),
        outcome=Refused((f"metadata.annotations[{USER}]", "'victim'", "'system:node:table-node'")),
    ),
)
