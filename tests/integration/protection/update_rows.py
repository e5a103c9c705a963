"""Rows of the table: pods that are updated, as a whole or through their status."""

from __future__ import annotations

from controller.core.gate.protection import Rule
from controller.core.keys import (
    ADMITTED_AT,
    ADMITTED_JOB,
    CLUSTER_QUEUE,
    CONDITION,
    FLAVOR,
    FLAVORS,
    POLICIES,
    QUEUE_NAME,
)
from tests.integration.protection.table import (
    ALLOWED,
    IN_GATES,
    IN_QUEUE_NAME,
    OPENED,
    OURS,
    THEIRS,
    Allowed,
    Refused,
    Row,
    Start,
    Update,
    Who,
    annotation,
    our_labels,
)

DEBUG = {"spec": {"ephemeralContainers": [{"name": "debug", "image": "none"}]}}

UPDATE = (
    *(
        Row(rule=Rule.GATE_IS_OURS, name=f"{who} cannot open our gate", who=who, does=does, outcome=Refused(IN_GATES))
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
        name="a pod that is being deleted can lose its finalizers",
        does=Update(Start.DELETING, {"metadata": {"finalizers": None}}),
        outcome=ALLOWED,
    ),
    Row(
        rule=Rule.GATE_IS_OURS,
        name="a pod that is being deleted keeps its gate",
        does=Update(Start.DELETING, OPENED),
        outcome=Refused(IN_GATES),
    ),
    *(
        Row(
            rule=Rule.KEYS_ARE_OURS,
            name=f"of a pod that ends on its node {what}: it runs as long as its grace period",
            does=Update(Start.ENDING, patch, subresource),
            outcome=Refused((path,)),
        )
        for what, patch, subresource, path in (
            ("the queue cannot be left", our_labels(queue=None), "", *IN_QUEUE_NAME),
            ("the payer cannot be changed", our_labels(cluster_queue="x"), "", f"metadata.labels[{CLUSTER_QUEUE}]"),
            ("the queue cannot be left through its status", our_labels(queue=None), "status", *IN_QUEUE_NAME),
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
            does=Update(start, {**our_labels(queue=None, flavor="x"), **DEBUG}, "ephemeralcontainers"),
            outcome=Allowed(gated=start is Start.QUEUED, labels={QUEUE_NAME: "main"}),
        )
        for start in (Start.QUEUED, Start.RELEASED)
    ),
    Row(
        rule=Rule.KEYS_ARE_OURS,
        name="a pod that is being deleted keeps its queue",
        does=Update(Start.DELETING, our_labels(queue=None)),
        outcome=Refused(IN_QUEUE_NAME),
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
            ("the queue cannot be changed", Start.QUEUED, our_labels(queue="other"), *IN_QUEUE_NAME),
            ("the queue cannot be left", Start.QUEUED, our_labels(queue=None), *IN_QUEUE_NAME),
            ("the queue cannot be left", Start.RELEASED, our_labels(queue=None), *IN_QUEUE_NAME),
            ("a queue cannot be named later", Start.FOREIGN, our_labels(queue="main"), *IN_QUEUE_NAME),
            (
                "the payer cannot be forged",
                Start.QUEUED,
                our_labels(cluster_queue="x"),
                f"metadata.labels[{CLUSTER_QUEUE}]",
            ),
            ("the flavor cannot be changed", Start.RELEASED, our_labels(flavor="x"), f"metadata.labels[{FLAVOR}]"),
            ("the flavor cannot be removed", Start.RELEASED, our_labels(flavor=None), f"metadata.labels[{FLAVOR}]"),
            ("the flavor cannot be forged", Start.FOREIGN, our_labels(flavor="x"), f"metadata.labels[{FLAVOR}]"),
            (
                "the time of admission cannot be changed",
                Start.RELEASED,
                annotation(ADMITTED_AT, "2030-01-01T00:00:00Z"),
                f"metadata.annotations[{ADMITTED_AT}]",
            ),
            (
                "a set of flavors cannot be forged",
                Start.QUEUED,
                annotation(FLAVORS, "spot"),
                f"metadata.annotations[{FLAVORS}]",
            ),
            (
                "an admitted Job cannot be forged",
                Start.RELEASED,
                annotation(ADMITTED_JOB, "x"),
                f"metadata.annotations[{ADMITTED_JOB}]",
            ),
            (
                "the policies cannot be forged",
                Start.FOREIGN,
                annotation(POLICIES, "some"),
                f"metadata.annotations[{POLICIES}]",
            ),
        )
    ),
    Row(
        rule=Rule.KEYS_ARE_OURS,
        name="an administrator cannot change the queue of a released pod",
        who=Who.ADMINISTRATOR,
        does=Update(Start.RELEASED, our_labels(queue="other")),
        outcome=Refused(IN_QUEUE_NAME),
    ),
    Row(
        rule=Rule.KEYS_ARE_OURS,
        name="the break-glass group may take a pod out of its queue",
        who=Who.BREAK_GLASS,
        does=Update(Start.QUEUED, {**our_labels(queue=None), **OPENED}),
        outcome=Allowed(gated=False, without=(QUEUE_NAME,)),
    ),
    Row(
        rule=Rule.KEYS_ARE_OURS,
        name="the controller stamps a pod while it opens the gate",
        who=Who.CONTROLLER,
        does=Update(Start.QUEUED, {**our_labels(cluster_queue="team", flavor="spot"), **OPENED}),
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
