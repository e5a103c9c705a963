"""What only warns refuses nobody, in config/ and in the chart, and sees every kind that the webhook treats."""

from __future__ import annotations

from typing import Any

from controller.core.keys import QUEUE_NAME
from controller.kube.manifests import load_documents
from deploy import generate
from webhook.reviews.templates import WORKLOADS

WARNINGS = load_documents(generate.CONFIG / "warnings")


def of_kind(kind: str) -> dict[str, dict[str, Any]]:
    return {one["metadata"]["name"]: one["spec"] for one in WARNINGS if one["kind"] == kind}


def test_nothing_is_refused_by_what_warns_even_where_it_fails() -> None:
    policies, bindings = of_kind("ValidatingAdmissionPolicy"), of_kind("ValidatingAdmissionPolicyBinding")
    assert policies
    assert len(policies) + len(bindings) == len(WARNINGS)
    assert {spec["policyName"] for spec in bindings.values()} == policies.keys()
    assert all(spec["validationActions"] == ["Warn"] for spec in bindings.values())
    assert all(spec["failurePolicy"] == "Ignore" for spec in policies.values())


def test_in_the_chart_no_value_makes_it_refuse_or_leaves_it_out() -> None:
    texts = [text for path, text in generate.render().items() if path.startswith("warnings/")]
    assert texts
    for text in texts:
        assert "failurePolicy: Ignore\n" in text
        assert "{{- if" not in text


def test_the_label_is_looked_for_on_kinds_with_a_template() -> None:
    spec = of_kind("ValidatingAdmissionPolicy")["penstock-queue-label"]
    rules = spec["matchConstraints"]["resourceRules"]

    assert {(group, name) for rule in rules for group in rule["apiGroups"] for name in rule["resources"]} == set(
        WORKLOADS
    )
    assert QUEUE_NAME in str(spec)
