"""Who found nobody to preempt beside a reservation, or before others moved, and finds somebody later."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.cache.cluster import ClusterCache
from controller.core.decision.decide import decide
from controller.core.queueing.fair_sharing_policy import FairSharing
from controller.core.queueing.queues import ClusterQueue, QueueingStrategy, WhenCanPreempt
from controller.core.reasons import Reason
from controller.core.workloads.groups import GroupKey, Membership, PodGroup
from tests.support.builders import admitted, decided
from tests.support.snapshots import changed
from tests.unit.decisions.test_preemptors_after_events import (
    NOW,
    RECLAIMS,
    WITHIN,
    a_world,
    evicted,
    queue,
    runs,
    waits,
)

LASTS = {"expected_runtime": 10_000, "started": int(NOW)}


def backfilling(name: str, **fields: Any) -> ClusterQueue:
    return queue(name, strategy=QueueingStrategy.BACKFILL, **fields)


def fair(*queues: ClusterQueue) -> list[ClusterQueue]:
    return [ClusterQueue(name="org", fair_sharing=FairSharing()), *queues]


def finds_nobody_beside_a_reservation() -> ClusterCache:
    """The head of a strict queue might have `low` go, if `first` were not to have the whole node."""
    cache = a_world(
        fair(queue("own", 4, preemption=WITHIN, strategy=QueueingStrategy.STRICT_FIFO), backfilling("last", spot=3)),
        *(runs("low", "own", 1, "n", priority=-5, **LASTS), runs("other", "own", 2, "n", priority=9, **LASTS)),
        *(waits("first", "last", 3, priority=7), waits("head", "own", 1, priority=5)),
        n="3",
    )
    assert evicted(cache) == []
    return cache


@pytest.mark.parametrize("cpu", [0, 2], ids=["is gone", "leaves more than before"])
def test_somebody_may_go_once_the_reservation(cpu: int) -> None:
    cache = finds_nobody_beside_a_reservation()
    cache.drop_pod("first")
    if cpu:
        cache.put_pod(waits("smaller", "last", cpu, priority=7))
    assert evicted(cache) == ["low"]


def test_others_go_where_a_reservation_was() -> None:
    cache = a_world(
        fair(queue("own", 8, preemption=WITHIN), backfilling("last", spot=8), queue("brief", 8, parent="")),
        *(runs("x", "last", 6, "n", **LASTS), runs("low", "own", 2, "m", priority=-5)),
        *(waits("first", "last", 8, priority=7), waits("pod", "own", 2, priority=5)),
        n="8",
        m="2",
    )
    assert evicted(cache) == evicted(cache) == []
    assert [cache.reasons.of(kind).reason for kind in cache.backlog.runs if kind.queue[1] == "own"] == [
        Reason.WOULD_DELAY
    ]
    cache.put_pod(waits("passes", "brief", 2, expected_runtime=60))
    assert list(admitted(decided(cache))) == ["passes"]
    assert evicted(cache) == ["low"]


GANG = Membership(GroupKey("default", "gang"), 2)


def test_a_gang_goes_for_room_beside_a_reservation() -> None:
    cache = a_world(
        fair(
            queue("own", 20, 20, preemption=WITHIN),
            backfilling("large", spot=0, steady=9),
            backfilling("small", spot=0, steady=9),
        ),
        *(runs("g1", "own", 1, "n", priority=-5, group=GANG), runs("there", "own", 2, "n", priority=9)),
        runs("g2", "own", 3, "s1", priority=-5, group=GANG, **LASTS),
        runs("ends", "large", 1, "s2", **LASTS),
        *(waits("four", "large", 4, priority=8), waits("three", "small", 3, priority=7)),
        waits("pod", "own", 3, priority=5),
        n="3",
        s1="3",
        s2="4",
    )
    assert evicted(cache) == evicted(cache) == []
    cache.drop_pod("three")
    assert sorted(evicted(cache)) == ["g1", "g2"]


STRATEGIES = [QueueingStrategy.STRICT_FIFO, QueueingStrategy.BEST_EFFORT_FIFO]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("nodes", [{"s1": "3", "s2": "1"}, {"s1": "4", "s2": "2"}], ids=["beside it", "elsewhere"])
def test_a_gang_goes_for_quota_where_more_came_free(strategy: QueueingStrategy, nodes: dict[str, str]) -> None:
    """It borrows in the flavor where only room is short, and not in the one where quota is."""
    cache = a_world(
        fair(queue("own", 20, 0, preemption=RECLAIMS, strategy=strategy), queue("borrows", 0, 1), queue("ends", 0, 2)),
        *(runs("g1", "borrows", 1, "n", priority=-5, group=GANG), runs("there", "own", 2, "n", priority=9)),
        runs("g2", "borrows", 1, "s1", priority=-5, group=GANG),
        runs("y", "ends", 2, "s1" if nodes["s1"] == "3" else "s2", priority=9),
        waits("pod", "own", 3, priority=5),
        n="3",
        **nodes,
    )
    assert evicted(cache) == evicted(cache) == []
    cache.drop_pod("y")
    assert sorted(evicted(cache)) == ["g1", "g2"]


def test_a_gang_goes_once_a_reservation_needs_less_quota() -> None:
    strict = queue("own", 20, 0, preemption=RECLAIMS, strategy=QueueingStrategy.STRICT_FIFO)
    cache = a_world(
        fair(strict, queue("borrows", 0, 3), backfilling("large", spot=0, steady=0)),
        *(runs("g1", "borrows", 1, "n", priority=-5, group=GANG), runs("there", "own", 2, "n", priority=9)),
        runs("g2", "borrows", 3, "s1", priority=-5, group=GANG, **LASTS),
        *(waits("two", "large", 2, priority=8), waits("pod", "own", 3, priority=5)),
        n="3",
        s1="3",
        s2="2",
    )
    assert evicted(cache) == evicted(cache) == []
    cache.drop_pod("two")
    assert sorted(evicted(cache)) == ["g1", "g2"]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_pod_goes_alone_once_its_group_is_loose(strategy: QueueingStrategy) -> None:
    key = GroupKey("default", "gang", is_native=True)
    together = Membership(key, 2)
    cache = a_world(
        fair(queue("own", 20, preemption=WITHIN, strategy=strategy)),
        *(
            runs("g1", "own", 2, "n", priority=-5, group=together),
            runs("g2", "own", 1, "m", priority=9, group=together),
        ),
        waits("pod", "own", 2, priority=5),
        n="2",
        m="1",
    )
    assert evicted(cache) == evicted(cache) == []
    cache.set_pod_group(key, PodGroup("default", "gang", 0))
    assert evicted(cache) == ["g1"]


@pytest.mark.parametrize("is_fair", [False, True])
def test_a_gang_member_counts_room_beside_a_reservation(is_fair: bool) -> None:
    cache = a_world(
        [
            ClusterQueue(name="org", fair_sharing=FairSharing() if is_fair else None),
            queue("own", 20, preemption=WITHIN),
            backfilling("last", spot=20, parent=""),
        ],
        *(runs("low", "own", 3, "n1", priority=-5), runs("ends", "last", 1, "n2", **LASTS)),
        waits("first", "last", 3, priority=9, created=NOW - 5),
        *(waits("small", "own", 1, priority=5, group=GANG), waits("big", "own", 3, priority=5, group=GANG)),
        n1="4",
        n2="3",
    )
    assert evicted(cache) == ["low"]


def test_preferring_preemption_keeps_a_later_flavors_room() -> None:
    stops = {"strategy": QueueingStrategy.BACKFILL, "when_can_preempt": WhenCanPreempt.MAY_STOP_SEARCH}
    cache = a_world(
        fair(queue("own", 4, 4, preemption=WITHIN, **stops), queue("late", 0, 4, parent="")),
        runs("low", "own", 2, "n", priority=-5, **LASTS),
        *(waits("pod", "own", 2, priority=5), waits("late", "late", 2)),
        n="2",
        s1="2",
    )
    snapshot = cache.snapshot()
    plan = decide(changed(snapshot, leaving=replace(snapshot.running.leaving, evictions_left=0)), limit=100)
    booked = [(one.at, one.places) for wait in plan.waits.values() if (one := wait.booking) is not None]
    assert not plan.admits
    assert booked == [(NOW, frozenset({("steady", "s1")}))]
