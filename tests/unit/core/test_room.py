"""Which node is found, and at how many nodes that looks: counts, since seconds differ from machine to machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from controller.core.capacity.node_index import NodeIndex
from controller.core.capacity.node_search import FULLEST, Search
from controller.core.capacity.room import Room, RoomLeft
from controller.core.kubernetes.nodes import Node
from controller.core.ledgers.ledger import Ledger
from controller.core.workloads.shapes import Constraints, Shape
from tests.support.builders import GPU, a_flavor, a_node, a_shape, a_snapshot, a_term, constraints

SPOT = a_flavor("spot")
MANY = 1_000
HOST = "kubernetes.io/hostname"


def many_nodes(memory: str = "16Gi") -> list[Node]:
    """A thousand nodes of 4 cpu, with their names as a label."""
    names = [f"node-{number:04}" for number in range(MANY)]
    return [a_node(name, labels={"pool": "spot", HOST: name}, cpu="4", memory=memory) for name in names]


def a_ledger(nodes: Iterable[Node], used: Mapping[str, Mapping[str, int]] | None = None) -> Ledger:
    return Ledger(a_snapshot(nodes=nodes, used=used or {}))


def found(ledger: Ledger, shape: Shape) -> tuple[str | None, int]:
    """The node, and how many were looked at to find it."""
    before = ledger.nodes_visited
    node = ledger.find_node(SPOT, shape)
    return node, ledger.nodes_visited - before


def test_of_a_thousand_nodes_the_fullest_with_room_is_seen() -> None:
    used = {f"node-{number:04}": {"cpu": number} for number in range(MANY)}
    assert found(a_ledger(many_nodes(), used), a_shape(cpu="3500m")) == ("node-0500", 1)


def test_no_node_is_seen_where_one_resource_is_short() -> None:
    assert found(a_ledger(many_nodes()), a_shape(cpu="5")) == (None, 0)
    assert found(a_ledger(many_nodes()), a_shape(cpu="1", **{GPU: 1})) == (None, 0)


def test_the_scarcest_resource_says_which_nodes_are_seen() -> None:
    used = {f"node-{number:04}": {"memory": 2**30} for number in range(MANY) if number != 700}
    ledger = a_ledger(many_nodes(memory="1Gi"), used)
    assert found(ledger, a_shape(cpu="1", memory="1Gi")) == ("node-0700", 1)


def test_where_a_pod_may_use_few_nodes_only_those_are_looked_at() -> None:
    shape = a_shape(constraints(selector={HOST: "node-0900"}), cpu="1")
    assert found(a_ledger(many_nodes()), shape) == ("node-0900", 1)


def test_where_a_pod_may_use_no_node_none_is_looked_at() -> None:
    assert found(a_ledger(many_nodes()), a_shape(constraints(selector={HOST: "elsewhere"}))) == (None, 0)


def compared(ledger: Ledger, shape: Shape) -> tuple[str | None, int]:
    """The node, and how many were compared at once to find it."""
    before = ledger.nodes_compared
    node = ledger.find_node(SPOT, shape)
    return node, ledger.nodes_compared - before


def test_a_shape_that_found_no_room_is_not_looked_for_again() -> None:
    half = {f"node-{n:04}": {"cpu": 4000} if n % 2 else {"memory": 2**30} for n in range(MANY)}
    ledger = a_ledger(many_nodes(memory="1Gi"), half)
    shape = a_shape(cpu="1", memory="1Gi")
    assert compared(ledger, shape) == (None, MANY)
    assert compared(ledger, shape) == (None, 0)


def test_a_node_too_full_for_a_shape_is_not_seen_again() -> None:
    without_memory = {f"node-{number:04}": {"cpu": 1000, "memory": 2**30} for number in range(10)}
    without_cpu = {f"node-{number:04}": {"cpu": 4000} for number in range(10, 30)}
    ledger = a_ledger(many_nodes(memory="1Gi"), {**without_memory, **without_cpu})
    shape = a_shape(cpu="2", memory="1Mi")
    assert compared(ledger, shape) == ("node-0030", MANY)
    assert compared(ledger, shape) == ("node-0030", FULLEST)


def test_of_few_nodes_the_too_full_are_not_seen_again() -> None:
    two = constraints(terms=[a_term(f"{HOST} In node-0001,node-0002")])
    others = {f"node-{number:04}": {"cpu": 4000} for number in range(3, 6)}
    ledger = a_ledger(many_nodes(memory="1Gi"), {"node-0001": {"memory": 2**30}, **others})
    shape = a_shape(two, cpu="1", memory="1Mi")
    assert compared(ledger, shape) == ("node-0002", 2)
    assert compared(ledger, shape) == ("node-0002", 1)


def test_more_than_the_arrays_hold_is_as_much_as_they_hold() -> None:
    nodes = [a_node("huge", cpu="9223372036854775807", memory="8E"), a_node("over", cpu="4")]
    ledger = a_ledger(nodes, {"over": {"cpu": 2**70}, "huge": {"cpu": 2**72}})
    assert found(ledger, a_shape(cpu="1", memory="1Gi")) == ("huge", 1)
    assert found(ledger, a_shape(cpu="9223372036854775807")) == (None, 0)
    assert ledger.most_free(SPOT, a_shape(), "cpu") == 2**62


def test_many_nodes_are_found_in_the_same_order_as_few() -> None:
    used = {f"node-{number:04}": {"cpu": number * 7 % 3_000} for number in range(40)}
    ledger, shape = a_ledger(many_nodes()[:40], used), a_shape(cpu="1")
    order = sorted(used, key=lambda node: (-used[node]["cpu"], node))
    nodes = ledger.find_nodes(SPOT, shape, 200)
    assert list(dict.fromkeys(nodes)) == order
    assert nodes == [node for node in order for _ in range((4_000 - used[node]["cpu"]) // 1_000)]


def test_filling_a_thousand_nodes_sees_one_an_admission() -> None:
    ledger, shape, admitted = a_ledger(many_nodes()), a_shape(), 0
    while (node := ledger.find_node(SPOT, shape)) is not None:
        ledger.spend("team-a", SPOT, shape.requests, node)
        admitted += 1
    assert (admitted, ledger.nodes_visited) == (4 * MANY, 4 * MANY)


def test_a_gang_fills_the_fullest_nodes_and_sees_no_more() -> None:
    nodes = [a_node("a", cpu="8"), a_node("b", cpu="4"), a_node("c", cpu="2"), a_node("d", cpu="1")]
    ledger = a_ledger(nodes)
    assert ledger.find_nodes(SPOT, a_shape(cpu="2"), 4) == ["c", "b", "b", "a"]
    assert ledger.nodes_visited == 3
    assert ledger.find_nodes(SPOT, a_shape(cpu="2"), 9) == ["c", "b", "b", "a", "a", "a", "a"]


def test_what_was_only_tried_is_given_back() -> None:
    ledger, shape = a_ledger([a_node("a", cpu="4")]), a_shape(cpu="4")
    ledger.spend("team-a", SPOT, shape.requests, "a")
    with ledger.trying():
        assert ledger.find_nodes(SPOT, shape, 1) == []
        ledger.give_back("team-a", SPOT, shape.requests, "a")
        assert ledger.find_nodes(SPOT, shape, 1) == ["a"]
    assert ledger.usage.sums == {}


def test_a_resource_that_its_node_lost_takes_no_room() -> None:
    ledger, shape = a_ledger([a_node("a", cpu="4")], {"a": {"cpu": 1000, GPU: 1}}), a_shape(**{"cpu": "1", GPU: "1"})
    with ledger.trying():
        ledger.give_back("team-a", SPOT, shape.requests, "a")
        assert ledger.find_nodes(SPOT, shape, 1) == []
        ledger.spend("team-a", SPOT, shape.requests, "a")
        assert ledger.find_nodes(SPOT, shape, 1) == []


def test_a_pod_that_asks_for_nothing_finds_no_node() -> None:
    assert found(a_ledger([a_node()]), Shape((), Constraints())) == (None, 0)


def test_cordoned_nodes_and_nodes_of_no_flavor_are_never_found() -> None:
    nodes = [a_node("cordoned", is_usable=False), a_node("other", labels={"pool": "other"})]
    assert found(a_ledger(nodes), a_shape()) == (None, 0)


def test_a_node_that_has_less_than_nothing_is_no_room() -> None:
    nodes, used = [a_node("over"), a_node("free")], {"over": {"cpu": 9000}}
    assert found(a_ledger(nodes, used), a_shape())[0] == "free"
    index = NodeIndex({node.name: node for node in nodes}, {"spot": SPOT})
    assert Room(index, used).free("over")["cpu"] == -5000


def test_what_a_decision_takes_leaves_the_room_as_it_was() -> None:
    index = NodeIndex({"a": a_node("a")}, {"spot": SPOT})
    room = Room(index, {})
    left, shape = RoomLeft(room), a_shape(cpu="4")
    assert left.find(Search("spot", shape.requests, index.places_of("spot", ["a"]))) == "a"
    left.take("a", shape.requests)
    assert left.find(Search("spot", shape.requests, index.places_of("spot", ["a"]))) is None
    assert (room.free("a")["cpu"], left.free("a")["cpu"]) == (4000, 0)
    assert RoomLeft(room).find(Search("spot", shape.requests, index.places_of("spot", ["a"]))) == "a"


def test_what_a_fork_takes_is_there_where_it_came_from() -> None:
    index = NodeIndex({"a": a_node("a")}, {"spot": SPOT})
    left, shape = RoomLeft(Room(index, {})), a_shape(cpu="4")
    assert left.find(Search("spot", shape.requests, index.places_of("spot", ["a"]))) == "a"
    fork = left.fork()
    fork.take("a", shape.requests)
    assert fork.find(Search("spot", shape.requests, index.places_of("spot", ["a"]))) is None
    assert left.find(Search("spot", shape.requests, index.places_of("spot", ["a"]))) == "a"


def test_what_was_taken_before_a_resource_was_asked_is_taken() -> None:
    index = NodeIndex({name: a_node(name) for name in ("a", "b")}, {"spot": SPOT})
    left = RoomLeft(Room(index, {}))
    left.take("b", a_shape(cpu="1").requests)
    assert left.find(Search("spot", a_shape(cpu="1").requests, index.places_of("spot", ["a", "b"]))) == "b"
    assert left.find(Search("spot", a_shape(cpu="4").requests, index.places_of("spot", ["a", "b"]))) == "a"


def test_pods_on_an_unknown_node_take_no_room() -> None:
    room = Room(NodeIndex({"a": a_node("a")}, {"spot": SPOT}), {"gone": {"cpu": 1}})
    room.update("gone", {"cpu": 2})
    assert room.free("a")["cpu"] == 4000
