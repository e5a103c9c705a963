"""Which Jobs are held as a whole, and the rules that keep them so. Of real requests: tests/integration/protection."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.core.gate import job_protection as rules
from controller.core.gate.job_protection import GuardedJob, queue_for
from controller.core.gate.protection import STAMPS, Actor
from controller.core.keys import (
    ACCEPTED,
    ADMITTED_JOB,
    CLUSTER_QUEUE,
    DEFAULT_QUEUE,
    HOLD,
    HOLD_JOBS,
    HOLD_PODS,
    KUEUE_LABELS,
    KUEUE_QUEUE,
    ORIGINAL_TEMPLATE,
    QUEUE_NAME,
    RELEASE_ATTEMPT,
    USER,
)

QUEUED = {QUEUE_NAME: "main"}
WAITING = GuardedJob(labels=QUEUED, is_suspended=True, parallelism=2)
ADMITTED = GuardedJob(labels={**QUEUED, CLUSTER_QUEUE: "team"}, parallelism=2)
HOLDING = {DEFAULT_QUEUE: "default", HOLD: HOLD_JOBS}
TRUSTED = (Actor.CONTROLLER, Actor.BREAK_GLASS)
ANYBODY = tuple(actor for actor in Actor if actor not in TRUSTED)


def template(**metadata: Any) -> dict[str, Any]:
    return {"metadata": metadata, "spec": {}}


def kueue(queue: str) -> dict[str, str]:
    return {KUEUE_QUEUE: queue}


# -- which Jobs are held -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("job", "namespace", "queue"),
    [
        (GuardedJob(labels=QUEUED), {}, "main"),
        (GuardedJob(labels={QUEUE_NAME: ""}), {}, ""),
        (GuardedJob(labels=QUEUED, managed_by="kubernetes.io/job-controller"), {}, "main"),
        (GuardedJob(labels=QUEUED, managed_by="example.com/x"), HOLDING, None),
        (GuardedJob(managed_by="example.com/x"), HOLDING, None),
        (GuardedJob(), {DEFAULT_QUEUE: "default"}, None),
        (GuardedJob(), {DEFAULT_QUEUE: "default", HOLD: HOLD_PODS}, None),
        (GuardedJob(), {DEFAULT_QUEUE: "default", HOLD: "jobs"}, None),
        (GuardedJob(), {HOLD: HOLD_JOBS}, None),
        (GuardedJob(), HOLDING, "default"),
        (GuardedJob(template=template(labels=QUEUED)), HOLDING, None),
        (GuardedJob(labels=QUEUED, template=template(labels={QUEUE_NAME: "x"})), HOLDING, "main"),
        (GuardedJob(labels=QUEUED, template=template(labels=QUEUED)), HOLDING, None),
        (GuardedJob(labels=kueue("k")), {KUEUE_LABELS: ACCEPTED}, "k"),
        (GuardedJob(labels=kueue("k")), {}, None),
        (GuardedJob(labels=kueue("")), {KUEUE_LABELS: ACCEPTED}, None),
        (GuardedJob(labels={**kueue("k"), **QUEUED}), {KUEUE_LABELS: ACCEPTED}, "main"),
        (GuardedJob(labels=kueue("k"), template=template(labels=kueue("k"))), {KUEUE_LABELS: ACCEPTED}, "k"),
        (GuardedJob(template=template(labels=kueue("k"))), {**HOLDING, KUEUE_LABELS: ACCEPTED}, None),
        (GuardedJob(template=template(labels=kueue("k"))), HOLDING, "default"),
    ],
)
def test_for_which_queue_a_job_is_held(job: GuardedJob, namespace: dict[str, str], queue: str | None) -> None:
    assert queue_for(job, namespace, is_of_another=False) == queue


def test_of_a_job_of_another_only_its_own_label_counts() -> None:
    everything = {**HOLDING, KUEUE_LABELS: ACCEPTED}
    assert queue_for(GuardedJob(labels=kueue("k")), everything, is_of_another=True) is None
    assert queue_for(GuardedJob(), everything, is_of_another=True) is None
    assert queue_for(GuardedJob(labels=QUEUED), everything, is_of_another=True) == "main"


# -- at create ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("who", ANYBODY)
def test_a_new_job_of_a_queue_has_to_be_suspended(who: Actor) -> None:
    (text,) = rules.new_job_is_held(GuardedJob(labels=QUEUED), who, {}, is_of_another=False)
    assert text == (
        "job-is-held: spec.suspend: a Job of queue 'main' has to be created suspended, or it would run without quota; "
        "create it again: Penstock suspends it"
    )
    assert rules.new_job_is_held(WAITING, who, {}, is_of_another=False) == ()
    assert rules.new_job_is_held(GuardedJob(), who, HOLDING, is_of_another=False) == ()


def test_a_new_job_that_only_kueues_label_queues_is_refused() -> None:
    accepting = {KUEUE_LABELS: ACCEPTED}
    job = GuardedJob(labels=kueue("k"), is_suspended=True)
    (text,) = rules.new_job_is_held(job, Actor.ANYBODY, accepting, is_of_another=False)
    assert text.startswith("job-is-held: metadata.labels[penstock.dev/queue-name]: is missing: ")
    assert rules.new_job_is_held(job, Actor.ANYBODY, HOLDING, is_of_another=False) == ()
    assert rules.new_job_is_held(job, Actor.ANYBODY, accepting, is_of_another=True) == ()
    foreign = replace(job, managed_by="example.com/x")
    assert rules.new_job_is_held(foreign, Actor.ANYBODY, accepting, is_of_another=False) == ()


@pytest.mark.parametrize(("part", "key"), STAMPS)
def test_a_new_job_brings_no_stamp_nor_does_its_template(part: str, key: str) -> None:
    own = GuardedJob(labels={key: "x"}) if part == "labels" else GuardedJob(annotations={key: "x"})
    inside = GuardedJob(template=template(**{part: {key: "x"}}))
    for job, path in ((own, ""), (inside, "spec.template.")):
        (text,) = rules.new_job_has_no_stamps(job, Actor.ANYBODY)
        assert text.startswith(f"stamps-are-ours: {path}metadata.{part}[{key}]: only Penstock writes this")
        assert all(rules.new_job_has_no_stamps(job, who) == () for who in TRUSTED)


def test_whose_the_pods_are_is_no_stamp() -> None:
    assert rules.new_job_has_no_stamps(GuardedJob(template=template(annotations={USER: "a"})), Actor.ANYBODY) == ()


# -- later -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("who", Actor)
def test_only_penstock_lets_a_job_of_a_queue_begin(who: Actor) -> None:
    begun = replace(WAITING, is_suspended=False)
    assert (rules.job_stays_held(WAITING, begun, who) == ()) is (who in TRUSTED)
    assert (rules.job_stays_held(WAITING, replace(begun, labels={}), who) == ()) is (who in TRUSTED)
    outside = replace(WAITING, labels={})
    assert (rules.job_stays_held(outside, begun, who) == ()) is (who in TRUSTED)
    assert rules.job_stays_held(outside, replace(begun, labels={}), who) == ()


def test_people_may_suspend_their_job() -> None:
    assert rules.job_stays_held(ADMITTED, replace(ADMITTED, is_suspended=True), Actor.ANYBODY) == ()
    foreign = replace(WAITING, managed_by="example.com/x")
    assert rules.job_stays_held(foreign, replace(foreign, is_suspended=False), Actor.ANYBODY) == ()


@pytest.mark.parametrize("labels", [{}, {QUEUE_NAME: "other"}])
def test_a_job_keeps_its_queue(labels: dict[str, str]) -> None:
    (text,) = rules.job_keys_are_ours(WAITING, replace(WAITING, labels=labels), Actor.ANYBODY)
    assert text.startswith("keys-are-ours: metadata.labels[penstock.dev/queue-name]: was 'main' and would be ")
    assert all(rules.job_keys_are_ours(WAITING, replace(WAITING, labels=labels), who) == () for who in TRUSTED)


@pytest.mark.parametrize(
    ("old", "new", "may_enter"),
    [
        (GuardedJob(is_suspended=True), WAITING, True),
        (GuardedJob(), GuardedJob(labels=QUEUED), False),
        (GuardedJob(), WAITING, False),
        (GuardedJob(is_suspended=True), GuardedJob(labels=QUEUED), False),
        (
            GuardedJob(is_suspended=True, annotations={ORIGINAL_TEMPLATE: "{}"}),
            replace(WAITING, annotations={ORIGINAL_TEMPLATE: "{}"}),
            False,
        ),
        (GuardedJob(managed_by="example.com/x"), GuardedJob(managed_by="example.com/x", labels=QUEUED), True),
    ],
)
def test_a_job_enters_a_queue_while_it_is_suspended(old: GuardedJob, new: GuardedJob, may_enter: bool) -> None:
    assert (rules.job_keys_are_ours(old, new, Actor.ANYBODY) == ()) is may_enter


@pytest.mark.parametrize(("part", "key"), STAMPS)
def test_stamps_of_any_job_stay_as_they_are(part: str, key: str) -> None:
    own = GuardedJob(labels={key: "x"}) if part == "labels" else GuardedJob(annotations={key: "x"})
    inside = GuardedJob(template=template(**{part: {key: "x"}}))
    for job, path in ((own, ""), (inside, "spec.template.")):
        for old, new in ((GuardedJob(), job), (job, GuardedJob())):
            (text,) = rules.job_keys_are_ours(old, new, Actor.ANYBODY)
            assert text.startswith(f"keys-are-ours: {path}metadata.{part}[{key}]: was ")
        assert rules.job_keys_are_ours(job, job, Actor.ANYBODY) == ()


@pytest.mark.parametrize(
    ("job", "is_admitted"),
    [
        (ADMITTED, True),
        (GuardedJob(annotations={ORIGINAL_TEMPLATE: "{}"}), True),
        (GuardedJob(labels=QUEUED, annotations={RELEASE_ATTEMPT: "2"}), False),
        (GuardedJob(template=template(annotations={ADMITTED_JOB: "1"})), False),
        (replace(ADMITTED, managed_by="example.com/x"), False),
    ],
)
def test_what_was_admitted_is_what_runs(job: GuardedJob, is_admitted: bool) -> None:
    other = replace(job, template={**job.template, "spec": {"nodeSelector": {"a": "b"}}})
    more, fewer = replace(job, parallelism=job.parallelism + 1), replace(job, parallelism=0)
    assert bool(rules.template_is_fixed(job, other, Actor.ANYBODY)) is is_admitted
    assert bool(rules.job_does_not_grow(job, more, Actor.ANYBODY)) is is_admitted
    assert rules.job_does_not_grow(job, fewer, Actor.ANYBODY) == ()
    assert rules.template_is_fixed(job, more, Actor.ANYBODY) == ()
    for who in TRUSTED:
        assert rules.template_is_fixed(job, other, who) == rules.job_does_not_grow(job, more, who) == ()


def test_a_job_that_would_grow_is_told_what_to_do() -> None:
    (text,) = rules.job_does_not_grow(ADMITTED, replace(ADMITTED, parallelism=5), Actor.ANYBODY)
    assert text == (
        "no-growth: spec.parallelism: would grow from 2 to 5, and more was not admitted by the Job's queue; "
        "leave spec.completions, lower it, or set spec.suspend to true: a Job that waits may have more"
    )


# -- of an object of a WorkloadKind ------------------------------------------------------------------------------------

PART = GuardedJob(labels={"app": "a"}, template=template(annotations={ADMITTED_JOB: "an object's/head"}), parallelism=2)


def test_a_job_is_part_of_an_object_by_its_template() -> None:
    assert PART.is_part
    assert not replace(PART, template=template(annotations={ADMITTED_JOB: "a Job's"})).is_part
    assert not replace(PART, template=template(), annotations={ADMITTED_JOB: "an object's/head"}).is_part


@pytest.mark.parametrize("who", Actor)
def test_a_part_begins_changes_and_grows_with_its_object(who: Actor) -> None:
    stopped, other = replace(PART, is_suspended=True), template(labels={"a": "b"})
    for texts, rule in (
        (rules.job_stays_held(stopped, PART, who), "job-is-held: spec.suspend: "),
        (rules.template_is_fixed(PART, replace(PART, template=other), who), "template-is-fixed: spec.template: "),
        (rules.job_does_not_grow(PART, replace(PART, parallelism=3), who), "no-growth: spec.parallelism: "),
        (rules.job_does_not_grow(stopped, replace(stopped, parallelism=3), who), "no-growth: spec.parallelism: "),
    ):
        assert (texts == ()) is (who in TRUSTED)
        assert all(text.startswith(rule) and "the object that controls" in text for text in texts)


def test_a_part_may_stop_and_shrink() -> None:
    less = replace(PART, is_suspended=True, parallelism=1)
    for rule in (rules.job_stays_held, rules.template_is_fixed, rules.job_does_not_grow):
        assert rule(PART, less, Actor.ANYBODY) == ()
