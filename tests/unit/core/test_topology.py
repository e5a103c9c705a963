"""Domains of gangs: what a gang says of its own, what holds a pod there, and which one it gets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.core.keys import PREFERRED_TOPOLOGY, REQUIRED_TOPOLOGY
from controller.core.kubernetes.nodes import Node
from controller.core.workloads.groups import GroupKey, Membership
from controller.core.workloads.pods import Pod
from controller.core.workloads.shapes import Constraints
from controller.core.workloads.topology import Domain, Topology, TopologyFault, held_to, read_topology, rest_of_gang
from tests.support.builders import (
    a_cache,
    a_cluster_queue,
    a_node,
    a_pod,
    a_quota,
    a_released_pod,
    a_shape,
    a_term,
    admitted,
    constraints,
    decided,
)

ZONE = Topology("zone", is_required=True)
IN_A = constraints(terms=[a_term("zone In a")])


@pytest.mark.parametrize(
    ("notes", "expected"),
    [
        ({}, None),
        ({REQUIRED_TOPOLOGY: "zone"}, ZONE),
        ({PREFERRED_TOPOLOGY: "example.com/rack"}, Topology("example.com/rack", is_required=False)),
    ],
)
def test_the_annotations_say_the_label_and_its_weight(notes: dict[str, str], expected: Topology | None) -> None:
    assert read_topology(notes) == expected


@pytest.mark.parametrize("notes", [{REQUIRED_TOPOLOGY: ""}, {REQUIRED_TOPOLOGY: "a", PREFERRED_TOPOLOGY: "a"}])
def test_what_cannot_be_used_is_a_fault(notes: dict[str, str]) -> None:
    with pytest.raises(TopologyFault):
        read_topology(notes)


@pytest.mark.parametrize(
    ("held", "value"),
    [
        (IN_A, "a"),
        (constraints(selector={"zone": "b"}), "b"),
        (constraints(terms=[a_term("zone In a", "gpu Exists"), a_term("cores Gt 4", "zone In a")]), "a"),
        (constraints(terms=[a_term("zone In a"), a_term("zone In b")]), None),
        (constraints(terms=[a_term("zone In a,b")]), None),
        (constraints(terms=[]), None),
        (Constraints(), None),
    ],
)
def test_the_rest_of_a_gang_follows_those_that_are_admitted(held: Constraints, value: str | None) -> None:
    expected = None if value is None else replace(ZONE, value=value)
    assert rest_of_gang(ZONE, [Constraints(), held]) == expected
    assert rest_of_gang(Topology("zone", is_required=False), [held]) is None


def test_a_shape_is_held_to_a_domain_in_each_of_its_terms() -> None:
    domain = Domain("zone", "a")
    assert held_to(a_shape(), domain).constraints == IN_A
    two = a_shape(constraints(selector={"pool": "spot"}, terms=[a_term("gpu Exists"), a_term()]))
    expected = constraints(selector={"pool": "spot"}, terms=[a_term("gpu Exists", "zone In a")])
    assert held_to(two, domain).constraints == expected


def a_member(name: str, size: int, topology: Topology = ZONE) -> Pod:
    return a_pod(name, group=Membership(GroupKey("default", "train"), size, topology))


def a_zoned_node(name: str, zone: str, cpu: int) -> Node:
    return a_node(name, labels={"pool": "spot", "zone": zone}, cpu=str(cpu))


@given(
    cores=st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 4)), min_size=1, max_size=6),
    size=st.integers(1, 6),
)
def test_a_gang_gets_the_smallest_zone_that_holds_it(cores: Sequence[tuple[str, int]], size: int) -> None:
    nodes = [a_zoned_node(f"n{number}", zone, cpu) for number, (zone, cpu) in enumerate(cores)]
    queue = a_cluster_queue("team-a", a_quota(cpu="64"))
    cache = a_cache(*(a_member(f"p{number}", size) for number in range(size)), nodes=nodes, queues=[queue])
    placed = admitted(decided(cache))
    totals = {zone: sum(cpu for one, cpu in cores if one == zone) for zone, _ in cores}
    wide = [(total, zone) for zone, total in totals.items() if total >= size]
    zones = {dict(cache.nodes[node or ""].labels)["zone"] for _, node in placed.values()}
    assert (len(placed), zones) == ((size, {min(wide)[1]}) if wide else (0, set()))


def test_late_members_go_where_the_others_are() -> None:
    group = Membership(GroupKey("default", "train"), 4, ZONE)
    others = [a_released_pod(f"run-{number}", a_shape(IN_A), group=group, node="z") for number in range(2)]
    nodes = [a_zoned_node("z", "a", 4), a_zoned_node("b", "b", 1)]
    cache = a_cache(*others, a_member("late", 4), a_member("last", 4), nodes=nodes)
    assert admitted(decided(cache)) == {"late": ("spot", "z"), "last": ("spot", "z")}
