"""The condition may-break-a-rule of config/policy decides whether validations are asked: it knows all their keys."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from controller.core.keys import (
    CONDITION,
    GATE,
    KUEUE_QUEUE,
    POLICIES,
    QUEUE_NAME,
    STAMPED_ANNOTATIONS,
    STAMPED_LABELS,
    USER,
    WANTED_PARALLELISM,
    WRITTEN_AT_CREATE,
)
from controller.kube.manifests import load_documents

ROOT = Path(__file__).resolve().parents[3]
POLICIES_OF = {
    (one["kind"], one["metadata"]["name"]): one["spec"]
    for one in load_documents(ROOT / "config" / "policy")
    if one["kind"].endswith("AdmissionPolicy")
}
CONDITION_OF = {"ValidatingAdmissionPolicy": "may-break-a-rule", "MutatingAdmissionPolicy": "may-lack-something"}
STAMPS = {*STAMPED_LABELS, *STAMPED_ANNOTATIONS} - {*WRITTEN_AT_CREATE}
ALL = {QUEUE_NAME, *STAMPED_LABELS, *STAMPED_ANNOTATIONS}


def expression(kind: str, name: str) -> str:
    conditions = {one["name"]: one["expression"] for one in POLICIES_OF[kind, name].get("matchConditions", ())}
    found: str = conditions.get(CONDITION_OF[kind], "")
    return found


@pytest.mark.parametrize(
    ("kind", "name", "keys"),
    [
        ("ValidatingAdmissionPolicy", "penstock-create", {GATE, QUEUE_NAME, KUEUE_QUEUE, USER, *STAMPS}),
        ("ValidatingAdmissionPolicy", "penstock-queue-required", {GATE, QUEUE_NAME}),
        ("ValidatingAdmissionPolicy", "penstock-binding", ALL),
        ("ValidatingAdmissionPolicy", "penstock-update", {GATE, CONDITION, *ALL}),
        ("ValidatingAdmissionPolicy", "penstock-users", {USER}),
        ("ValidatingAdmissionPolicy", "penstock-new-jobs", {QUEUE_NAME, KUEUE_QUEUE, *STAMPS, WANTED_PARALLELISM}),
        ("MutatingAdmissionPolicy", "penstock-gate", {GATE, QUEUE_NAME, USER, "kueue.x-k8s.io/", *STAMPS}),
    ],
)
def test_a_condition_names_every_key_that_its_policy_goes_by(kind: str, name: str, keys: set[str]) -> None:
    assert set(re.findall(r"'((?:penstock\.dev|kueue\.x-k8s\.io)/[^']*)'", expression(kind, name))) == keys


@pytest.mark.parametrize("name", ["penstock-new-jobs", "penstock-job-updates"])
def test_policies_of_jobs_go_by_every_stamp(name: str) -> None:
    text = str(POLICIES_OF["ValidatingAdmissionPolicy", name]["variables"])
    assert all(text.count(f"'{key}'") >= 2 for key in STAMPS)


def test_every_stamp_is_taken_off_a_job_and_its_template() -> None:
    text = str(POLICIES_OF["MutatingAdmissionPolicy", "penstock-jobs"]["variables"])
    assert all(text.count(f"'{key}'") == 2 for key in STAMPS)


def test_the_annotation_of_policies_may_come_but_not_change() -> None:
    assert POLICIES not in expression("ValidatingAdmissionPolicy", "penstock-create")
    assert POLICIES in expression("ValidatingAdmissionPolicy", "penstock-update")


@pytest.mark.parametrize("policy", [name for kind, name in POLICIES_OF if kind == "ValidatingAdmissionPolicy"])
def test_a_policy_whose_condition_fails_to_evaluate_refuses(policy: str) -> None:
    assert POLICIES_OF["ValidatingAdmissionPolicy", policy]["failurePolicy"] == "Fail"
