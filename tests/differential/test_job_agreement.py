"""What may be changed on a Job is what the apiserver says."""

from __future__ import annotations

import secrets
from random import Random
from typing import Any

import pytest

from controller.core.job_update import may_change
from tests.differential.agreement import disagreements, report
from tests.differential.job_pairs import job_pairs, stored_job
from tests.differential.job_vectors import known, vectors
from tests.differential.oracle import Oracle, Unjudged
from tests.support.kubernetes import MINOR

_PAIRS = 10_000
_BATCH = 2_500


def test_every_verdict_on_jobs_is_that_of_the_apiserver(kubernetes: Oracle) -> None:
    seed = secrets.randbits(32)
    random = Random(seed)  # noqa: S311 - cases, not secrets
    for _ in range(_PAIRS // _BATCH):
        different = disagreements(kubernetes, list(job_pairs(random, _BATCH)))
        assert not different, f"seed {seed}\n{report(kubernetes, different[0])}"


def test_what_kubernetes_said_at_the_edges_it_says_still(kubernetes: Oracle) -> None:
    asked = vectors()
    assert dict(zip(asked, kubernetes.judge(list(asked.values())), strict=True)) == known()[MINOR]


def test_the_pairs_of_jobs_are_worth_judging(kubernetes: Oracle) -> None:
    verdicts = kubernetes.judge(list(job_pairs(Random(1), 5000)))  # noqa: S311
    assert not any(isinstance(verdict, Unjudged) for verdict in verdicts)
    legal = sum(verdict == () for verdict in verdicts)
    assert 1000 < legal < 4000
    assert len({fault for verdict in verdicts for fault in verdict}) > 60


def test_each_violation_of_a_job_says_something_of_its_own() -> None:
    for old, new in job_pairs(Random(2), 3000):  # noqa: S311
        for violation in may_change(old, new):
            assert len(violation.text) > 10
            assert "\n" not in violation.text


def test_what_is_legal_in_the_older_is_legal_in_the_newer() -> None:
    found = [[not may_change(old, new, minor=minor) for minor in (36, 37)] for old, new in job_pairs(Random(4), 5000)]  # noqa: S311
    assert [False, True] in found
    assert [True, False] not in found


def test_only_the_older_keeps_generated_labels_in_a_template() -> None:
    old = stored_job(Random(3))  # noqa: S311
    template = old["spec"]["template"]
    labels = {key: value for key, value in template["metadata"]["labels"].items() if key != "job-name"}
    new = {**old, "spec": {**old["spec"], "template": {**template, "metadata": {"labels": labels}}}}
    old["status"], old["spec"]["suspend"] = {}, True
    new["spec"]["suspend"] = True
    assert [violation.path for violation in may_change(old, new, minor=36)] == [
        "spec.template.metadata.labels[job-name]"
    ]
    assert may_change(old, new, minor=37) == ()


SUSPENDED = {"conditions": [{"type": "Suspended", "status": "True"}]}
BEGUN = {"startTime": "2026-03-01T08:00:00Z"}


@pytest.mark.parametrize(
    ("suspend", "status", "is_legal"),
    [
        (True, {}, True),
        (True, {**BEGUN, **SUSPENDED}, True),
        (True, {**BEGUN, "active": 0}, False),
        (True, {**SUSPENDED, "active": 1}, False),
        (False, {}, False),
    ],
)
def test_a_release_narrows_a_job_that_has_settled(suspend: bool, status: dict[str, Any], is_legal: bool) -> None:
    old = {**stored_job(Random(3)), "status": status}  # noqa: S311
    old["spec"]["suspend"] = suspend
    template = old["spec"]["template"]
    spec = {**template["spec"], "nodeSelector": {"a": "1"}, "schedulingGates": []}
    metadata = {**template["metadata"], "annotations": {"example.com/flavor": "spot"}}
    new = {**old, "spec": {**old["spec"], "suspend": False, "template": {"metadata": metadata, "spec": spec}}}
    assert (may_change(old, new) == ()) == is_legal
