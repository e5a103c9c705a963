"""Jobs that are held as a whole, from the apiserver's bytes."""

from __future__ import annotations

from typing import Any

import pytest

from controller.core.gate.job_protection import MOST_PODS
from controller.core.keys import MIN_PARALLELISM, PRIORITY_CLASS, QUEUE_NAME
from controller.core.reasons import Reason
from controller.core.workloads.pods import Phase
from tests.support.builders import a_flavor
from tests.support.job_documents import a_job_document, a_released_job, edited, pods_of, state_of

SPOT = a_flavor("spot", labels={"pool": "spot"})


@pytest.mark.parametrize(
    ("metadata", "spec"),
    [({"labels": {}}, {}), ({"labels": {QUEUE_NAME: ""}}, {}), ({}, {"managedBy": "example.com/manager"})],
)
def test_who_is_not_held_as_a_whole(metadata: dict[str, Any], spec: dict[str, Any]) -> None:
    assert state_of(a_job_document(metadata=metadata, spec=spec)).pods is None


def test_pods_whose_template_names_a_queue_wait_alone() -> None:
    document = a_job_document(spec={"suspend": False})
    assert pods_of(document).is_admitted
    document["spec"]["template"]["metadata"]["labels"][QUEUE_NAME] = "main"
    assert state_of(document).pods is None


def test_a_suspended_job_waits_with_all_its_pods() -> None:
    job = pods_of(a_job_document(spec={"parallelism": 5, "completions": 3}, cpu="2"))
    assert (job.phase, job.count, job.queue) == (Phase.QUEUED, 3, "main")
    assert dict(job.shape.requests) == {"cpu": 2000, "pods": 1}


def test_limits_are_requests_where_nothing_else_is_said() -> None:
    limited = {"name": "main", "resources": {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}}}
    job = pods_of(a_job_document(template={"containers": [limited]}))
    assert dict(job.shape.requests) == {"cpu": 1000, "memory": 2**30, "pods": 1}


def test_priority_of_the_job_comes_before_that_of_its_template() -> None:
    document = a_job_document(metadata={"labels": {QUEUE_NAME: "main", PRIORITY_CLASS: "high"}})
    document["spec"]["template"]["metadata"]["labels"][PRIORITY_CLASS] = "low"
    assert pods_of(document).priority_class == "high"


@pytest.mark.parametrize(
    ("succeeded", "failed_indexes", "count"), [(0, "", 4), (5, "", 1), (2, "0,3-4", 1), (1, "2", 4), (6, "", 0)]
)
def test_completions_and_failed_indexes_shrink_it(succeeded: int, failed_indexes: str, count: int) -> None:
    status = {"succeeded": succeeded, "failedIndexes": failed_indexes}
    assert pods_of(a_job_document(spec={"parallelism": 4, "completions": 6}, status=status)).count == count


def test_a_work_queue_makes_no_pods_after_the_first_success() -> None:
    for succeeded, count in ((0, 3), (1, 0)):
        document = a_job_document(spec={"parallelism": 3, "completions": None}, status={"succeeded": succeeded})
        assert pods_of(document).count == count


@pytest.mark.parametrize(
    ("parallelism", "reason", "text"),
    [
        (0, Reason.HELD, "spec.parallelism is 0, so it creates no pods: raise it to have it admitted"),
        (
            MOST_PODS + 1,
            Reason.INVALID_REQUESTS,
            "spec.parallelism is 100000, more than the 99999 pods that are admitted together; lower it",
        ),
    ],
)
def test_a_number_of_pods_that_cannot_be_admitted_is_told(parallelism: int, reason: Reason, text: str) -> None:
    job = pods_of(a_job_document(spec={"parallelism": parallelism, "completions": None}))
    assert job.hold is not None
    assert (job.hold.reason, job.hold.text) == (reason, text)
    assert job.count <= MOST_PODS


def test_it_is_admitted_until_it_ends() -> None:
    released = a_released_job(a_job_document(), [SPOT])
    job = pods_of(released)
    assert (job.phase, job.cluster_queue, job.flavor, job.admitted_by) == (Phase.RESERVED, "team-a", "spot", "leader")
    for kind in ("Complete", "Failed"):
        ended = {**released, "status": {"conditions": [{"type": kind, "status": "True"}]}}
        assert pods_of(ended).phase is Phase.OTHER


def test_it_is_put_back_only_when_its_pods_are_gone() -> None:
    stopped = edited(a_released_job(a_job_document(), [SPOT]), suspend=True)
    told = {"conditions": [{"type": "Suspended", "status": "True"}]}
    for status, has_stopped in (
        ({"active": 2, "startTime": "2026-03-01T08:00:00Z"}, False),
        ({"startTime": "2026-03-01T08:00:00Z"}, False),
        ({"active": 1, **told}, False),
        (told, True),
        ({}, True),
    ):
        state = state_of({**stopped, "status": status})
        assert state.has_stopped is has_stopped
        assert state.pods is not None
        assert state.pods.phase is Phase.OTHER
    assert not state_of(a_job_document()).has_stopped


@pytest.mark.parametrize(("text", "succeeded", "least"), [("2", 0, 2), ("3", 2, 2), ("4", 0, 4)])
def test_a_job_may_be_admitted_with_its_minimum(text: str, succeeded: int, least: int) -> None:
    document = a_job_document(
        spec={"parallelism": 4, "completions": 4},
        metadata={"annotations": {MIN_PARALLELISM: text}},
        status={"succeeded": succeeded},
    )
    assert (pods_of(document).least, pods_of(document).hold) == (least, None)


@pytest.mark.parametrize("text", ["0", "5", "02", "two", ""])
def test_a_minimum_that_is_none_holds_a_job(text: str) -> None:
    note = {"annotations": {MIN_PARALLELISM: text}}
    held = pods_of(a_job_document(spec={"parallelism": 4, "completions": 4}, metadata=note)).hold
    assert held is not None
    assert held.reason is Reason.GANG_INVALID
    assert held.text == (
        f"annotation penstock.dev/min-parallelism is {text!r}; write a number from 1 to spec.parallelism (4), "
        "or remove it"
    )
