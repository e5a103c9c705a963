"""What flavors and nodes have, in which state they are, who takes how much of them, and what is free."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.core.queueing.queues import CapacityMode
from controller.core.workloads.decisions import DrySpell
from controller.visibility.node_rows import FlavorResource, FlavorRow, NodeResource, NodeRow, amounts_text, taken_text
from controller.visibility.nodes import flavors, nodes
from tests.support.builders import (
    a_cache,
    a_cluster_queue,
    a_flavor,
    a_foreign_pod,
    a_node,
    a_quota,
    a_released_pod,
    a_shape,
    a_static_flavor,
)
from tests.support.snapshots import changed

TWO_CPU = a_shape(cpu="2")


def cpu(row: FlavorRow) -> FlavorResource:
    (found,) = [one for one in row.resources if one.name == "cpu"]
    return found


def cpu_of(row: NodeRow) -> NodeResource:
    (found,) = [one for one in row.resources if one.name == "cpu"]
    return found


def test_a_flavor_shows_who_takes_what_of_it() -> None:
    cache = a_cache(
        a_released_pod("ours", TWO_CPU, node="one"),
        a_foreign_pod("theirs", node="two"),
        nodes=[a_node("one", cpu="4"), a_node("two", cpu="4"), a_node("elsewhere", labels={}, cpu="4")],
        queues=[a_cluster_queue("team-a", a_quota(cpu="8")), a_cluster_queue("team-b", a_quota(cpu="500m"))],
    )
    (row,) = flavors(cache.snapshot())
    assert (row.name, row.mode, row.nodes, row.ready, row.schedulable) == ("spot", "Nodes", 2, 2, 2)
    assert (row.pods, row.other_pods, row.message) == (1, 1, "")
    told = FlavorResource("cpu", capacity="8", used="2", others="1", free="5", unavailable="0", quota="8500m")
    assert cpu(row) == told
    assert [one.name for one in row.resources] == ["cpu", "pods"]
    assert taken_text(row.resources) == "cpu 2+1/8, pods 1+1/220"


def test_what_takes_no_pods_is_no_capacity() -> None:
    pods = [a_released_pod("on-cordoned", TWO_CPU, node="cordoned"), a_foreign_pod("on-lost", node="lost")]
    lost = replace(a_node("lost", cpu="4"), is_ready=False, not_ready_since=1_000_000_000)
    cache = a_cache(*pods, nodes=[a_node("good", cpu="4"), a_node("cordoned", is_usable=False, cpu="4"), lost])
    (row,) = flavors(cache.snapshot())
    assert (row.nodes, row.ready, row.schedulable, row.pods, row.other_pods) == (3, 2, 1, 1, 1)
    told = FlavorResource("cpu", capacity="4", used="0", others="0", free="4", unavailable="8", quota="8")
    assert cpu(row) == told
    by_name = {one.name: one for one in nodes(cache.snapshot())}
    states = {name: (one.state, one.cordoned, one.not_ready_since) for name, one in by_name.items()}
    assert states == {
        "cordoned": ("Cordoned", True, ""),
        "good": ("Ready", False, ""),
        "lost": ("NotReady", False, "2001-09-09T01:46:40Z"),
    }
    assert cpu_of(by_name["cordoned"]) == NodeResource("cpu", allocatable="4", used="2", others="0", free="2")


def test_free_is_counted_node_by_node() -> None:
    crowd = [a_foreign_pod(f"f{number}", TWO_CPU, node="one") for number in range(3)]
    (row,) = flavors(a_cache(*crowd, nodes=[a_node("one", cpu="4"), a_node("two", cpu="4")]).snapshot())
    assert (cpu(row).others, cpu(row).free) == ("6", "4"), "what is too much on one node is not missing on another"


def test_reserved_pods_take_room_where_they_are_planned() -> None:
    cache = a_cache(a_released_pod("planned", TWO_CPU, pinned="one"), nodes=[a_node("one", cpu="4")])
    (row,) = nodes(cache.snapshot())
    assert (row.pods, cpu_of(row).used, cpu_of(row).free) == (1, "2", "2")


def test_sums_are_what_pods_are_charged_with() -> None:
    licence, coming = a_static_flavor(cpu="10"), a_flavor(mode=CapacityMode.AUTOSCALED, sums={"cpu": 20_000})
    pods = [
        a_released_pod("of-licence", TWO_CPU, flavor="licence"),
        a_released_pod("waits-for-node", TWO_CPU),
        a_foreign_pod(node="one"),
    ]
    cache = a_cache(*pods, nodes=[a_node("one")], flavors=[licence, coming])
    of_licence, of_coming = flavors(cache.snapshot())
    assert (of_licence.mode, of_licence.nodes, of_licence.pods) == ("Static", 0, 1)
    assert cpu(of_licence) == FlavorResource("cpu", "10", "2", "0", "8", "0", "0")
    assert (of_coming.mode, of_coming.nodes, of_coming.other_pods) == ("Autoscaled", 1, 1)
    assert cpu(of_coming) == FlavorResource("cpu", "20", "2", "0", "18", "0", "8")
    assert [one.name for one in of_coming.resources] == ["cpu"], "of pods there are as many as one likes"


def test_a_node_of_several_flavors_is_of_one() -> None:
    narrow = a_flavor("narrow", labels={"pool": "spot", "zone": "a"})
    node = a_node("both", labels={"pool": "spot", "zone": "a"})
    snapshot = a_cache(
        nodes=[node, a_node("plain"), a_node("none", labels={})], flavors=[a_flavor(), narrow]
    ).snapshot()
    told = {row.name: (row.flavor, row.other_flavors) for row in nodes(snapshot)}
    assert told == {"both": ("narrow", ("spot",)), "none": ("", ()), "plain": ("spot", ())}
    messages = {row.name: (row.nodes, row.message) for row in flavors(snapshot)}
    assert messages == {"narrow": (1, ""), "spot": (1, "1 node that it selects belongs to flavor narrow")}


def test_a_flavor_says_why_its_nodes_are_no_use() -> None:
    snapshot = a_cache(nodes=[]).snapshot()
    (row,) = flavors(snapshot)
    assert row.message == "no node is of the flavor, so no pod fits"
    assert cpu(row).quota == "8"
    dry = replace(snapshot, nodes=replace(snapshot.nodes, dry={"spot": DrySpell(9.0, "nodes do not come")}))
    assert flavors(dry)[0].message == f"{row.message}; nodes do not come"


def test_a_pod_open_to_two_flavors_is_charged_to_both() -> None:
    pod = a_released_pod("any", TWO_CPU, flavors=("spot", "other"))
    cache = a_cache(pod, flavors=[a_flavor(), a_flavor("other")])
    assert {row.name: row.pods for row in flavors(cache.snapshot())} == {"spot": 1, "other": 1}


def test_nodes_come_by_name_however_many() -> None:
    names = [f"n{number:04}" for number in range(450)]
    cache = a_cache(nodes=[a_node(name) for name in reversed(names)])
    assert [row.name for row in nodes(cache.snapshot())] == names


def test_a_faulty_queue_gives_nothing() -> None:
    snapshot = changed(a_cache(queues=[]).snapshot(), faulty={"broken": "spec.flavors: must be a list"})
    (row,) = flavors(snapshot)
    assert cpu(row).quota == "0"


@pytest.mark.parametrize(("what", "text"), [("free", "cpu 1"), ("quota", "memory 2Gi"), ("unavailable", "")])
def test_amounts_of_nothing_are_not_written(what: str, text: str) -> None:
    rows = [
        FlavorResource("cpu", "4", "3", "0", "1", "0", "0"),
        FlavorResource("memory", "1Gi", "1Gi", "0", "0", "0", "2Gi"),
    ]
    assert amounts_text(rows, what) == text
