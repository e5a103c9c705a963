"""What may be changed on a Job is what the apiserver says."""

from __future__ import annotations

import secrets
from random import Random
from typing import Any

import pytest

from controller.core.job_update import may_change
from tests.differential.agreement import disagreements, report
from tests.differential.job_pairs import job_pairs, stored_job
from tests.differential.oracle import Oracle, Unjudged

_PAIRS = 10_000
_BATCH = 2_500


def test_every_verdict_on_jobs_is_that_of_the_apiserver(kubernetes: Oracle) -> None:
    seed = secrets.randbits(32)
    random = Random(seed)  # noqa: S311 - cases, not secrets
    for _ in range(_PAIRS // _BATCH):
        different = disagreements(kubernetes, list(job_pairs(random, _BATCH)))
        assert not different, f"seed {seed}\n{report(kubernetes, different[0])}"


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
