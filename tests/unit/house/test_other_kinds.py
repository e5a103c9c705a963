"""The API groups of kinds that are not queued stand in Python and in an admission policy: the same ones."""

from __future__ import annotations

from pathlib import Path

from controller.cli.policy.other_kinds import GROUPS
from controller.kube.manifests import load_documents

WARNINGS = Path(__file__).parents[3] / "config" / "warnings"


def test_the_policy_warns_of_the_groups_that_explain_knows() -> None:
    (policy,) = [
        one
        for one in load_documents(WARNINGS)
        if (one["kind"], one["metadata"]["name"]) == ("ValidatingAdmissionPolicy", "penstock-other-kinds")
    ]
    (rule,) = policy["spec"]["matchConstraints"]["resourceRules"]
    assert set(rule["apiGroups"]) == GROUPS
