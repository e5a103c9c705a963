"""Rows of the table about Jobs: those that are created, and what becomes of those that are there."""

from __future__ import annotations

from controller.core.gate.protection import Rule
from controller.core.keys import (
    ADMITTED_AT,
    ADMITTED_JOB,
    CLUSTER_QUEUE,
    FLAVOR,
    GANG,
    HELD,
    HOLD,
    HOLD_PODS,
    KUEUE_MAX_EXEC_TIME,
    KUEUE_MIN_PARALLELISM,
    KUEUE_PRIORITY_CLASS,
    MAX_RUN_TIME,
    MIN_PARALLELISM,
    ORIGINAL_TEMPLATE,
    PRIORITY_CLASS,
    QUEUE_NAME,
    RELEASE_ATTEMPT,
    USER,
    WANTED_PARALLELISM,
)
from tests.integration.protection.job_growth_rows import GROWING_JOBS
from tests.integration.protection.job_table import (
    OF_JOB_SET,
    STAMPS_OF_JOB,
    STAMPS_OF_TEMPLATE,
    CreateJob,
    JobRow,
    JobStart,
    Stored,
    UpdateJob,
    change,
    spec,
)
from tests.integration.protection.table import BY_KUEUE, QUEUED_LABELS, Refused, Where, Who, joined

NIGHTLY = {
    "ownerReferences": [
        {"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly", "uid": "table", "controller": True}
    ]
}
SHORT_BY_KUEUE = joined(BY_KUEUE, {"labels": {KUEUE_MAX_EXEC_TIME: "60"}})
FEW_BY_KUEUE = joined(BY_KUEUE, {"annotations": {KUEUE_MIN_PARALLELISM: "1"}})
APP = {"labels": {"app": "a"}}
ELSEWHERE = {"managedBy": "example.com/controller"}
SUSPENDED = {"suspend": True}
HELD_IN_MAIN = Stored(suspended=True, labels={QUEUE_NAME: "main"}, has_user=True)
NOT_HELD = Stored(suspended=False, without=(QUEUE_NAME,))
IN_SUSPEND = ("spec.suspend",)

CREATE_JOBS = (
    *(
        JobRow(
            rule=Rule.JOB_IS_HELD,
            name=name,
            who=who,
            does=CreateJob(metadata, template, where=where),
            outcome=HELD_IN_MAIN,
            warning="LocalQueue 'main' does not exist",
        )
        for name, who, metadata, template, where in (
            ("a Job that names a queue is suspended", Who.EDITOR, QUEUED_LABELS, {}, Where.PLAIN),
            ("an administrator's Job is suspended too", Who.ADMINISTRATOR, QUEUED_LABELS, {}, Where.PLAIN),
            ("the break-glass group's Job is suspended too", Who.BREAK_GLASS, QUEUED_LABELS, {}, Where.PLAIN),
            ("of two labels the Job's counts", Who.EDITOR, QUEUED_LABELS, {"labels": {QUEUE_NAME: "x"}}, Where.PLAIN),
            ("a JobSet's Job that names a queue is held", Who.EDITOR, {**QUEUED_LABELS, **OF_JOB_SET}, {}, Where.PLAIN),
            ("Kueue's label on a Job holds it", Who.EDITOR, BY_KUEUE, {}, Where.KUEUE),
            ("Kueue's label on a CronJob's Job holds it", Who.EDITOR, {**BY_KUEUE, **NIGHTLY}, {}, Where.KUEUE),
            ("Kueue's label that is the template's holds it", Who.EDITOR, {}, BY_KUEUE, Where.KUEUE),
            ("the default queue can hold Jobs", Who.EDITOR, {}, {}, Where.HOLDING),
            ("the default queue can hold a CronJob's Jobs", Who.EDITOR, NIGHTLY, {}, Where.HOLDING),
        )
    ),
    JobRow(
        rule=Rule.JOB_IS_HELD,
        name="a Job that is suspended already stays so",
        does=CreateJob(QUEUED_LABELS, spec=SUSPENDED),
        outcome=HELD_IN_MAIN,
    ),
    JobRow(
        rule=Rule.JOB_IS_HELD,
        name="our labels on a Job go before Kueue's, whose priority class comes",
        does=CreateJob(
            joined(BY_KUEUE, {"labels": {QUEUE_NAME: "ours", KUEUE_PRIORITY_CLASS: "high"}}), where=Where.KUEUE
        ),
        outcome=Stored(suspended=True, labels={QUEUE_NAME: "ours", PRIORITY_CLASS: "high"}, has_user=True),
    ),
    *(
        JobRow(
            rule=Rule.JOB_IS_HELD,
            name=name,
            does=CreateJob(metadata, where=where),
            outcome=Stored(suspended=True, labels=labels, without=without),
        )
        for name, metadata, where, labels, without in (
            ("Kueue's minimum comes with its label", FEW_BY_KUEUE, Where.KUEUE, {MIN_PARALLELISM: "1"}, ()),
            ("Kueue's longest time comes with its label", SHORT_BY_KUEUE, Where.KUEUE, {MAX_RUN_TIME: "60s"}, ()),
            (
                "Kueue's longest time and minimum come together",
                *(joined(SHORT_BY_KUEUE, FEW_BY_KUEUE), Where.KUEUE, {MAX_RUN_TIME: "60s", MIN_PARALLELISM: "1"}, ()),
            ),
            (
                "a longest time of its own stays beside Kueue's",
                *(joined(SHORT_BY_KUEUE, {"annotations": {MAX_RUN_TIME: "1h"}}), Where.KUEUE),
                *({MAX_RUN_TIME: "1h"}, ()),
            ),
            (
                "a longest time without a number is taken as it is",
                *(joined(BY_KUEUE, {"labels": {KUEUE_MAX_EXEC_TIME: "x"}}), Where.KUEUE, {MAX_RUN_TIME: "xs"}, ()),
            ),
            (
                "Kueue's longest time means nothing where it is not accepted",
                *(joined(SHORT_BY_KUEUE, QUEUED_LABELS), Where.PLAIN, {}, (MAX_RUN_TIME,)),
            ),
            (
                "our minimum goes before Kueue's",
                *(joined(FEW_BY_KUEUE, {"annotations": {MIN_PARALLELISM: "2"}}), Where.KUEUE),
                *({MIN_PARALLELISM: "2"}, ()),
            ),
            (
                "Kueue's minimum means nothing where its labels do not",
                *(joined(FEW_BY_KUEUE, QUEUED_LABELS), Where.PLAIN, {}, (MIN_PARALLELISM,)),
            ),
        )
    ),
    *(
        JobRow(
            rule=Rule.JOB_IS_HELD,
            name=name,
            does=CreateJob(metadata, template, spec, where),
            outcome=outcome,
        )
        for name, metadata, template, spec, where, outcome in (
            ("a Job that names no queue is none of our business", {}, {}, {}, Where.PLAIN, NOT_HELD),
            (
                "of a Job whose template names a queue the pods are held",
                *({}, QUEUED_LABELS, {}, Where.PLAIN),
                Stored(False, {HOLD: HOLD_PODS}, (QUEUE_NAME,), {QUEUE_NAME: "main"}, has_user=True),
            ),
            ("the default queue holds pods where nothing is said", {}, {}, {}, Where.DEFAULTED, NOT_HELD),
            ("the default queue leaves a JobSet's Jobs alone", OF_JOB_SET, {}, {}, Where.HOLDING, NOT_HELD),
            ("the default queue leaves Jobs whose pods name one alone", {}, QUEUED_LABELS, {}, Where.HOLDING, NOT_HELD),
            ("nor is one held whose pods name Kueue's", APP, BY_KUEUE, {}, Where.HOLDING, NOT_HELD),
            ("Kueue's label means nothing where nobody has it accepted", BY_KUEUE, {}, {}, Where.PLAIN, NOT_HELD),
            (
                "Kueue's label on a JobSet's Job goes into the template",
                *({**BY_KUEUE, **OF_JOB_SET}, {}, {**SUSPENDED, "parallelism": 2}, Where.KUEUE),
                Stored(suspended=True, without=(QUEUE_NAME,), template_labels={QUEUE_NAME: "main"}, has_user=True),
            ),
            (
                "a Job that another controller runs is not held",
                *(QUEUED_LABELS, {}, ELSEWHERE, Where.PLAIN),
                Stored(suspended=False, labels={QUEUE_NAME: "main"}),
            ),
            (
                "the default queue leaves a Job alone that another controller runs",
                *({}, {}, ELSEWHERE, Where.HOLDING),
                NOT_HELD,
            ),
        )
    ),
    JobRow(
        rule=Rule.JOB_IS_HELD,
        name="a Job that is held is no gang by annotation",
        does=CreateJob(BY_KUEUE, spec={"parallelism": 4}, where=Where.KUEUE),
        outcome=Stored(suspended=True, template_without=(GANG, QUEUE_NAME)),
    ),
    *(
        JobRow(
            rule=Rule.STAMPS_ARE_OURS,
            name=name,
            does=CreateJob(metadata, template),
            outcome=Stored(
                without=(CLUSTER_QUEUE, FLAVOR, ADMITTED_AT, ORIGINAL_TEMPLATE, WANTED_PARALLELISM),
                template_without=(CLUSTER_QUEUE, FLAVOR, ADMITTED_AT, ADMITTED_JOB),
            ),
            warning="only Penstock writes these",
        )
        for name, metadata, template in (
            ("stamps are taken off a Job", joined(QUEUED_LABELS, STAMPS_OF_JOB), {}),
            ("stamps are taken off a Job that names no queue", STAMPS_OF_JOB, {}),
            ("a wish is taken off a Job", joined(QUEUED_LABELS, {"annotations": {WANTED_PARALLELISM: "5"}}), {}),
            ("stamps are taken out of a template", QUEUED_LABELS, STAMPS_OF_TEMPLATE),
            ("stamps are taken out of the template of a Job of no queue", {}, STAMPS_OF_TEMPLATE),
        )
    ),
)


UPDATE_JOBS = (
    *(
        JobRow(
            rule=Rule.JOB_IS_HELD,
            name=f"{who} cannot let a Job begin that {what}",
            who=who,
            does=UpdateJob(start, spec(suspend=False)),
            outcome=Refused((*IN_SUSPEND, "'main'")),
        )
        for who in (Who.EDITOR, Who.ADMINISTRATOR)
        for what, start in (("waits", JobStart.WAITING), ("was suspended again", JobStart.SUSPENDED))
    ),
    *(
        JobRow(
            rule=Rule.JOB_IS_HELD,
            name=f"{who} lets a Job begin",
            who=who,
            does=UpdateJob(
                JobStart.WAITING, {**spec(suspend=False), "metadata": {"annotations": {"penstock.dev/admitted-by": BY}}}
            ),
            outcome=Stored(suspended=False),
        )
        for who, BY in ((Who.CONTROLLER, "LEADER"), (Who.BREAK_GLASS, None))
    ),
    JobRow(
        rule=Rule.JOB_IS_HELD,
        name="people may suspend their Job",
        does=UpdateJob(JobStart.ADMITTED, spec(suspend=True)),
        outcome=Stored(suspended=True),
    ),
    *(
        JobRow(
            rule=Rule.JOB_IS_HELD,
            name=f"{start} Jobs begin when their users say so",
            does=UpdateJob(start, spec(suspend=False)),
            outcome=Stored(suspended=False),
        )
        for start in (JobStart.OUTSIDE, JobStart.FOREIGN)
    ),
    *(
        JobRow(
            rule=Rule.KEYS_ARE_OURS,
            name=f"the queue of a {start} Job cannot be {what}{through}",
            who=who,
            does=UpdateJob(start, change("", "labels", QUEUE_NAME, value), subresource),
            outcome=Refused((f"metadata.labels[{QUEUE_NAME}]",)),
        )
        for who, start in (
            (Who.EDITOR, JobStart.WAITING),
            (Who.ADMINISTRATOR, JobStart.ADMITTED),
            (Who.EDITOR, JobStart.SUSPENDED),
        )
        for what, value in (("changed", "other"), ("left", None))
        for subresource, through in (("", ""), ("status", " through its status"))
    ),
    JobRow(
        rule=Rule.KEYS_ARE_OURS,
        name="a suspended Job may be put into a queue",
        does=UpdateJob(JobStart.OUTSIDE, change("", "labels", QUEUE_NAME, "main")),
        outcome=HELD_IN_MAIN,
    ),
    JobRow(
        rule=Rule.KEYS_ARE_OURS,
        name="a Job that begins cannot be put into a queue",
        does=UpdateJob(JobStart.OUTSIDE, {**change("", "labels", QUEUE_NAME, "main"), **spec(suspend=False)}),
        outcome=Refused((f"metadata.labels[{QUEUE_NAME}]",)),
    ),
    JobRow(
        rule=Rule.KEYS_ARE_OURS,
        name="the label of a Job that another controller runs is free",
        does=UpdateJob(JobStart.FOREIGN, change("", "labels", QUEUE_NAME, "other")),
        outcome=Stored(suspended=True),
    ),
    *(
        JobRow(
            rule=Rule.KEYS_ARE_OURS,
            name=f"of {start} Jobs nobody writes {path}{key}",
            does=UpdateJob(start, change(path, part, key, "x")),
            outcome=Refused((f"{path}metadata.{part}[{key}]",)),
        )
        for path, part, key in (
            ("", "labels", CLUSTER_QUEUE),
            ("", "annotations", RELEASE_ATTEMPT),
            ("", "annotations", ORIGINAL_TEMPLATE),
            ("spec.template.", "labels", FLAVOR),
            ("spec.template.", "annotations", ADMITTED_JOB),
        )
        for start in (JobStart.OUTSIDE, JobStart.WAITING, JobStart.FOREIGN)
    ),
    JobRow(
        rule=Rule.KEYS_ARE_OURS,
        name="where a Job is charged is not forged through its status",
        does=UpdateJob(JobStart.WAITING, change("", "labels", CLUSTER_QUEUE, "x"), "status"),
        outcome=Refused((f"metadata.labels[{CLUSTER_QUEUE}]",)),
    ),
    *(
        JobRow(
            rule=Rule.KEYS_ARE_OURS,
            name=f"{what} on {start} Jobs are free",
            does=UpdateJob(start, change("", "annotations", key, "x")),
            outcome=Stored(),
        )
        for start in (JobStart.WAITING, JobStart.ADMITTED)
        for what, key in (("annotations of others", "note"), ("holds by hand", HELD))
    ),
    JobRow(
        rule=Rule.TEMPLATE_IS_FIXED,
        name="the template of a Job that waits may be changed",
        does=UpdateJob(JobStart.WAITING, change("spec.template.", "annotations", "note", "x")),
        outcome=Stored(suspended=True),
    ),
    JobRow(
        rule=Rule.TEMPLATE_IS_FIXED,
        name="the template of a Job that was suspended again may not be changed",
        does=UpdateJob(JobStart.SUSPENDED, change("spec.template.", "annotations", "note", "x")),
        outcome=Refused(("spec.template", "admitted")),
    ),
    *GROWING_JOBS,
    JobRow(
        rule=Rule.USER_IS_TRUE,
        name="whose a Job's pods are is not forged later",
        does=UpdateJob(JobStart.WAITING, change("spec.template.", "annotations", USER, "victim")),
        outcome=Stored(has_user=True),
    ),
)
