"""Several flavors that are open to one pod: which go together, what the pod is held to and prefers, and who pays."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.cache.cluster import ClusterCache
from controller.core.kubernetes.taints import Toleration
from controller.core.queueing.flavor_sets import fault_of, merged, payer, preferences
from controller.core.queueing.queues import Flavor, FlavorMode
from controller.core.workloads.pods import Pod
from tests.support.builders import (
    a_cache,
    a_cluster_queue,
    a_flavor,
    a_node,
    a_pod,
    a_quota,
    a_released_pod,
    a_requirement,
    a_shape,
    decided,
    waiting,
)

SPOT, STEADY, OWN = a_flavor("spot"), a_flavor("steady"), a_flavor("own")
TOLERANT = a_flavor("tolerant", tolerations=[Toleration("spot", "Exists")])
TWO_KEYS = a_flavor("both", labels={"pool": "both", "arch": "arm64"})
AMD = {"arch": "amd64"}


def test_a_pod_is_held_to_all_by_the_label_that_tells_apart() -> None:
    flavors = [a_flavor(one, labels={"pool": one, **AMD}, requirements=["gpu Exists"]) for one in ("spot", "steady")]
    assert fault_of(flavors) is None
    whole = merged(flavors)
    assert whole.node_labels == (("arch", "amd64"),)
    assert whole.requirements == (a_requirement("pool In spot,steady"), a_requirement("gpu Exists"))


def test_it_tolerates_what_each_of_them_gives() -> None:
    other = a_flavor("other", tolerations=[Toleration("odd", "Exists"), *TOLERANT.tolerations])
    assert merged([TOLERANT, other]).tolerations == (*TOLERANT.tolerations, other.tolerations[0])


@pytest.mark.parametrize(
    ("flavors", "said"),
    [
        ((SPOT, TWO_KEYS), "flavors spot and both select nodes by other labels, or have other nodeRequirements"),
        ((SPOT, a_flavor("x", requirements=["gpu Exists"])), "flavors spot and x select nodes by other labels, or"),
        ((TWO_KEYS, a_flavor("x", labels={"pool": "x", **AMD})), "and they differ in arch, pool"),
        ((SPOT, replace(SPOT, name="same")), "and they have the same nodeLabels"),
    ],
)
def test_flavors_that_no_label_tells_apart_stay_apart(flavors: tuple[Flavor, ...], said: str) -> None:
    assert said in (fault_of(flavors) or "")


def test_the_earlier_are_preferred_to_the_later() -> None:
    weights = [weight for weight, _ in preferences([SPOT, STEADY, OWN])]
    assert weights == [66, 33]
    assert preferences([SPOT, STEADY])[0][1].expressions == (a_requirement("pool In spot"),)
    many = [weight for weight, _ in preferences([a_flavor(f"f{number}") for number in range(16)])]
    assert many == sorted(set(many), reverse=True)
    assert (len(many), min(many) > 0, max(many) < 100) == (15, True, True)


def test_the_costliest_pays_until_the_node_says_which() -> None:
    flavors = {
        "spot": replace(SPOT, price={"cpu": 1, "memory": 90}),
        "steady": replace(STEADY, price={"cpu": 3}),
        "own": OWN,
    }
    names, little, much = ("steady", "spot", "own"), a_shape(cpu="1"), a_shape(cpu="1", memory="1Gi")
    assert payer(names, flavors, little.requests, None) == "steady"
    assert payer(names, flavors, much.requests, None) == "spot"
    assert payer(names, flavors, much.requests, "own") == "own"
    assert payer(names, flavors, much.requests, "elsewhere") == "spot"
    assert payer(("own", "gone"), flavors, much.requests, None) == "gone"


def test_a_burst_cannot_land_beyond_any_flavors_quota() -> None:
    queue = a_cluster_queue("team-a", a_quota("spot", cpu="3"), a_quota("steady", cpu="2"), flavor_mode=FlavorMode.ANY)
    nodes = [a_node("s", cpu="64"), a_node("d", labels={"pool": "steady"}, cpu="64")]
    cache = a_cache(*(a_pod(f"p{number}") for number in range(6)), nodes=nodes, flavors=[SPOT, STEADY], queues=[queue])
    plan = decided(cache)
    assert [one.flavors or (one.flavor,) for one in plan.admits] == [("spot", "steady"), ("spot", "steady"), ("spot",)]
    assert waiting(plan) == {"main/1000": "QuotaExceeded"}


def test_a_pod_is_counted_where_it_landed_node_known_or_not() -> None:
    queue = a_cluster_queue("team-a", a_quota("spot"), a_quota("steady"), flavor_mode=FlavorMode.ANY)
    landed = a_released_pod("landed", flavor=None, flavors=("spot", "steady"), node="s")
    cache = a_cache(landed, nodes=[], flavors=[SPOT, STEADY], queues=[queue])
    cache.snapshot()
    assert {flavor for flavor, _ in cache.usage.by_flavor} == {"spot", "steady"}
    cache.put_node(a_node("s"))
    cache.snapshot()
    assert set(cache.usage.by_flavor) == {("spot", "cpu"), ("spot", "pods")}


def an_open_pod(**fields: Any) -> Pod:
    """Released onto either flavor."""
    given = {"cluster_queue": "team-a", "flavors": ("spot", "steady"), "gates": (), "generation": 2, **fields}
    return a_pod("one", **given)


def a_cache_of_two(*pods: Pod) -> ClusterCache:
    queue = a_cluster_queue("team-a", a_quota("spot", cpu="1"), a_quota("steady", cpu="1"), flavor_mode=FlavorMode.ANY)
    nodes = [a_node("spot-1"), a_node("steady-1", labels={"pool": "steady"})]
    return a_cache(*pods, flavors=[SPOT, STEADY], queues=[queue], nodes=nodes)


def charged(cache: ClusterCache) -> list[int]:
    cache.snapshot()
    return [cache.usage.in_tree.used("team-a", one, "cpu") for one in ("spot", "steady")]


def test_a_pod_on_an_unknown_node_holds_quota_of_all_flavors() -> None:
    cache = a_cache_of_two(an_open_pod(), a_pod("two"))
    cache.put_pod(an_open_pod(node="spot-new", resource_version="3"))
    assert decided(cache).admits == ()
    cache.put_node(a_node("spot-new"))
    assert charged(cache) == [1000, 0]


def test_a_pod_stays_where_it_landed_when_its_node_goes() -> None:
    cache = a_cache_of_two(an_open_pod(node="spot-1"))
    assert charged(cache) == [1000, 0]
    cache.drop_node("spot-1")
    cache.put_pod(an_open_pod(node="spot-1", resource_version="4"))
    assert charged(cache) == [1000, 0]
