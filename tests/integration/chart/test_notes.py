"""What Helm prints when the chart is installed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.chart.comparing import CHART, VALUES
from tests.support import renderer

pytestmark = pytest.mark.integration


def test_the_notes_say_how_to_see_that_it_works_and_what_is_on() -> None:
    off = renderer.helm(CHART, {}, namespace="elsewhere")["penstock/templates/NOTES.txt"]
    values = {"runtimeClass": {"enabled": True, "default": "kata"}, "podPolicies": {"enabled": True}}
    on = renderer.helm(CHART, values)["penstock/templates/NOTES.txt"]

    assert "kubectl -n elsewhere wait deployment --all" in off
    assert "Enabled: no features besides queues.\n" in off
    assert "  - RuntimeClasses (cluster's default: kata)\n  - pod scheduling policies\n" in on


NOTED: dict[str, str] = {
    "runtime-class": "RuntimeClasses (cluster's default: none)",
    "pod-policies": "pod scheduling policies",
    "pod-template-policies": "pod scheduling policies for templates",
    "scheduling-policies": (
        "scheduling policies (merge: DeepMerge): "
        "as soon as one policy exists, pods of accounts that may use none are refused"
    ),
    "default-scheduling-policies": (
        "default scheduling policies, of which every account may use the policy restricted"
    ),
    "monitoring": "a PodMonitor and alerts for the Prometheus Operator, and boards for Grafana",
    "client-certificates": "client certificates: the webhook serves only clients that have one",
    "network-policy": "NetworkPolicies: only the traffic of Penstock's pods that networkPolicy allows",
    "history": "a history of pods, in the database of the Secret penstock-history",
    "dashboard": "the page, served with the certificate of the Secret penstock-dashboard-tls",
    "quota-resources": "resources of quota, as the ConfigMap penstock-quota-resources says",
    "notifications": "notifications, as the Secret penstock-notifications says",
    "visibility": "the API visibility.penstock.dev: delete its APIService first when you uninstall",
}
"""What the notes say of each component that is a feature."""
NO_FEATURES = {"cert-manager", "network-policy-history", "network-policy-notifications", "provided-certificate"}


def noted(**values: Any) -> list[str]:
    """The lines of the notes that say what is enabled."""
    notes = renderer.helm(CHART, values)["penstock/templates/NOTES.txt"]
    block = notes.partition("Enabled:")[2].partition("\n\nNext:")[0]
    return [line.removeprefix("  - ") for line in block.splitlines() if line]


def test_a_feature_without_a_webhook_to_have_it_is_told() -> None:
    values = {"gate": {"mode": "Policies"}, "clientCertificates": {"enabled": True}}
    assert noted(**values) == ["client certificates: no webhook runs that could ask for one"]


def test_the_notes_have_a_line_for_every_feature_that_is_on() -> None:
    assert set(NOTED) == set(VALUES) - NO_FEATURES
    everything = {key: value for name in NOTED for key, value in VALUES[name].items()}
    assert noted(**everything) == list(NOTED.values())


def test_the_notes_say_what_scheduling_policies_refuse() -> None:
    refused = NOTED["scheduling-policies"].replace("DeepMerge", "FirstEntry")
    assert noted(schedulingPolicies={"enabled": True, "merge": "FirstEntry"}) == [refused]
    lacking = "; they have no effect without schedulingPolicies.enabled"
    assert noted(defaultSchedulingPolicies={"enabled": True}) == [NOTED["default-scheduling-policies"] + lacking]


def test_what_uninstalling_releases_is_wanted_first() -> None:
    off, on = renderer.helm(CHART, {}), renderer.helm(CHART, {"uninstall": {"releaseAll": True}})
    assert "pre-delete" not in renderer.hooks(off)
    assert [one["kind"] for one in renderer.hooks(on)["pre-delete"]] == ["ClusterRole", "ClusterRoleBinding", "Job"]
    assert "pods that wait stay gated" in off["penstock/templates/NOTES.txt"]
    assert "releases everything that waits" in on["penstock/templates/NOTES.txt"]


def test_the_test_of_the_chart_tries_a_pod_where_it_may() -> None:
    hooks = renderer.hooks(renderer.helm(CHART, {"test": {"probeNamespace": "team-a"}}))["test"]
    by_kind = {one["kind"]: one for one in hooks}
    assert by_kind["Role"]["metadata"]["namespace"] == "team-a"
    assert "--probe-namespace=team-a" in by_kind["Pod"]["spec"]["containers"][0]["args"]
