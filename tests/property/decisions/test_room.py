"""The sorted room finds what a look at every node finds, whatever is taken and given back."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from controller.core.capacity.node_index import NodeIndex
from controller.core.capacity.node_search import Search
from controller.core.capacity.room import Amounts, Room, RoomLeft
from controller.core.kubernetes.amounts import Requests, as_requests
from controller.core.kubernetes.labels import Operator, Requirement, Term
from controller.core.kubernetes.nodes import Node
from controller.core.kubernetes.taints import Toleration, are_tolerated
from controller.core.workloads.shapes import Constraints
from tests.support.builders import a_flavor, a_node, a_taint, constraints
from tests.support.constraints import allows
from tests.support.strategies import node_labels, requirements

RESOURCES = ("cpu", "memory", "pods")
NAMES = tuple(f"n{number}" for number in range(6))
SPOT = a_flavor("spot")
THOROUGH = settings(max_examples=300)

amounts = st.dictionaries(st.sampled_from(RESOURCES), st.integers(0, 5))
requests = amounts.map(as_requests)
changes = st.lists(st.tuples(st.sampled_from(NAMES), amounts), max_size=8)


def the_nodes(drawn: Mapping[str, tuple[bool, Mapping[str, int]]]) -> dict[str, Node]:
    return {
        name: Node(name=name, labels={"pool": "spot"}, allocatable=allocatable, is_cordoned=cordoned)
        for name, (cordoned, allocatable) in drawn.items()
    }


clusters = st.dictionaries(st.sampled_from(NAMES), st.tuples(st.booleans(), amounts)).map(the_nodes)


def has_room(free: Amounts, asked: Requests) -> bool:
    return all(free.get(resource, 0) >= need for resource, need in asked)


@THOROUGH
@given(clusters, changes, st.lists(st.tuples(requests, st.sets(st.sampled_from(NAMES))), max_size=8))
def test_a_node_is_found_exactly_where_one_has_room(
    cluster: dict[str, Node], used: list[tuple[str, dict[str, int]]], asked: list[tuple[Requests, set[str]]]
) -> None:
    index = NodeIndex(cluster, {"spot": SPOT})
    room = Room(index, {})
    room.row("spot", "cpu")
    for name, taken in used:
        room.update(name, taken)
    left = RoomLeft(room)
    free = {
        name: {r: n - dict(used).get(name, {}).get(r, 0) for r, n in node.allocatable.items()}
        for name, node in cluster.items()
    }
    for needs, wanted in asked:
        allowed = {name for name in wanted if name in cluster and cluster[name].is_usable}
        fitting = {name for name in allowed if needs and has_room(free[name], needs)}
        node = left.find(Search("spot", needs, index.places_of("spot", wanted)))
        assert (node in fitting) if fitting else node is None
        if node is not None:
            assert any(all((free[node][r], node) <= (free[other][r], other) for other in fitting) for r, _ in needs), (
                "of some resource the node found has the least left"
            )
            left.take(node, needs)
            for resource, need in needs:
                free[node][resource] -= need
    assert {name: left.free(name) for name in cluster} == free


@THOROUGH
@given(clusters, changes, requests)
def test_room_that_was_kept_up_is_room_made_anew(
    cluster: dict[str, Node], used: list[tuple[str, dict[str, int]]], asked: Requests
) -> None:
    index = NodeIndex(cluster, {"spot": SPOT})
    kept = Room(index, {})
    for resource in RESOURCES[:2]:
        kept.row("spot", resource)
    for name, taken in used:
        kept.update(name, taken)
    fresh = Room(index, dict(used))
    for resource in RESOURCES:
        assert list(kept.row("spot", resource)) == list(fresh.row("spot", resource))
    first, second = (Search("spot", asked, index.places_of("spot", NAMES)) for _ in range(2))
    assert RoomLeft(kept).find(first) == RoomLeft(fresh).find(second)


@settings(max_examples=40)
@given(st.randoms(use_true_random=False), st.integers(260, 500))
def test_the_nodes_at_hand_are_those_that_a_full_look_finds(chance: Random, count: int) -> None:
    """So many nodes that not all are at hand, and pods that take from them, from those at hand and from others."""
    names = [f"n{number:03}" for number in range(count)]
    index = NodeIndex(the_nodes({name: (False, {"cpu": 9, "memory": 30}) for name in names}), {"spot": SPOT})
    used = {name: {"cpu": chance.randrange(7), "memory": chance.randrange(20)} for name in names}
    left = RoomLeft(Room(index, used))
    makes = [as_requests({"cpu": chance.randint(1, 3), "memory": chance.randint(1, 9)}) for _ in range(3)]
    wheres = [index.places_of("spot", set(chance.sample(names, count - chance.randrange(30)))) for _ in makes]
    kept = [Search("spot", one, at, is_kept=True) for one, at in zip(makes, wheres, strict=True)]
    for _ in range(40):
        at, wanted = chance.randrange(3), chance.choice((1, 2, 20, 40))
        expected = left.pack(Search("spot", makes[at], wheres[at]), wanted)
        assert left.pack(kept[at], wanted) == expected
        elsewhere = chance.sample(names, 4)
        for node in (*expected, *(node for node in elsewhere if left.count(node, makes[at]))):
            if left.count(node, makes[at]):
                left.take(node, makes[at])


@st.composite
def labelled_clusters(draw: st.DrawFn) -> dict[str, Node]:
    return {
        name: a_node(
            name,
            labels={"pool": "spot", **draw(node_labels())},
            taints=draw(st.sampled_from(((), (a_taint(),), (a_taint("own"), a_taint())))),
            is_usable=draw(st.booleans()),
        )
        for name in NAMES
    }


@st.composite
def wheres(draw: st.DrawFn) -> Constraints:
    """Any mixture of a node selector, terms of labels and names, and tolerations."""
    terms = st.lists(st.builds(Term, st.lists(requirements(), max_size=2).map(tuple), named), max_size=3)
    return constraints(
        selector=draw(st.one_of(st.just({}), node_labels())),
        terms=draw(st.one_of(st.none(), terms)),
        tolerations=draw(st.sampled_from(((), (Toleration(key="spot", operator="Exists"),)))),
    )


named = st.lists(
    st.builds(
        Requirement,
        st.sampled_from(("metadata.name", "metadata.name", "metadata.other")),
        st.sampled_from((Operator.IN, Operator.NOT_IN)),
        st.lists(st.sampled_from((*NAMES, "gone")), min_size=1, max_size=2).map(tuple),
    ),
    max_size=1,
).map(tuple)


@THOROUGH
@given(labelled_clusters(), wheres())
def test_the_allowed_nodes_are_those_that_allow_the_pod(cluster: dict[str, Node], where: Constraints) -> None:
    flavors = (a_flavor("spot", labels={}), a_flavor("a", requirements=["zone Exists"]))
    index = NodeIndex(cluster, {flavor.name: flavor for flavor in flavors})
    for flavor in flavors:
        expected = {
            name
            for name in index.members(flavor.name)
            if cluster[name].is_usable
            and allows(where, name, cluster[name].labels)
            and are_tolerated(cluster[name].taints, where.tolerations)
        }
        assert index.allowed(flavor, where) == expected
        assert index.allowed(flavor, where) == set(expected)


@THOROUGH
@given(clusters, st.integers(1, 3), st.integers(1, 9))
def test_spread_pods_go_to_the_node_with_most_left(cluster: dict[str, Node], need: int, count: int) -> None:
    index = NodeIndex(cluster, {"spot": SPOT})
    left = RoomLeft(Room(index, {}))
    allowed = {name for name, node in cluster.items() if node.is_usable}
    free = {name: cluster[name].allocatable["cpu"] for name in allowed if "cpu" in cluster[name].allocatable}
    expected = []
    for _ in range(count):
        amount, name = max(((amount, name) for name, amount in free.items()), default=(0, ""))
        if amount < need:
            break
        expected.append(name)
        free[name] -= need
    search = Search("spot", (("cpu", need),), index.places_of("spot", NAMES), spreads=True)
    assert left.pack(search, count) == expected
