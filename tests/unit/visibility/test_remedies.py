"""What is said to admit a workload is enough by itself, and what is said beside it is true of the changed cluster."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import structs

from controller.cache.cluster import ClusterCache
from controller.core.decision.decide import decide
from controller.core.kubernetes.nodes import Node
from controller.core.workloads.pods import Pod
from controller.visibility.explanation_rows import Explanation
from controller.visibility.explanation_text import explanation_text, remedies_text
from controller.visibility.explanations import explain
from controller.visibility.findings import Findings
from controller.visibility.workloads import pods
from tests.support.builders import (
    a_cache,
    a_cluster_queue,
    a_node,
    a_pod,
    a_quota,
    a_released_pod,
    a_saying,
    a_shape,
    constraints,
)


def told(cache: ClusterCache, name: str) -> Explanation:
    workload = cache.backlog.of_pod(name)
    assert workload is not None
    return explain(cache.snapshot(), workload)


def changes(cache: ClusterCache, name: str) -> list[str]:
    return [one.change for one in told(cache, name).remedies]


def a_world(*pods: Pod, nodes: Iterable[Node], cpu: str = "64") -> ClusterCache:
    return a_cache(*pods, nodes=nodes, queues=[a_cluster_queue("team-a", a_quota(cpu=cpu, memory="1Ti"))])


SELECTOR = a_pod("selector", a_shape(constraints(selector={"disk": "ssd"}), cpu="1"), created=9.0)
FULL = a_released_pod("full", a_shape(cpu="4"), node="od-0")


def test_a_node_that_has_room_is_labelled() -> None:
    nodes = [a_node(f"od-{number}", cpu="4") for number in range(3)]
    busy = a_released_pod("busy", a_shape(cpu="2"), node="od-1")
    found = told(a_world(FULL, busy, SELECTOR, nodes=nodes), "selector").remedies
    assert [one.change for one in found] == [
        "the pod without its node selector and required node affinity",
        "the label disk=ssd on node od-2",
    ]
    assert found[1].commands == ("kubectl label node od-2 disk=ssd",)


def test_a_node_with_another_value_keeps_it_where_it_can() -> None:
    nodes = [
        a_node("od-0", labels={"pool": "spot", "disk": "hdd"}, cpu="8"),
        a_node("od-1", cpu="4"),
        a_node("od-2", cpu="4"),
    ]
    assert "the label disk=ssd on node od-1" in changes(a_world(SELECTOR, nodes=nodes), "selector")


def test_a_node_like_a_labelled_one_comes_with_the_label() -> None:
    cache = a_world(FULL, SELECTOR, nodes=[a_node("od-0", cpu="4")])
    assert changes(cache, "selector") == [
        "the pod without its node selector and required node affinity and one more node of flavor spot like od-0",
        "the label disk=ssd on node od-0 and one more node of flavor spot like od-0",
    ]
    cache.put_node(a_node("od-1", cpu="4", labels={"pool": "spot", "disk": "ssd"}))
    assert not told(cache, "selector").flavors


def test_a_larger_node_says_all_that_it_has_to_have() -> None:
    large = a_pod("large", a_shape(cpu="6", memory="64Gi"))
    cache = a_world(large, nodes=[a_node("od-0", cpu="4", memory="32Gi")])
    assert "one more node of flavor spot with 6 cpu and 64Gi memory" in changes(cache, "large")


def test_a_larger_node_for_a_selector_says_like_which() -> None:
    large = a_pod("large", a_shape(constraints(selector={"disk": "ssd"}), cpu="6"))
    nodes = [a_node("od-0", cpu="4"), a_node("od-1", cpu="4", labels={"pool": "spot", "disk": "ssd"})]
    assert "one more node of flavor spot like od-1 with 6 cpu" in changes(a_world(large, nodes=nodes), "large")


def test_amounts_beside_a_smaller_request_are_those_of_it() -> None:
    runs = a_released_pod("runs", a_shape(cpu="12"), node="od-1")
    large = a_pod("large", a_shape(cpu="40"))
    nodes = [a_node("od-0", cpu="8"), a_node("od-1", cpu="12")]
    cache = a_world(runs, large, nodes=nodes, cpu="16")
    less = "a request of at most 12 cpu a pod, which is what the largest node of flavor spot has"
    more = "8 cpu more of flavor spot for ClusterQueue team-a and one more node of flavor spot like od-1"
    assert changes(cache, "large") == [f"{less} and {more}"]


def a_limited_world() -> ClusterCache:
    """A limit is too low for the pod, and of the quota behind it something is used."""
    limited = a_cluster_queue("team-a", a_quota(cpu="3"), limits={"cpu": 2000})
    runs = a_released_pod("runs", a_shape(cpu="1"), node="node-1")
    return a_cache(runs, a_pod("large", a_shape(cpu="3")), nodes=[a_node(cpu="8")], queues=[limited])


def test_what_it_waits_for_then_is_said_in_a_sentence() -> None:
    found = told(a_limited_world(), "large")
    (one,) = found.remedies
    sentence = "flavor spot: needs 3 cpu, 2 of its quota is free"
    assert (one.admits, one.reason, one.message) == (False, "QuotaExceeded", sentence)
    line = f"  - {one.change} (then QuotaExceeded: {sentence}) [whoever gives quota]"
    assert line in list(remedies_text(found))
    hidden = structs.replace(found, remedies=(structs.replace(one, message=""),))
    assert f"  - {one.change} (then QuotaExceeded) [whoever gives quota]" in list(remedies_text(hidden))


def test_the_most_that_may_be_is_not_called_free() -> None:
    found = told(a_limited_world(), "large")
    (short,) = found.flavors
    assert (short.free, short.most, short.lacks, short.at) == ("", "2", "1", "team-a")
    assert "  all flavors: needs 3 cpu, at most 2 at team-a: 1 short (NeverFits)" in list(explanation_text(found))


def test_what_is_free_now_is_called_free() -> None:
    runs = a_released_pod("runs", a_shape(cpu="1"), node="node-1")
    cache = a_world(runs, a_pod("large", a_shape(cpu="3")), nodes=[a_node(cpu="8")], cpu="3")
    (short,) = told(cache, "large").flavors
    assert (short.free, short.most, short.lacks) == ("2", "", "1")


def test_what_was_refused_does_not_say_to_wait() -> None:
    refused = a_pod("refused", a_shape(cpu="1"), said=a_saying("False", "PatchRejected", message="not today"))
    cache = a_world(refused, nodes=[a_node(cpu="4")])
    found = told(cache, "refused")
    lines = list(remedies_text(found))
    assert found.reason == "PatchRejected"
    assert "the condition penstock.dev/Admissible of pod refused says by whom" in found.message
    assert "No action is needed." not in lines
    assert (
        "  - an apiserver, policy or webhook that takes the patch (onto spot) [whoever looks after the queues]" in lines
    )
    snapshot = cache.snapshot()
    (row,) = pods(snapshot, Findings.of(decide(snapshot, limit=9)))
    assert (row.reason, row.message.startswith("decisions admit it onto flavor spot")) == ("PatchRejected", True)


def test_what_is_next_and_was_not_refused_is_pending() -> None:
    found = told(a_world(a_pod("next", said=a_saying()), nodes=[a_node(cpu="4")]), "next")
    assert (found.reason, found.remedies) == ("Pending", ())
    assert "No action is needed." in list(remedies_text(found))
