"""Rows of the table: pods that were admitted with their Job, and what only looks like one."""

from __future__ import annotations

from typing import Any

from controller.core.gate.protection import Rule
from controller.core.keys import ADMITTED_JOB, CLUSTER_QUEUE, FLAVOR, QUEUE_NAME
from tests.integration.protection.table import ADMITTED, OF_JOB, Allowed, Create, Refused, Row, Where, Who, joined

ADMITTED_POD = {**ADMITTED, **OF_JOB}
KEPT = Allowed(gated=False, labels=ADMITTED["labels"], metadata=None)
OF_PART = joined({**ADMITTED, **OF_JOB}, {"annotations": {ADMITTED_JOB: "an object's/workers"}})
"""A pod of the Job that the controller of a kind made for an object that was admitted."""
STRIPPED = Allowed(gated=True, without=(CLUSTER_QUEUE, FLAVOR, ADMITTED_JOB), labels={QUEUE_NAME: "main"})


def owned(**changes: Any) -> dict[str, Any]:
    """The metadata of an admitted pod, but for this in its owner reference."""
    return {**ADMITTED, "ownerReferences": [{**OF_JOB["ownerReferences"][0], **changes}]}


OF_ADMITTED_JOBS = (
    *(
        Row(
            rule=Rule.STAMPS_ARE_OURS,
            name=f"a pod of an admitted Job keeps its stamps and gets no gate, {where}",
            who=Who.JOB_CONTROLLER,
            does=Create(ADMITTED_POD, where=where),
            outcome=KEPT,
        )
        for where in Where
    ),
    *(
        Row(
            rule=Rule.STAMPS_ARE_OURS,
            name=f"a pod of a Job of an admitted object keeps its stamps, {where}",
            who=Who.JOB_CONTROLLER,
            does=Create(OF_PART, where=where),
            outcome=KEPT,
        )
        for where in Where
    ),
    *(
        Row(rule=Rule.STAMPS_ARE_OURS, name=f"{what} was not admitted", who=who, does=does, outcome=STRIPPED)
        for what, who, does in (
            ("what an editor makes", Who.EDITOR, Create(ADMITTED_POD)),
            ("what an administrator makes", Who.ADMINISTRATOR, Create(ADMITTED_POD)),
            ("what the daemon set controller makes", Who.DAEMON_SET_CONTROLLER, Create(ADMITTED_POD)),
            ("what an editor makes for an object", Who.EDITOR, Create(OF_PART)),
            ("what another controller makes for one", Who.DAEMON_SET_CONTROLLER, Create(OF_PART)),
            (
                "a pod for an object of another kind of owner",
                Who.JOB_CONTROLLER,
                Create({**OF_PART, "ownerReferences": [{**OF_JOB["ownerReferences"][0], "kind": "Task"}]}),
            ),
            ("a pod of another Job", Who.JOB_CONTROLLER, Create(owned(uid="other"))),
            ("a pod that a Job does not control", Who.JOB_CONTROLLER, Create(owned(controller=False))),
            ("a pod of another kind of owner", Who.JOB_CONTROLLER, Create(owned(kind="Task"))),
            ("a pod of a Job of others", Who.JOB_CONTROLLER, Create(owned(apiVersion="batch.volcano.sh/v1alpha1"))),
            (
                "a pod of a Job that was not admitted",
                Who.JOB_CONTROLLER,
                Create({**ADMITTED, "annotations": {}, **OF_JOB}),
            ),
        )
    ),
    Row(
        rule=Rule.STAMPS_ARE_OURS,
        name="a pod without a queue that says it was admitted with another Job is refused",
        who=Who.JOB_CONTROLLER,
        does=Create({**OF_JOB, "annotations": {ADMITTED_JOB: "other"}}),
        outcome=Refused((f"metadata.annotations[{ADMITTED_JOB}]",)),
    ),
    Row(
        rule=Rule.GATE_REQUIRED,
        name="a pod of a Job whose template names a queue gets the gate",
        who=Who.JOB_CONTROLLER,
        does=Create(joined({"labels": {QUEUE_NAME: "main"}}, OF_JOB)),
        outcome=Allowed(gated=True),
    ),
)
