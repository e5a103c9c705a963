"""What queues give, what is used, borrowed and lent of it, and how many wait."""

from __future__ import annotations

from controller.core.snapshot import Snapshot
from controller.visibility.queues import cluster_queues, local_queues
from controller.visibility.rows import ClusterQueueRow, ResourceUse
from tests.support.builders import (
    HOLD,
    a_cache,
    a_cluster_queue,
    a_local_queue,
    a_node,
    a_pod,
    a_released_pod,
    a_shape,
    a_tree_quota,
)
from tests.support.snapshots import changed

LARGE = a_node(cpu="64")


def a_tree_of_three(**used: int) -> Snapshot:
    """Queues a, b and c of 4 cpu each below org, of which each uses so many cores; a lends at most 1."""
    queues = [a_cluster_queue("org", a_tree_quota(cpu=2000))]
    queues.append(a_cluster_queue("a", a_tree_quota(cpu=4000, lend=1000), parent="org"))
    queues += [a_cluster_queue(name, a_tree_quota(cpu=4000), parent="org") for name in "bc"]
    pods = [
        a_released_pod(f"{name}-{number}", cluster_queue=name, queue=name)
        for name, count in used.items()
        for number in range(count)
    ]
    doors = [a_local_queue(name, name) for name in "abc"]
    return a_cache(*pods, nodes=[LARGE], queues=queues, locals_=doors).snapshot()


def cpu(rows: list[ClusterQueueRow], name: str) -> ResourceUse:
    (found,) = [row.flavors[0].resources[0] for row in rows if row.name == name]
    return found


def test_each_queue_stands_behind_its_parent() -> None:
    rows = cluster_queues(a_tree_of_three())
    assert [(row.name, row.depth, row.parent) for row in rows] == [
        ("org", 0, ""),
        ("a", 1, "org"),
        ("b", 1, "org"),
        ("c", 1, "org"),
    ]


def test_what_a_queue_owns_uses_and_borrows() -> None:
    rows = cluster_queues(a_tree_of_three(b=6, c=1))
    assert cpu(rows, "b") == ResourceUse("cpu", quota="4", used="6", borrowed="2", lent="0", free="4")
    assert cpu(rows, "org").used == "7"
    assert cpu(rows, "org").quota == "11", "what queues below it own is counted in, but for what they never lend"


def test_what_is_borrowed_is_lent_in_proportion_to_what_is_left() -> None:
    rows = cluster_queues(a_tree_of_three(b=6, c=1))
    # b borrows 2 of what is left: 2 of org's own, 1 that a lends, 3 of c's
    assert {name: cpu(rows, name).lent for name in "abc"} == {"a": "333m", "b": "0", "c": "1"}


def test_nothing_is_lent_where_nobody_borrows() -> None:
    assert {cpu(cluster_queues(a_tree_of_three(b=4, c=1)), name).lent for name in "abc"} == {"0"}


def test_what_is_lent_is_never_more_than_what_is_borrowed() -> None:
    for used in range(11):
        rows = cluster_queues(a_tree_of_three(b=used, c=4))
        lent = sum(int(cpu(rows, name).lent.removesuffix("m") or 0) for name in "ac" if "m" in cpu(rows, name).lent)
        assert lent <= max(0, used - 4) * 1000


def test_pods_are_counted_where_they_stand_and_above() -> None:
    waiting = [a_pod("waits", queue="a"), a_pod("other", queue="a")]
    running = a_released_pod("runs", cluster_queue="a", queue="a", node=LARGE.name)
    queues = [a_cluster_queue("org", a_tree_quota()), a_cluster_queue("a", a_tree_quota(), parent="org")]
    cache = a_cache(*waiting, running, nodes=[LARGE], queues=queues, locals_=[a_local_queue("a", "a")])
    rows = {row.name: (row.pending, row.reserved, row.running) for row in cluster_queues(cache.snapshot())}
    assert rows == {"org": (2, 0, 1), "a": (2, 0, 1)}
    (local,) = local_queues(cache.snapshot())
    assert (local.pending, local.reserved, local.running) == (2, 0, 1)
    assert local.flavors[0].resources[0].used == "1"


def test_a_queue_that_admits_nobody_says_why() -> None:
    stopped = a_cache(queues=[a_cluster_queue(stop=HOLD)]).snapshot()
    (row,) = cluster_queues(stopped)
    assert (row.active, row.message) == (False, "ClusterQueue team-a has stopPolicy Hold")
    (local,) = local_queues(stopped)
    assert (local.active, local.message) == (False, row.message)


def test_a_queue_that_only_shares_its_quota_is_active() -> None:
    org, *_ = cluster_queues(a_tree_of_three())
    assert (org.active, org.message) == (True, "")


def test_a_queue_that_cannot_be_read_is_shown_with_its_fault() -> None:
    snapshot = changed(a_cache().snapshot(), faulty={"broken": "spec.flavors: must be a list"})
    row = cluster_queues(snapshot)[-1]
    assert (row.name, row.active) == ("broken", False)
    assert row.message == "ClusterQueue broken cannot be used as written: spec.flavors: must be a list"


def test_local_queues_are_those_of_the_namespaces_asked_for() -> None:
    doors = [a_local_queue(), a_local_queue("theirs", namespace="other")]
    snapshot = a_cache(locals_=doors).snapshot()
    assert [row.name for row in local_queues(snapshot, ["other"])] == ["theirs"]
    assert [row.name for row in local_queues(snapshot)] == ["main", "theirs"]


def test_a_limit_shows_what_is_used_of_it() -> None:
    queue = a_cluster_queue(limits={"cpu": 3000})
    cache = a_cache(a_released_pod(shape=a_shape(cpu="2")), nodes=[LARGE], queues=[queue])
    (row,) = cluster_queues(cache.snapshot())
    assert [(one.name, one.used, one.max) for one in row.limits] == [("cpu", "2", "3")]
