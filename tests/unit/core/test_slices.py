"""Slices of gangs: in which domains they stand, held to all ways that there are in small worlds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.core.fitting.slices import stand
from controller.core.keys import SLICE_SIZE, SLICE_TOPOLOGY
from controller.core.kubernetes.owners import Owner
from controller.core.queueing.queues import FlavorMode
from controller.core.workloads.gang_slices import Portion, portions
from controller.core.workloads.gangs import Group, QueuedPod, assemble
from controller.core.workloads.groups import GroupKey, Membership
from controller.core.workloads.pods import Pod
from controller.core.workloads.topology import Domain, Slices, Topology, TopologyFault, read_slices
from controller.core.workloads.workload import is_ahead, order_key
from tests.support.builders import (
    a_cache,
    a_cluster_queue,
    a_flavor,
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

RACKS = Slices("rack", 2)


def test_the_annotations_say_the_label_and_how_many_share() -> None:
    assert read_slices({}) is None
    assert read_slices({SLICE_TOPOLOGY: "rack", SLICE_SIZE: "2"}) == RACKS


@pytest.mark.parametrize(
    "notes",
    [
        {SLICE_TOPOLOGY: "rack"},
        {SLICE_SIZE: "2"},
        {SLICE_TOPOLOGY: "no key", SLICE_SIZE: "2"},
        *({SLICE_TOPOLOGY: "rack", SLICE_SIZE: size} for size in ("0", "-1", "two", "", "9" * 6)),
    ],
)
def test_what_cannot_be_used_is_a_fault(notes: dict[str, str]) -> None:
    with pytest.raises(TopologyFault):
        read_slices(notes)


def ways(sizes: Sequence[int], slices: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Every way to put slices of these sizes into domains with room for so many, as the index of the domain of each."""
    if not slices:
        yield ()
        return
    for index, size in enumerate(sizes):
        if size >= slices[0]:
            left = [*sizes[:index], size - slices[0], *sizes[index + 1 :]]
            yield from ((index, *rest) for rest in ways(left, slices[1:]))


SIZES = st.lists(st.integers(0, 6), max_size=3)


@given(sizes=SIZES, count=st.integers(1, 7), size=st.integers(1, 4))
def test_slices_stand_in_domains_with_room(sizes: list[int], count: int, size: int) -> None:
    room = {f"rack-{index}": amount for index, amount in enumerate(sizes)}
    slices = [min(size, count - start) for start in range(0, count, size)]
    found, possible = stand(room, count, size), list(ways(sizes, slices))
    if found is None:
        assert possible == []
        return
    assert [one for _, one in found] == slices
    in_all = Counter[str]()
    for domain, one in found:
        in_all[domain] += one
    assert all(room[domain] >= amount for domain, amount in in_all.items())
    if count % size == 0:
        assert len(in_all) == min(len(set(way)) for way in possible)


@pytest.mark.parametrize(
    ("room", "expected"),
    [
        ({"a": 4, "b": 9, "c": 5}, [("a", 2), ("a", 2)]),
        ({"a": 3, "b": 3, "c": 2}, [("c", 2), ("a", 2)]),
        ({"a": 2, "b": 1, "c": 1}, None),
    ],
)
def test_the_smallest_domain_for_all_or_least_left_is_taken(
    room: Mapping[str, int], expected: list[tuple[str, int]] | None
) -> None:
    assert stand(room, 4, 2) == expected


def a_member(name: str, slices: Slices = RACKS, size: int = 4, topology: Topology | None = None, **fields: Any) -> Pod:
    return a_pod(name, group=Membership(GroupKey("default", "train"), size, topology, slices=slices), **fields)


@given(
    cores=st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.integers(0, 4)), min_size=1, max_size=6),
    size=st.sampled_from((2, 4, 6)),
    zone=st.sampled_from((None, Topology("zone", is_required=True))),
)
def test_a_gang_is_admitted_with_a_rack_for_each_slice(
    cores: Sequence[tuple[str, str, int]], size: int, zone: Topology | None
) -> None:
    nodes = [
        a_node(f"n{number}", labels={"pool": "spot", "zone": in_zone, "rack": in_zone + rack}, cpu=str(cpu))
        for number, (in_zone, rack, cpu) in enumerate(cores)
    ]
    members = [a_member(f"p{number}", size=size, topology=zone) for number in range(size)]
    cache = a_cache(*members, nodes=nodes, queues=[a_cluster_queue("team-a", a_quota(cpu="64"))])
    placed = [node or "" for _, node in admitted(decided(cache)).values()]
    zones = ("ab",) if zone is None else ("a", "b")
    room = [Counter[str]() for _ in zones]
    for in_zone, rack, cpu in cores:
        for index, some in enumerate(zones):
            room[index][in_zone + rack] += cpu * (in_zone in some)
    can = any(sum(amount // 2 for amount in one.values()) >= size // 2 for one in room)
    assert len(placed) == (size if can else 0)
    racks = [cache.nodes[node].labels["rack"] for node in placed]
    assert racks[::2] == racks[1::2]
    assert zone is None or len({rack[0] for rack in racks}) <= 1


def a_placed(name: str, rack: str, index: int = 0) -> Pod:
    held = a_shape(constraints(terms=[a_term(f"rack In {rack}")]))
    return replace(a_released_pod(name, held, node="n"), group=a_member("any").group, completion_index=index)


def test_a_missing_slice_member_goes_where_the_others_are() -> None:
    placed = [a_placed("0", "a", 0), a_placed("3", "b", 3), a_placed("4", "c", 4), a_placed("5", "c", 5)]
    late = [a_member("2", completion_index=2), a_member("1", completion_index=1)]
    assert portions(late, placed, RACKS, to_come=0) == [Portion((0,), "b"), Portion((1,), "a")]
    plain = [a_placed(str(number), rack) for number, rack in enumerate("abcc")]
    assert portions([a_member("x")], plain, RACKS, to_come=1) == [Portion((0,), "a")]


def test_slices_not_begun_go_as_wholes_and_the_last_as_is() -> None:
    placed, late = [a_placed("0", "a"), a_placed("1", "a")], [a_member(str(number)) for number in range(3)]
    assert portions(late, placed, RACKS, to_come=0) == [Portion((0, 1)), Portion((2,))]
    assert portions(late, placed, RACKS, to_come=4)[-1] == Portion((2,), lacks=1)


def rest_of(group: Group) -> list[tuple[tuple[str, ...], bool, str]]:
    """The pods of each workload that a group waits as, whether it goes ahead, and the domain that is left to it."""
    made = assemble(group, now=0.0).workloads
    slices = [one.kind.pod_sets[0].slices for one in made]
    return [
        (one.pods, is_ahead(one.order), sliced.value if sliced else "")
        for one, sliced in zip(made, slices, strict=True)
    ]


def waiting(*names: str, **fields: Any) -> list[QueuedPod]:
    pods = [replace(a_member(name), **fields) for name in names]
    return [QueuedPod(pod, order_key(priority=0, created=0, name=pod.name, uid=pod.uid, since=0)) for pod in pods]


def test_only_the_minimum_goes_ahead_and_slices_fill_first() -> None:
    key = GroupKey("default", "train")
    one = Membership(key, 6, minimum=2, slices=RACKS)
    admitted_ = [replace(a_placed("p0", "a"), group=one)]
    found = rest_of(Group(key, waiting("p1", "p2", "p3", group=one), admitted_))
    assert found == [(("p1",), True, "a"), (("p2", "p3"), False, "")]


def test_members_that_succeeded_hold_their_place_in_a_slice() -> None:
    owner = Owner("apps/v1", "StatefulSet", "set", "set")
    done = replace(a_placed("p0", "a"), owner=owner, is_finished=True, has_succeeded=True)
    runs = [replace(a_placed(name, rack), owner=owner) for name, rack in (("p1", "a"), ("p2", "b"))]
    group = Group(GroupKey("default", "train"), waiting("p3", owner=owner), runs, [done])
    assert rest_of(group) == [(("p3",), True, "b")]


def test_with_all_flavors_open_slices_get_the_first_with_room() -> None:
    nodes = [a_node(f"n-{pool}", labels={"pool": pool, "rack": pool}, cpu="4") for pool in ("spot", "steady")]
    queue = a_cluster_queue("team-a", a_quota("spot"), a_quota("steady"), flavor_mode=FlavorMode.ANY)
    members = [a_member(f"p{number}", size=2) for number in range(2)]
    flavors = [a_flavor("spot"), a_flavor("steady")]
    plan = decided(a_cache(*members, nodes=nodes, flavors=flavors, queues=[queue]))
    assert [(one.flavor, one.flavors, one.domains) for one in plan.admits] == [
        ("spot", (), (Domain("rack", "spot"),))
    ] * 2
