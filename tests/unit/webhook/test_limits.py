"""What no pod may have too much of, for its reviews to be answered in time."""

from __future__ import annotations

from typing import Any

import pytest

from controller.core.kubernetes.runtime_classes import RuntimeClass
from controller.core.kubernetes.taints import Toleration
from tests.support.api_objects import Json, cluster_pod_policy, requirement
from tests.support.classes import ClassyWorld
from tests.support.pod_update_rules import PREFERRED, REQUIRED
from tests.support.policy_worlds import PolicyWorld, a_pod
from tests.support.worlds import EmptyWorld
from webhook.checks.chain import validate
from webhook.pods.limits import ENTRIES_MOST, VALUES_MOST
from webhook.reviews.admission import Request
from webhook.reviews.lookups import ReviewLookups
from webhook.steps.chain import mutate

MANY = ENTRIES_MOST + 1
IN = requirement("In", "x")
NODES = "spec.affinity.nodeAffinity"


def ask(pod: Json, world: ReviewLookups, *, old: Json | None = None, operation: str = "CREATE") -> str | None:
    request = Request(
        uid="1", operation=operation, namespace="default", subresource="", user="jane", groups=(), pod=pod, old=old
    )
    return (mutate if operation == "CREATE" else validate)(request, world).denial


def node_affinity(terms: list[Json]) -> Json:
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}}


@pytest.mark.parametrize(
    ("spec", "where"),
    [
        ({"tolerations": [{"key": "k"}] * MANY}, "spec.tolerations"),
        ({"nodeSelector": {f"k{n}": "v" for n in range(MANY)}}, "spec.nodeSelector"),
        (node_affinity([{"matchExpressions": [IN]}] * MANY), f"{NODES}, required and preferred"),
        (node_affinity([{"matchExpressions": [IN] * MANY}]), f"{NODES}, matchExpressions of a term"),
        (node_affinity([{"matchFields": [IN] * MANY}]), f"{NODES}, matchFields of a term"),
        (
            {"affinity": {"podAntiAffinity": {REQUIRED: [{"topologyKey": "zone"}] * MANY}}},
            f"spec.affinity.podAntiAffinity.{REQUIRED}",
        ),
        (
            {"affinity": {"nodeAffinity": {PREFERRED: [{"weight": 1, "preference": {}}] * MANY}}},
            f"{NODES}, required and preferred",
        ),
    ],
)
def test_a_pod_with_longer_lists_is_refused_where_policies_are(spec: Json, where: str) -> None:
    world = PolicyWorld(cluster_pod_policy("p", nodeSelector={"a": "b"}))
    pod = a_pod({"labels": {"app": "a"}}, **spec)
    assert ask(pod, world) == f"{where} has 257 entries, at most 256 can be judged; use fewer"
    assert ask(pod, EmptyWorld()) is None


def test_values_are_counted_together() -> None:
    half: Any = requirement("In", *map(str, range(VALUES_MOST // 2)))
    world = PolicyWorld(cluster_pod_policy("p", nodeSelector={"a": "b"}))
    assert ask(a_pod({}, **node_affinity([{"matchExpressions": [half, half]}])), world) is None
    text = ask(a_pod({}, **node_affinity([{"matchExpressions": [half, half, IN]}])), world)
    assert text == f"{NODES} has 20,001 values, at most 20,000 can be judged; use fewer"


def test_tolerations_are_counted_before_a_class_adds_to_them() -> None:
    pod = a_pod({}, runtimeClassName="kata", tolerations=[{"key": "k", "value": str(n)} for n in range(MANY)])
    tolerant = RuntimeClass(name="kata", tolerations=(Toleration("a", "Exists"),))
    assert "spec.tolerations has 257 entries" in (ask(pod, ClassyWorld(tolerant)) or "")
    assert ask(pod, ClassyWorld(RuntimeClass(name="kata"))) is None


def test_an_update_is_held_to_the_same() -> None:
    world = PolicyWorld(cluster_pod_policy("p", nodeSelector={"a": "b"}))
    gated = a_pod({}, schedulingGates=[{"name": "g"}], nodeSelector={"a": "b"})
    pod = a_pod({}, schedulingGates=[{"name": "g"}], nodeSelector={"a": "b"}, tolerations=[{"key": "k"}] * MANY)
    assert "spec.tolerations has 257 entries" in (ask(pod, world, old=gated, operation="UPDATE") or "")


def test_a_pod_at_the_limit_is_judged() -> None:
    pod = a_pod({}, **node_affinity([{"matchExpressions": [IN] * ENTRIES_MOST}] * 2))
    assert ask(pod, PolicyWorld(cluster_pod_policy("p", nodeSelector={"a": "b"}))) is None
