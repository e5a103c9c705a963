"""Owners of pods and Jobs, as they are read."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from controller.core.keys import HELD, ON_TOP
from controller.core.kubernetes.owners import Job, Owner
from controller.kube.decode import PodDecoder
from controller.kube.decode_owners import decode_job
from controller.kube.errors import UnreadableObject

Json = dict[str, Any]


def job(spec: Json | None = None, status: Json | None = None) -> Job:
    metadata = {"uid": "j", "namespace": "default", "name": "train", "creationTimestamp": "1970-01-01T00:01:40Z"}
    return decode_job(orjson.dumps({"metadata": metadata, "spec": spec or {}, "status": status or {}}))


def pod(**metadata: Any) -> tuple[Owner | None, int]:
    meta = {"uid": "p", "namespace": "default", "name": "train-0", **metadata}
    found = PodDecoder()(orjson.dumps({"metadata": meta}))
    return found.owner, found.completion_index


def test_a_job_is_read_with_the_apiservers_defaults() -> None:
    assert job() == Job(uid="j", namespace="default", name="train", created=100.0)


def test_a_job_is_read_with_what_it_says() -> None:
    found = job({"parallelism": 4, "completions": 6, "backoffLimit": 0}, {"succeeded": 3, "failed": 1})
    assert (found.parallelism, found.completions, found.backoff_limit) == (4, 6, 0)
    assert (found.succeeded, found.failed, found.width, found.key) == (3, 1, 3, "default/train")


def test_what_a_job_has_not_counted_in_yet_has_failed_too() -> None:
    assert job(status={"failed": 1, "uncountedTerminatedPods": {"failed": ["a", "b"], "succeeded": ["c"]}}).failed == 3
    assert job({"backoffLimitPerIndex": 1, "backoffLimit": 2**31 - 1}).is_limited_per_index


@pytest.mark.parametrize(
    ("spec", "succeeded", "width"),
    [
        ({"parallelism": 4}, 3, 4),
        ({"parallelism": 0, "completions": 9}, 0, 0),
        ({"parallelism": 4, "completions": 9}, 2, 4),
        ({"parallelism": 4, "completions": 9}, 11, 0),
    ],
)
def test_a_job_is_as_wide_as_its_controller_keeps_it(spec: Json, succeeded: int, width: int) -> None:
    assert job(spec, {"succeeded": succeeded}).width == width


@pytest.mark.parametrize(
    ("annotations", "held", "is_on_top"),
    [(None, None, False), ({"a": "b"}, None, False), ({HELD: ""}, "", False), ({HELD: "jo", ON_TOP: "jo"}, "jo", True)],
)
def test_what_people_did_by_hand_is_read_of_jobs_and_of_pods(
    annotations: Json | None, held: str | None, is_on_top: bool
) -> None:
    meta = {"uid": "u", "namespace": "default", "name": "n", "annotations": annotations}
    job, pod = decode_job(orjson.dumps({"metadata": meta})), PodDecoder()(orjson.dumps({"metadata": meta}))
    assert (job.held, job.is_on_top) == (pod.held, pod.is_on_top) == (held, is_on_top)


DISRUPTED = [{"type": "DisruptionTarget", "status": "True"}]


@pytest.mark.parametrize(
    ("rules", "ignores"),
    [
        ([], False),
        ([{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}], True),
        ([{"action": "Count", "onPodConditions": DISRUPTED}], False),
        ([{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "False"}]}], False),
        ([{"action": "FailJob", "onExitCodes": {}}, {"action": "Ignore", "onPodConditions": DISRUPTED}], False),
        ([{"action": "Ignore", "onExitCodes": {}}, {"action": "Ignore", "onPodConditions": DISRUPTED}], True),
        (
            [
                {"action": "FailJob", "onPodConditions": [{"type": "Bad"}]},
                {"action": "Ignore", "onPodConditions": DISRUPTED},
            ],
            True,
        ),
    ],
)
def test_a_job_ignores_disruption_by_its_first_matching_rule(rules: list[Json], ignores: bool) -> None:
    assert job({"podFailurePolicy": {"rules": rules}}).ignores_disruption is ignores


@pytest.mark.parametrize("raw", [b"{}", b"[]", b'{"metadata":{},"spec":{"parallelism":"four"}}', b"{"])
def test_bytes_that_are_no_job_are_told(raw: bytes) -> None:
    with pytest.raises(UnreadableObject, match="job: "):
        decode_job(raw)


def test_a_pod_names_the_owner_that_controls_it() -> None:
    other = {"apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": "c"}
    ruling = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "j", "controller": True}
    assert pod(ownerReferences=[other, ruling])[0] == Owner("batch/v1", "Job", "train", "j")
    assert pod(ownerReferences=[other])[0] is None
    assert pod()[0] is None


@pytest.mark.parametrize(
    ("metadata", "index"),
    [
        ({"labels": {"batch.kubernetes.io/job-completion-index": "7"}}, 7),
        ({"annotations": {"batch.kubernetes.io/job-completion-index": "8"}}, 8),
        ({"annotations": {"batch.kubernetes.io/job-completion-index": "9" * 5000}}, 0),
        ({"annotations": {"batch.kubernetes.io/job-completion-index": "-1"}}, 0),
        ({}, 0),
    ],
)
def test_a_pod_of_an_indexed_job_has_its_index(metadata: Json, index: int) -> None:
    assert pod(**metadata)[1] == index
