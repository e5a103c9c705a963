"""What is kept for a preemptor or reserved: whom it keeps from having others evicted, and what opens them again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.cache.cluster import ClusterCache
from controller.core.queueing.fair_sharing_policy import FairSharing
from controller.core.queueing.preemption_policy import Preemption, Reclaim, Within
from controller.core.queueing.queues import ClusterQueue, QueueingStrategy
from controller.core.reasons import Reason
from tests.support.builders import a_foreign_pod, a_shape, admitted, decided
from tests.unit.decisions.test_preemptors_after_events import (
    NOW,
    RECLAIMS,
    WITHIN,
    a_world,
    evicted,
    in_full,
    queue,
    runs,
    waits,
)


def test_the_hold_of_a_deleted_preemptor_returns_to_its_tree() -> None:
    queues = [ClusterQueue(name="org"), queue("owns", 3, preemption=RECLAIMS), queue("other", 1), queue("borrows", 0)]
    pods = runs("there", "borrows", 3, "a"), waits("large", "owns", 3, created=NOW - 50), waits("small", "other", 1)
    cache = a_world(queues, *pods, a="4")
    assert evicted(cache) == ["there"]
    cache.put_pod(replace(cache.pods["there"], is_terminating=True, resource_version="9"))
    assert not admitted(decided(cache))
    cache.drop_pod("large")
    assert list(admitted(decided(cache))) == ["small"]


@pytest.mark.parametrize("policy", [WITHIN, Preemption()])
def test_a_hold_elsewhere_is_free_for_the_next(policy: Preemption) -> None:
    """The decision ends there: who was settled as long as that was held is looked at in the next one."""
    queues = [queue("own", 100, parent="", preemption=WITHIN), queue("next", 100, parent="", preemption=policy)]
    pods = [runs(name, "own", 2, "b") for name in ("goes-first", "goes-then")]
    preemptor, following = waits("preemptor", "own", 4, priority=9), waits("next", "next", 2, priority=5)
    foreign = a_foreign_pod("foreign", a_shape(cpu="4"), node="a")
    cache = a_world([*queues, queue("last", 100, parent="")], *pods, foreign, preemptor, following, a="4", b="4")
    assert sorted(evicted(cache)) == ["goes-first", "goes-then"]
    for pod in pods:
        cache.put_pod(replace(pod, is_terminating=True, resource_version="7"))
    decided(cache)
    cache.drop_pod("goes-first")
    decided(cache)
    decided(cache)
    cache.drop_pod("foreign")
    cache.put_pod(waits("last", "last", 2))
    for plan in (in_full(cache), decided(cache)):
        assert (admitted(plan), plan.is_complete) == ({"preemptor": ("spot", "a")}, False)
    for plan in (in_full(cache), decided(cache)):
        assert (admitted(plan), plan.is_complete) == ({"next": ("spot", "b")}, True)


def test_two_who_wait_for_leftovers_do_not_alternate() -> None:
    """Neither may have the one go who goes; beside the preemptor one of them fits what is left then, always the same.

    They stand below different queues, so that by shares both would be looked at before the preemptor has had its turn.
    """
    mild = Preemption(Within.NEVER, Reclaim.LOWER_PRIORITY)
    queues = [ClusterQueue(name="org", fair_sharing=FairSharing()), queue("owns", 2, preemption=RECLAIMS)]
    queues += [ClusterQueue(name=f"dep{n}", parent="org") for n in (1, 2)] + [queue("borrows", 0)]
    queues += [queue(f"mild{n}", 1, preemption=mild, parent=f"dep{n}") for n in (1, 2)]
    wait = (
        waits("first", "owns", 1, priority=1, created=NOW - 10),
        waits("second", "mild1", 1),
        waits("third", "mild2", 1),
    )
    cache = a_world(queues, runs("large", "borrows", 2, "a", priority=5), *wait, a="2")
    assert evicted(cache) == ["large"]
    cache.put_pod(replace(cache.pods["large"], is_terminating=True, resource_version="9"))
    for _ in range(4):
        assert set(in_full(cache).held) == {"first", "second"}
        assert set(decided(cache).held) == {"first", "second"}


def test_borrowing_beside_a_hold_may_be_preempted() -> None:
    org, rises, lends = ClusterQueue(name="org"), queue("rises", 4, preemption=RECLAIMS), queue("lends", 3)
    going = runs("going", "borrows", 2, "n", is_terminating=True)
    cache = a_world(
        [org, rises, replace(lends, preemption=RECLAIMS), queue("borrows", 0)],
        *(going, runs("low", "rises", 2, "m"), waits("first", "rises", 2, priority=5), waits("back", "lends", 2)),
        n="2",
        m="2",
        k="1",
    )
    assert decided(cache).preemptors == {"first": 1}
    cache.put_pod(waits("next", "rises", 1))
    assert list(admitted(decided(cache))) == ["next"]
    cache.put_pod(runs("next", "rises", 1, "k"))
    cache.settle("next")
    assert evicted(cache) == ["low"]


def one_finds_nobody_beside_a_reservation(parent: str = "") -> ClusterCache:
    own = queue("own", 4, preemption=WITHIN, parent=parent)
    last = queue("last", 4, strategy=QueueingStrategy.BACKFILL, parent=parent)
    lasts = {"expected_runtime": 10_000, "started": int(NOW)}
    cache = a_world(
        [ClusterQueue(name="org", fair_sharing=FairSharing() if parent else None), own, last, queue("third", 4)],
        *(runs("low", "own", 1, "n", priority=-5, **lasts), runs("other", "own", 1, "n", priority=9, **lasts)),
        *(waits("first", "last", 2, priority=7), waits("pre", "own", 1, priority=5), runs("there", "third", 2, "m")),
        n="2",
        m="2",
    )
    assert evicted(cache) == evicted(cache) == []
    return cache


def test_a_reason_ignores_earlier_searches() -> None:
    """Were `low` gone, there would be room that is kept for `first`; now there is none."""
    cache = one_finds_nobody_beside_a_reservation("org")
    cache.put_pod(waits("next", "third", 1))
    cache.reopen_all()
    plan = decided(cache)
    assert {wait.reason for kind, wait in plan.waits.items() if kind.queue[1] in ("own", "third")} == {
        Reason.NO_CAPACITY
    }


@pytest.mark.parametrize("parent", ["", "org"], ids=["by order", "by share"])
@pytest.mark.parametrize("what", ["is deleted", "stands behind it"])
def test_a_gone_reservation_lets_others_go(what: str, parent: str) -> None:
    cache = one_finds_nobody_beside_a_reservation(parent)
    if what == "is deleted":
        cache.drop_pod("first")
    else:
        cache.put_pod(replace(cache.pods["first"], priority=1, resource_version="9"))
    assert evicted(cache) == ["low"]


def test_a_hold_of_future_room_is_free_for_other_trees() -> None:
    queues = [queue(name, 100, parent="", preemption=WITHIN) for name in ("own", "other")]
    going = runs("going", "own", 3, "n", priority=-1, is_terminating=True, gone_by=NOW + 30, grace=30)
    preemptors = waits("first", "own", 1, priority=5), waits("second", "own", 2, priority=4)
    cache = a_world(queues, going, *preemptors, waits("third", "other", 1), n="3")
    assert set(decided(cache).held) == {"first", "second"}
    cache.drop_pod("second")
    assert set(in_full(cache).held) == set(decided(cache).held) == {"first", "third"}
