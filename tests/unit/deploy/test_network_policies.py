"""Penstock's NetworkPolicies let through what its programs need, by their manifests, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from controller.kube.manifests import load_documents
from deploy.generate import CONFIG
from tests.support.network_policies import Host, Party, Pod, Port, allows

Json = dict[str, Any]
PART = "app.kubernetes.io/part-of"
NAME = "app.kubernetes.io/name"
OURS = "penstock-system"
POLICIES = load_documents(CONFIG / "components" / "network-policy")
TO_HISTORY = load_documents(CONFIG / "components" / "network-policy-history")
TO_RECEIVERS = load_documents(CONFIG / "components" / "network-policy-notifications")
ALL = [*POLICIES, *TO_HISTORY, *TO_RECEIVERS]
OBJECTS = [one for folder in ("manager", "server", "components") for one in load_documents(CONFIG / folder)]

APISERVER, NODE, OUTSIDE = Host("10.0.0.2"), Host("10.0.1.7"), Host("203.0.113.9")
DNS = Pod("kube-system", {"k8s-app": "kube-dns"}, address="10.244.1.2", node="10.0.1.8")
PROMETHEUS = Pod("monitoring", {NAME: "prometheus"}, address="10.244.1.3", node="10.0.1.8")
STRANGER = Pod("team-a", {NAME: "prometheus", "k8s-app": "kube-dns"}, address="10.244.1.4", node="10.0.1.8")
HTTPS, POSTGRESQL = Port(443), Port(5432)


def narrowed() -> list[Json]:
    """The policies where the addresses of the control plane are named."""
    policies = deepcopy(POLICIES)
    (base,) = [one for one in policies if one["metadata"]["name"] == "penstock"]
    (rule,) = [one for one in base["spec"]["egress"] if "to" not in one]
    rule["to"] = [{"ipBlock": {"cidr": "10.0.0.0/28"}}]
    return policies


def a_pod_of(deployment: Json) -> Pod:
    template = deployment["spec"]["template"]
    (container,) = template["spec"]["containers"]
    ports = {one["name"]: one["containerPort"] for one in container["ports"]}
    return Pod(OURS, template["metadata"]["labels"], ports)


DEPLOYMENTS = {one["metadata"]["name"]: one for one in OBJECTS if one["kind"] == "Deployment"}
PODS = {name: a_pod_of(one) for name, one in DEPLOYMENTS.items()}
CONTROLLER, WEBHOOK, DASHBOARD = (PODS[f"penstock-{name}"] for name in ("controller", "webhook", "dashboard"))
OF_HELM = Pod(OURS, {PART: "penstock", NAME: "penstock-test"})
"""A pod of a hook of the chart."""
EACH_PROGRAM = pytest.mark.parametrize("name", sorted(PODS))


def served() -> Iterator[tuple[str, Pod, Port]]:
    """Where the Services lead to."""
    for service in (one for one in OBJECTS if one["kind"] == "Service"):
        selector, pods = service["spec"]["selector"].items(), PODS.values()
        (pod,) = [one for one in pods if selector <= one.labels.items()]
        for port in service["spec"]["ports"]:
            target = port["targetPort"]
            number = target if isinstance(target, int) else pod.ports[target]
            yield service["metadata"]["name"], pod, Port(number, port["protocol"])


def test_the_programs_are_those_that_are_tried_here() -> None:
    assert sorted(PODS) == ["penstock-controller", "penstock-dashboard", "penstock-webhook"]
    assert sorted(name for name, _, _ in served()) == ["penstock-dashboard", "penstock-visibility", "penstock-webhook"]


def test_what_a_service_leads_to_is_let_in() -> None:
    # browsers are led to the page by a pod of the cluster or from outside; the others are the apiserver's
    for name, pod, port in served():
        assert all(allows(ALL, source, pod, port) for source in (APISERVER, OUTSIDE, STRANGER)), name


@EACH_PROGRAM
def test_the_kubelet_probes_from_the_node_of_the_pod(name: str) -> None:
    (container,) = DEPLOYMENTS[name]["spec"]["template"]["spec"]["containers"]
    for probe in ("livenessProbe", "readinessProbe"):
        port = Port(PODS[name].ports[container[probe]["httpGet"]["port"]])
        assert allows(ALL, NODE, PODS[name], port)
        assert not allows(ALL, Host("10.0.1.8"), PODS[name], port)


@EACH_PROGRAM
def test_only_those_who_may_scrape_do(name: str) -> None:
    (monitor,) = [one for one in OBJECTS if one["kind"] == "PodMonitor"]
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    port = Port(PODS[name].ports[endpoint["port"]])
    assert allows(ALL, PROMETHEUS, PODS[name], port)
    for other in (STRANGER, OUTSIDE, APISERVER, DNS):
        assert not allows(ALL, other, PODS[name], port)


@EACH_PROGRAM
def test_each_program_reaches_the_apiserver_and_names(name: str) -> None:
    for port in (HTTPS, Port(6443)):
        assert allows(ALL, PODS[name], APISERVER, port)
    for protocol in ("UDP", "TCP"):
        assert allows(ALL, PODS[name], DNS, Port(53, protocol))


CONNECTIONS: dict[str, tuple[list[Json], Party, Party, Port, bool]] = {
    "the controller to the database": (TO_HISTORY, CONTROLLER, OUTSIDE, POSTGRESQL, True),
    "the controller to a database of nobody": ([], CONTROLLER, OUTSIDE, POSTGRESQL, False),
    "the webhook to the database": (TO_HISTORY, WEBHOOK, OUTSIDE, POSTGRESQL, False),
    "the page to the database": (TO_HISTORY, DASHBOARD, OUTSIDE, POSTGRESQL, False),
    "the controller to a receiver": (TO_RECEIVERS, CONTROLLER, OUTSIDE, HTTPS, True),
    "the controller to a receiver of nobody": ([], CONTROLLER, OUTSIDE, HTTPS, False),
    "the webhook to a receiver": (TO_RECEIVERS, WEBHOOK, OUTSIDE, HTTPS, False),
    "the controller to a receiver in plain text": (TO_RECEIVERS, CONTROLLER, OUTSIDE, Port(80), False),
    "the controller to mail": (TO_RECEIVERS, CONTROLLER, OUTSIDE, Port(25), False),
    "the controller to names elsewhere": ([], CONTROLLER, OUTSIDE, Port(53, "UDP"), False),
    "the controller to names of a stranger": ([], CONTROLLER, STRANGER, Port(53, "UDP"), False),
    "the controller to the apiserver by UDP": ([], CONTROLLER, APISERVER, Port(443, "UDP"), False),
    "the controller to Prometheus": ([], CONTROLLER, PROMETHEUS, Port(9090), False),
    "the controller to a collector of traces": ([], CONTROLLER, OUTSIDE, Port(4317), False),
    "the page to the controller, past the apiserver": ([], DASHBOARD, CONTROLLER, Port(8443), False),
    "the page to metrics of the controller": ([], DASHBOARD, CONTROLLER, Port(8080), False),
    "the controller to metrics of the webhook": ([], CONTROLLER, WEBHOOK, Port(8081), False),
    "a stranger to a port of nobody": ([], STRANGER, CONTROLLER, Port(22), False),
    "a stranger to a pod of a hook": ([], STRANGER, OF_HELM, Port(8080), False),
    "a pod of a hook to the apiserver": ([], OF_HELM, APISERVER, HTTPS, True),
    "a pod of a hook to the database": (TO_HISTORY, OF_HELM, OUTSIDE, POSTGRESQL, False),
    "a stranger to another stranger": (ALL, STRANGER, PROMETHEUS, Port(9090), True),
}


@pytest.mark.parametrize("what", CONNECTIONS)
def test_a_connection_is_allowed_or_not(what: str) -> None:
    beside, source, target, port, is_allowed = CONNECTIONS[what]
    assert allows([*narrowed(), *beside], source, target, port) is is_allowed


def test_until_it_is_narrowed_any_host_may_be_the_apiserver() -> None:
    assert allows(POLICIES, WEBHOOK, OUTSIDE, HTTPS)
    assert not allows(narrowed(), WEBHOOK, OUTSIDE, HTTPS)
    assert not allows(POLICIES, WEBHOOK, OUTSIDE, POSTGRESQL)


def test_every_policy_isolates_who_it_is_for() -> None:
    for policy in ALL:
        assert policy["spec"]["policyTypes"]
        assert policy["spec"]["podSelector"]["matchLabels"]
    (base,) = [one for one in ALL if one["metadata"]["name"] == "penstock"]
    assert base["spec"]["policyTypes"] == ["Ingress", "Egress"]
    for pod in (*PODS.values(), OF_HELM):
        assert base["spec"]["podSelector"]["matchLabels"].items() <= pod.labels.items()


def a_policy(direction: str, *rules: Json, **spec: Any) -> Json:
    return {"metadata": {"namespace": OURS}, "spec": {"podSelector": {}, direction: list(rules), **spec}}


IN_BLOCK = {"ipBlock": {"cidr": "203.0.113.0/24", "except": ["203.0.113.8/30"]}}
SEMANTICS: dict[str, tuple[list[Json], Party, bool]] = {
    "no policy allows all": ([], OUTSIDE, True),
    "no rule allows nothing": ([a_policy("ingress")], OUTSIDE, False),
    "an empty rule allows all": ([a_policy("ingress", {})], OUTSIDE, True),
    "rules of two policies add up": ([a_policy("ingress"), a_policy("ingress", {})], OUTSIDE, True),
    "a block leaves out its exceptions": ([a_policy("ingress", {"from": [IN_BLOCK]})], OUTSIDE, False),
    "a block has the rest": ([a_policy("ingress", {"from": [IN_BLOCK]})], Host("203.0.113.20"), True),
    "pods alone are of the namespace": ([a_policy("ingress", {"from": [{"podSelector": {}}]})], PROMETHEUS, False),
    "a range has its last port": ([a_policy("ingress", {"ports": [{"port": 440, "endPort": 443}]})], OUTSIDE, True),
    "egress does not isolate from what comes": ([a_policy("egress", policyTypes=["Egress"])], OUTSIDE, True),
    "without types what comes is isolated": ([a_policy("egress", {})], OUTSIDE, False),
}


@pytest.mark.parametrize("what", SEMANTICS)
def test_policies_mean_what_kubernetes_says(what: str) -> None:
    policies, source, is_allowed = SEMANTICS[what]
    assert allows(policies, source, CONTROLLER, HTTPS) is is_allowed
