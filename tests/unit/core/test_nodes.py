from __future__ import annotations

import pytest

from controller.core.capacity.node_index import NodeIndex
from controller.core.kubernetes.taints import Toleration
from controller.core.queueing.queues import Flavor
from controller.core.workloads.pods import Phase
from tests.support.builders import (
    a_flavor,
    a_foreign_pod,
    a_node,
    a_pod,
    a_released_pod,
    a_static_flavor,
    a_taint,
    a_term,
    constraints,
)

SPOT = a_flavor("spot")
TOLERATES = Toleration(key="spot", operator="Exists")


def index_of(*names: str, flavors: tuple[Flavor, ...] = (SPOT,)) -> NodeIndex:
    nodes = {name: a_node(name) for name in names}
    return NodeIndex(nodes, {flavor.name: flavor for flavor in flavors})


def test_a_flavor_selects_by_labels_and_requirements_together() -> None:
    flavor = a_flavor("gpu", labels={"pool": "gpu"}, requirements=["zone In a,b"])
    assert flavor.selects({"pool": "gpu", "zone": "b"})
    assert not flavor.selects({"pool": "gpu", "zone": "c"})
    assert not flavor.selects({"zone": "a"})


def test_members_come_by_name_whatever_the_order() -> None:
    assert index_of("c", "a", "b").members("spot") == ["a", "b", "c"]


def test_a_node_belongs_to_the_flavor_that_says_most() -> None:
    index = index_of("a", flavors=(a_flavor("aa", labels={}), SPOT, a_flavor("yy", labels={})))
    assert index.flavor_of == {"a": "spot"}
    assert [index.members(name) for name in ("spot", "yy", "aa")] == [["a"], [], []]
    assert {"spot": {"yy", "aa"}, "yy": {"spot"}, "aa": {"spot"}} == index.overlaps
    assert index.taken == {"aa": {"spot": 1}, "yy": {"spot": 1}}


@pytest.mark.parametrize(
    ("orders", "owner"),
    [
        ((), "aa"),
        ((("yy", "aa"),), "yy"),
        ((("yy", "aa"), ("aa", "yy")), "aa"),
        ((("yy", "aa"), ("aa", "yy"), ("yy", "other", "aa"), ("aa",)), "yy"),
    ],
)
def test_of_flavors_alike_the_first_of_queues_has_nodes(orders: tuple[tuple[str, ...], ...], owner: str) -> None:
    flavors = [a_flavor(name, labels={"pool": "spot"}) for name in ("aa", "yy")]
    index = NodeIndex({"a": a_node("a")}, {one.name: one for one in flavors}, orders)
    assert index.flavor_of == {"a": owner}


def test_a_static_flavor_has_no_nodes_and_overlaps_nothing() -> None:
    index = index_of("a", flavors=(a_static_flavor("a-licence"), SPOT))
    assert (index.members("a-licence"), index.members("spot"), index.overlaps) == ([], ["a"], {})


def test_only_usable_matching_tolerated_nodes_are_eligible() -> None:
    nodes = [
        a_node("cordoned", is_usable=False),
        a_node("good", labels={"pool": "spot", "zone": "a"}),
        a_node("other-zone", labels={"pool": "spot", "zone": "b"}),
        a_node("tainted", labels={"pool": "spot", "zone": "a"}, taints=[a_taint()]),
        a_node("not-ours", labels={"pool": "x", "zone": "a"}),
    ]
    index = NodeIndex({node.name: node for node in nodes}, {"spot": SPOT})
    assert index.allowed(SPOT, constraints(selector={"zone": "a"})) == {"good"}
    assert index.allowed(SPOT, constraints(selector={"zone": "a"}, tolerations=[TOLERATES])) == {"good", "tainted"}
    assert index.allowed(SPOT, constraints(terms=[a_term("zone In b"), a_term("zone In c")])) == {"other-zone"}
    assert index.allowed(SPOT, constraints(terms=[])) == set()
    assert index.allowed(SPOT, constraints(terms=[a_term()])) == set()


def test_fields_of_a_term_are_about_the_nodes_name() -> None:
    index = index_of("a", "b")
    assert index.allowed(SPOT, constraints(terms=[a_term(fields=["metadata.name In b,c"])])) == {"b"}
    assert index.allowed(SPOT, constraints(terms=[a_term(fields=["metadata.name NotIn b"])])) == {"a"}
    assert index.allowed(SPOT, constraints(terms=[a_term(fields=["metadata.other In b"])])) == set()


def test_a_flavors_own_tolerations_count() -> None:
    tainted = {"a": a_node("a", taints=[a_taint()])}
    tolerant = a_flavor("spot", tolerations=[TOLERATES])
    assert NodeIndex(tainted, {"spot": SPOT}).allowed(SPOT, constraints()) == set()
    assert NodeIndex(tainted, {"spot": tolerant}).allowed(tolerant, constraints()) == {"a"}


def test_a_pods_phase_follows_its_gates_its_queue_and_its_node() -> None:
    phases = [
        a_pod().phase,
        a_pod(gates=("other.dev/gate", *a_pod().gates)).phase,
        a_released_pod().phase,
        a_released_pod(node="a").phase,
        a_pod(is_terminating=True).phase,
        a_pod(is_finished=True).phase,
        a_released_pod(is_finished=True).phase,
        a_foreign_pod(node="a").phase,
        a_pod(gates=("other.dev/gate",)).phase,
        a_released_pod(node="a", is_terminating=True).phase,
    ]
    other = Phase.OTHER
    queued, running = Phase.QUEUED, Phase.RUNNING
    assert [queued, queued, Phase.RESERVED, running, other, other, other, other, other, running] == phases
