"""What people are told of Kueue's keys without effect stands in Python and in an admission policy: the same words."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

from controller.cli.policy.kueue_unsupported import UNSUPPORTED
from controller.cli.policy.other_kinds import GROUPS
from controller.core.gate import kueue_labels
from controller.kube.manifests import load_documents
from webhook.reviews.templates import WORKLOADS

CONFIG = Path(__file__).parents[3] / "config"
NAME = "penstock-kueue-unsupported"


def policy() -> dict[str, Any]:
    (found,) = [
        one
        for one in load_documents(CONFIG / "warnings")
        if (one["kind"], one["metadata"]["name"]) == ("ValidatingAdmissionPolicy", NAME)
    ]
    spec: dict[str, Any] = found["spec"]
    return spec


def test_the_policy_has_the_list_of_explain() -> None:
    (expression,) = [one["expression"] for one in policy()["variables"] if one["name"] == "unsupported"]
    # CEL joins texts by +, Python where they stand side by side
    found = ast.literal_eval(re.sub(r"'\s*\+\s*'", "' '", expression).replace("' '", ""))
    assert tuple(tuple(one) for one in found) == UNSUPPORTED


def test_the_policy_sees_pods_workloads_and_other_kinds() -> None:
    rules = policy()["matchConstraints"]["resourceRules"]
    named = {(group, name) for rule in rules for group in rule["apiGroups"] for name in rule["resources"]}
    assert named == {("", "pods"), *WORKLOADS, *((group, "*") for group in GROUPS)} - {("apps", "daemonsets")}


def test_no_key_that_counts_is_called_unsupported() -> None:
    both = {key: "2" for _, key, _ in UNSUPPORTED}
    labels = {key: "2" for part, key, _ in UNSUPPORTED if part == "labels"}
    annotations = {key: "2" for part, key, _ in UNSUPPORTED if part == "annotations"}
    assert kueue_labels.labels_of_pod(labels) == kueue_labels.annotations_of_pod(annotations) == {}
    assert kueue_labels.labels_of_template(labels, labels) == {}
    assert len(both) == len(UNSUPPORTED) - 1  # a workload that is prebuilt is named by either
