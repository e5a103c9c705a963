"""Changes are read from text and applied to what is written; what cannot be applied is refused in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest

from controller.api.time_zones import load_zone
from controller.core.calendar.cron import parse_cron
from controller.core.calendar.windows import Window
from controller.core.queueing.effective import Override, Variation, WrittenQueue, WrittenQuota
from controller.core.queueing.fair_sharing_policy import FairSharing
from controller.core.queueing.queues import StopPolicy
from controller.core.queueing.shares import Share
from controller.simulator.changes import ChangeError, parse_change
from controller.simulator.world import World
from tests.support.builders import GPU, a_cluster_queue, a_flavor, a_node, a_pod, a_quota, a_static_flavor
from tests.support.simulated_worlds import a_world, simulated

NIGHT = Override(
    window=Window(name="night", start=parse_cron("0 22 * * *"), duration=3600, zone=load_zone("UTC")),
    quotas=(WrittenQuota("spot", {"cpu": 16_000}),),
)
HALF = WrittenQuota("licence", {"cpu": Share(5000)})


def world() -> World:
    """Two teams below a root that shares fairly; a flavor of two nodes, and one by its sums."""
    team = a_cluster_queue("team-a", a_quota(**{"cpu": "8", GPU: "2"}), a_quota("licence", cpu="0"), parent="org")
    queues = [
        WrittenQueue(a_cluster_queue("org", a_quota(cpu="0"), fair_sharing=FairSharing())),
        WrittenQueue(team, Variation(shares=(HALF,), overrides=(NIGHT,))),
    ]
    nodes = [a_node(name, labels={"pool": "spot", "kubernetes.io/hostname": name}) for name in ("node-1", "node-2")]
    return a_world(
        nodes=[*nodes, a_node("other", labels={})], flavors=[a_flavor(), a_static_flavor(cpu="4")], queues=queues
    )


def changed(text: str) -> World:
    return parse_change(text).apply(world())


@pytest.mark.parametrize(
    ("text", "found", "value"),
    [
        ("quota:team-a/spot/cpu=+2", lambda it: it.queues["team-a"].queue.flavors[0].nominal["cpu"], 10_000),
        ("quota:team-a/spot/cpu=-2", lambda it: it.queues["team-a"].queue.flavors[0].nominal["cpu"], 6_000),
        ("quota:team-a/spot/cpu=500m", lambda it: it.queues["team-a"].queue.flavors[0].nominal["cpu"], 500),
        (f"quota:team-a/spot/{GPU}=+1", lambda it: it.queues["team-a"].queue.flavors[0].nominal[GPU], 3),
        ("weight:team-a=1.5", lambda it: it.queues["team-a"].queue.fair_sharing.weight, Fraction(3, 2)),
        ("lost:spot", lambda it: list(it.nodes), ["other"]),
        ("lost:licence", lambda it: it.flavors["licence"].sums, {"cpu": 0}),
        (
            "nodes:spot=+2",
            lambda it: list(it.nodes),
            ["node-1", "node-2", "other", "spot-simulated-2", "spot-simulated-3"],
        ),
        ("nodes:spot=-1", lambda it: list(it.nodes), ["node-1", "other"]),
        ("nodes:spot=0", lambda it: list(it.nodes), ["other"]),
        ("stop:team-a=Hold", lambda it: it.queues["team-a"].queue.stop, StopPolicy.HOLD),
        (
            "stop:default/main=HoldAndDrain",
            lambda it: it.local_queues["default", "main"].stop,
            StopPolicy.HOLD_AND_DRAIN,
        ),
        ("window:team-a/night=closed", lambda it: it.queues["team-a"].variation.overrides, ()),
    ],
)
def test_a_change_changes_what_it_names(text: str, found: Callable[[World], object], value: object) -> None:
    assert found(changed(text)) == value


def test_a_window_can_be_open_all_the_time() -> None:
    pods = [a_pod(f"pod-{number}") for number in range(4)]
    queue = a_cluster_queue("team-a", a_quota(cpu="0"))
    varying = a_world(*pods, queues=[WrittenQueue(queue, Variation(overrides=(NIGHT,)))])
    assert len(simulated(varying, until=1000)) == 0
    assert len(simulated(parse_change("window:team-a/night=open").apply(varying), until=1000)) == 8


def test_an_added_node_has_its_own_name_and_is_ready() -> None:
    first = world()
    cordoned = replace(first, nodes={**first.nodes, "node-2": replace(first.nodes["node-2"], is_cordoned=True)})
    added = parse_change("nodes:spot=+1").apply(cordoned).nodes["spot-simulated-2"]
    assert added.labels["kubernetes.io/hostname"] == "spot-simulated-2"
    assert added.is_usable


def test_a_node_gets_pods_once_it_is_there() -> None:
    full = a_world(*(a_pod(f"pod-{number}") for number in range(8)))
    assert sum("began" in line for line in simulated(full, until=100)) == 4
    assert sum("began" in line for line in simulated(parse_change("nodes:spot=+1").apply(full), until=100)) == 8


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("quota", "'quota' is no change; write one of quota:QUEUE/FLAVOR/RESOURCE="),
        ("speed:team-a=2", "'speed:team-a=2' is no change"),
        ("lost:spot=1", "'lost:spot=1' is no change"),
        ("nodes:spot", "'nodes:spot' is no change"),
        ("quota:team-a/spot=1", "'team-a/spot': write QUEUE/FLAVOR/RESOURCE"),
        ("quota:team-b/spot/cpu=1", "there is no ClusterQueue team-b; there are org, team-a"),
        ("quota:team-a/steady/cpu=1", "ClusterQueue team-a has no flavor steady; it has spot, licence"),
        ("quota:team-a/spot/memory=1", "ClusterQueue team-a gives no memory of flavor spot"),
        ("quota:team-a/licence/cpu=1", "the quota is a share of the flavor's capacity"),
        ("quota:team-a/spot/cpu=-9", "it has 8, less than that"),
        ("quota:team-a/spot/cpu=many", "'many'"),
        ("quota:team-a/spot/cpu=8", "it is so already"),
        ("nodes:spot=2", "it is so already"),
        ("weight:org=2", "a weight counts below a root with fairSharing alone"),
        ("weight:team-a=-1", "'-1' is negative; the least is 0"),
        ("lost:steady", "there is no flavor steady; there are licence, spot"),
        ("nodes:licence=+1", "flavor licence has room by its sums, not by nodes"),
        ("nodes:spot=-3", "flavor spot has 2 nodes; from 0 to 100000 can be simulated"),
        ("nodes:spot=+x", "'x' is no count"),
        ("stop:team-a=Now", "'Now' is no stopPolicy; write one of None, Hold, HoldAndDrain"),
        ("stop:default/other=Hold", "there is no LocalQueue other in namespace default"),
        ("window:team-a/day=open", "ClusterQueue team-a has no window day; it has night"),
        ("window:team-a/night=ajar", "'ajar': a window can be open or closed"),
    ],
)
def test_what_cannot_be_changed_is_said(text: str, fault: str) -> None:
    with pytest.raises(ChangeError) as raised:
        changed(text)
    assert fault in str(raised.value)


def test_one_node_is_no_plural() -> None:
    with pytest.raises(ChangeError, match="flavor spot has 1 node; from 0"):
        parse_change("nodes:spot=-3").apply(a_world(nodes=[a_node()]))


def test_a_weight_needs_a_tree_that_shares_fairly() -> None:
    with pytest.raises(ChangeError, match="below a root with fairSharing alone"):
        parse_change("weight:team-a=2").apply(a_world())


def test_a_flavor_without_nodes_has_none_to_copy() -> None:
    with pytest.raises(ChangeError, match="no node that another could be like"):
        parse_change("nodes:spot=+1").apply(a_world(nodes=[]))
