"""Rows of the table about Jobs: those that the controller of a kind makes for an object that was admitted."""

from __future__ import annotations

from typing import Any

from controller.core.gate.protection import Rule
from controller.core.keys import ADMITTED_AT, ADMITTED_JOB, CLUSTER_QUEUE, FLAVOR, ORIGINAL_TEMPLATE
from tests.integration.protection.job_table import (
    OF_JOB_SET,
    STAMPS_OF_JOB,
    STAMPS_OF_PART,
    CreateJob,
    JobRow,
    JobStart,
    Stored,
    UpdateJob,
    change,
    spec,
)
from tests.integration.protection.table import QUEUED_LABELS, Refused, Where, Who, joined

PART = {"labels": {"app": "a"}, **OF_JOB_SET}
"""With a label of its own, or the apiserver would make those of its template its own."""
KEPT = Stored(suspended=False, template_labels={**STAMPS_OF_PART["labels"], **STAMPS_OF_PART["annotations"]})
STRIPPED = Stored(template_without=(CLUSTER_QUEUE, FLAVOR, ADMITTED_AT, ADMITTED_JOB))
OF_ANOTHER = joined(STAMPS_OF_PART, {"annotations": {ADMITTED_JOB: "other/workers"}})
BEGINS = spec(suspend=False, template={"metadata": STAMPS_OF_PART})


def owned(**changes: Any) -> dict[str, Any]:
    return {**PART, "ownerReferences": [{**OF_JOB_SET["ownerReferences"][0], **changes}]}


CREATE_PARTS = (
    *(
        JobRow(
            rule=Rule.STAMPS_ARE_OURS,
            name=f"a Job of an admitted object keeps the stamps of its template, {where}",
            who=Who.KIND_CONTROLLER,
            does=CreateJob(PART, STAMPS_OF_PART, where=where),
            outcome=KEPT,
        )
        for where in Where
    ),
    *(
        JobRow(
            rule=Rule.STAMPS_ARE_OURS,
            name=f"{what} is of no admitted object",
            who=who,
            does=CreateJob(metadata, template),
            outcome=STRIPPED,
            warning="only Penstock writes these",
        )
        for what, who, metadata, template in (
            ("what an editor makes for one", Who.EDITOR, PART, STAMPS_OF_PART),
            ("a Job with the stamps of another object", Who.KIND_CONTROLLER, PART, OF_ANOTHER),
            ("a Job that nothing controls", Who.KIND_CONTROLLER, {"labels": {"app": "a"}}, STAMPS_OF_PART),
            ("a Job that its owner does not control", Who.KIND_CONTROLLER, owned(controller=False), STAMPS_OF_PART),
            ("a Job without labels of its own", Who.KIND_CONTROLLER, OF_JOB_SET, STAMPS_OF_PART),
            ("a Job of an owner with a longer uid", Who.KIND_CONTROLLER, owned(uid="table/w"), STAMPS_OF_PART),
        )
    ),
    JobRow(
        rule=Rule.STAMPS_ARE_OURS,
        name="of a Job of an admitted object its own stamps go, and the template's with them",
        who=Who.KIND_CONTROLLER,
        does=CreateJob(joined(STAMPS_OF_JOB, PART), STAMPS_OF_PART),
        outcome=Stored(without=(CLUSTER_QUEUE, ORIGINAL_TEMPLATE), template_without=(CLUSTER_QUEUE, ADMITTED_JOB)),
    ),
    JobRow(
        rule=Rule.JOB_IS_HELD,
        name="a Job of an admitted object that names a queue is held for itself",
        who=Who.KIND_CONTROLLER,
        does=CreateJob(joined(QUEUED_LABELS, PART), STAMPS_OF_PART),
        outcome=Stored(suspended=True, template_without=(CLUSTER_QUEUE, ADMITTED_JOB)),
    ),
)

UPDATE_PARTS = (
    JobRow(
        rule=Rule.KEYS_ARE_OURS,
        name="the controller of a kind lets a Job begin with the stamps of its object",
        who=Who.KIND_CONTROLLER,
        does=UpdateJob(JobStart.PART_WAITING, BEGINS),
        outcome=KEPT,
    ),
    *(
        JobRow(
            rule=Rule.KEYS_ARE_OURS,
            name=f"{who} cannot give {what}",
            who=who,
            does=UpdateJob(start, patch),
            outcome=Refused((f"spec.template.metadata.annotations[{ADMITTED_JOB}]",)),
        )
        for what, who, start, patch in (
            ("a Job the stamps of its object", Who.EDITOR, JobStart.PART_WAITING, BEGINS),
            (
                "a Job the stamps of another object",
                *(Who.KIND_CONTROLLER, JobStart.PART_WAITING),
                spec(suspend=False, template={"metadata": OF_ANOTHER}),
            ),
            ("a Job of no object stamps", Who.KIND_CONTROLLER, JobStart.OUTSIDE, BEGINS),
            (
                "a Job its own owner with stamps",
                *(Who.EDITOR, JobStart.OUTSIDE),
                {**BEGINS, "metadata": OF_JOB_SET},
            ),
        )
    ),
    JobRow(
        rule=Rule.JOB_IS_HELD,
        name="a Job begins again with its object",
        who=Who.KIND_CONTROLLER,
        does=UpdateJob(JobStart.PART_STOPPED, BEGINS),
        outcome=KEPT,
    ),
    JobRow(
        rule=Rule.JOB_IS_HELD,
        name="a Job of a stopped object does not begin by its users",
        does=UpdateJob(JobStart.PART_STOPPED, spec(suspend=False)),
        outcome=Refused(("spec.suspend", "the object that controls it")),
    ),
    JobRow(
        rule=Rule.JOB_IS_HELD,
        name="a Job of an admitted object may be suspended",
        does=UpdateJob(JobStart.PART, spec(suspend=True)),
        outcome=Stored(suspended=True),
    ),
    JobRow(
        rule=Rule.TEMPLATE_IS_FIXED,
        name="the template of a Job of an admitted object stays",
        does=UpdateJob(JobStart.PART_STOPPED, change("spec.template.", "annotations", "note", "x")),
        outcome=Refused(("spec.template", "the object that controls the Job")),
    ),
    JobRow(
        rule=Rule.TEMPLATE_IS_FIXED,
        name="the controller of the kind may change the template of a Job",
        who=Who.KIND_CONTROLLER,
        does=UpdateJob(JobStart.PART_STOPPED, change("spec.template.", "annotations", "note", "x")),
        outcome=Stored(suspended=True, template_labels={"note": "x"}),
    ),
    *(
        JobRow(
            rule=Rule.NO_GROWTH,
            name=f"a {start} {what} by {who}",
            who=who,
            does=UpdateJob(start, spec(parallelism=parallelism)),
            outcome=outcome,
        )
        for start in (JobStart.PART, JobStart.PART_STOPPED)
        for what, who, parallelism, outcome in (
            ("does not grow", Who.EDITOR, 3, Refused(("spec.parallelism", "the object that controls the Job"))),
            ("may grow", Who.KIND_CONTROLLER, 3, Stored(parallelism=3)),
            ("may shrink", Who.EDITOR, 1, Stored(parallelism=1)),
        )
    ),
)
