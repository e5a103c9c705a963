"""What queues would give up, from one decision to the next: nothing of it stays that is not kept, or holds no more."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from controller.cache.cluster import ClusterCache
from controller.core.candidates.candidate import KnownCandidates
from controller.core.candidates.reclaimable import KnownReclaimable, ReclaimableCandidates
from controller.core.decision.decide import decide
from controller.core.queueing.preemption_policy import Preemption, Reclaim, Within
from controller.core.queueing.queues import ClusterQueue
from controller.core.quota.quota_tree import QuotaTree
from controller.core.workloads.pods import Pod
from tests.support.builders import (
    UNLIMITED,
    a_cache,
    a_cluster_queue,
    a_local_queue,
    a_node,
    a_pod,
    a_quota,
    a_released_pod,
    a_shape,
    admitted,
    constraints,
    decided,
)
from tests.unit.decisions.test_preempting_work import WEB, Search, a_tree, running, urgent


@contextmanager
def counted_offers() -> Iterator[Callable[[], int]]:
    """Give what counts the offers that were begun since and are in memory, while nobody looks for cycles."""

    def count() -> int:
        return sum(isinstance(one, ReclaimableCandidates) for one in gc.get_objects())

    gc.collect()
    gc.disable()
    try:
        before = count()
        yield lambda: count() - before
    finally:
        gc.enable()


def who_borrows_takes_from_nobody(**fields: Any) -> ClusterCache:
    """Of those whom `team-b` could give up no more than eight are looked for; `fields` are of that queue."""
    org, taker, giver = a_tree("0", "490")
    return Search(urgent(), queues=[org, taker, replace(giver, **fields)], within="team-b").cache


def test_an_offer_of_one_decision_is_gone_with_it() -> None:
    cache = who_borrows_takes_from_nobody(preemption=Preemption(minimum_runtime=1))
    cache.advance(10_000.0)
    with counted_offers() as count:
        for _ in range(5):
            cache.reopen_all()
            decided(cache)
        assert count() == 0


def test_an_offer_that_is_kept_is_gone_when_it_holds_no_longer() -> None:
    cache = who_borrows_takes_from_nobody()
    cache.put_pod(replace(running("team-b")[-1], preemptions=9, resource_version="3"))
    snapshot = cache.snapshot()
    with counted_offers() as count:
        for now in (0.0, 10_000.0):
            decide(replace(snapshot, now=now), limit=UNLIMITED)
        assert count() == 1


def waiting(name: str, queue: str, **amounts: str) -> Pod:
    return a_pod(name, a_shape(**amounts), queue=queue, priority=5)


def test_offers_of_a_moved_tree_are_renewed() -> None:
    own = {"borrows": a_quota(cpu="0", memory="0"), "owns": a_quota(cpu="1", memory="0")}
    theirs: dict[str, Any] = {"owner": WEB, "node": "node-1", "queue": "gives", "cluster_queue": "gives"}
    cache = a_cache(
        *(a_released_pod(f"v{n}", a_shape(cpu="1", memory="1"), admitted_at=float(n), **theirs) for n in range(10)),
        waiting("one", "borrows", cpu="1"),
        waiting("two", "borrows", cpu="1", memory="1"),
        nodes=[a_node(cpu="99", memory="99")],
        queues=[
            a_cluster_queue("org", a_quota(cpu="9", memory="10")),
            a_cluster_queue("gives", a_quota(cpu="0", memory="0"), parent="org"),
            *(
                a_cluster_queue(name, quota, parent="org", preemption=Preemption(reclaim=Reclaim.ANY))
                for name, quota in own.items()
            ),
        ],
        locals_=[a_local_queue(name, name) for name in ("gives", *own)],
    )
    with counted_offers() as count:
        assert not decided(cache).evicts
        assert count() == 2
        # one goes for the first of these, and then the second finds another usage than what is kept was made of
        cache.put_pod(waiting("next-1", "owns", cpu="1"))
        cache.put_pod(waiting("next-2", "borrows", cpu="2"))
        assert len(decided(cache).evicts) == 1
        assert count() == 2
        cache.reopen_all()
        decided(cache)
        # with one gone there is memory enough for all: what is short is the same for both
        assert count() == 1
        cache.reopen_all()
        cache.snapshot().memo.reclaimable.catch_up(cache.tree)
        assert count() == 0


def test_no_offer_outlives_a_full_pass_or_its_tree() -> None:
    columns, tree = (("spot", "cpu"),), QuotaTree({})
    candidates = KnownCandidates()
    kept = KnownReclaimable(candidates)

    def is_kept(happens: Callable[[], object], then: QuotaTree) -> bool:
        kept.catch_up(tree)
        kept.put("org", ReclaimableCandidates(columns, 0.0, None))
        happens()
        kept.catch_up(then)
        return kept.get("org", columns, 0.0) is not None

    assert is_kept(lambda: None, tree)
    assert not is_kept(candidates.forget_all, tree)
    assert not is_kept(lambda: None, QuotaTree({}))


def test_reclaim_order_ignores_victims_of_this_decision() -> None:
    # "gives" borrows just what "waits" takes back; a limit over all flavors makes it go the longer way
    theirs: dict[str, Any] = {"owner": WEB, "node": "node-1", "queue": "gives", "cluster_queue": "gives"}
    cpu = {"first": "1", "gives": "0"}
    cache = a_cache(
        *(a_released_pod(f"v{n}", admitted_at=float(n), **theirs) for n in range(3)),
        a_pod("charged", queue="first", priority=9),
        waiting("waits", "takes", cpu="3"),
        queues=[
            ClusterQueue(name="org"),
            a_cluster_queue(
                "takes",
                a_quota(cpu="3"),
                parent="org",
                limits={"cpu": 3000},
                preemption=Preemption(reclaim=Reclaim.ANY),
            ),
            *(a_cluster_queue(name, a_quota(cpu=amount), parent="org") for name, amount in cpu.items()),
        ],
        locals_=[a_local_queue(name, name) for name in (*cpu, "takes")],
    )
    plan = decided(cache)
    assert list(admitted(plan)) == ["charged"]
    assert {evict.pod.name for evict in plan.evicts} == {"v0", "v1", "v2"}


def test_a_victim_in_vain_may_go_in_the_next_decision() -> None:
    # "one" takes from nobody, and so begins an offer of which eight are known; then "v0", behind them, goes for "own"
    theirs: dict[str, Any] = {"owner": WEB, "queue": "gives", "cluster_queue": "gives"}
    policies = {
        "gives": Preemption(Within.LOWER_PRIORITY),
        "borrows": Preemption(reclaim=Reclaim.ANY),
        "takes": Preemption(reclaim=Reclaim.ANY),
    }
    on_first = a_shape(constraints(selector={"is": "n0"}), cpu="1")
    cache = a_cache(
        *(a_released_pod(f"v{n}", node=f"n{n}", admitted_at=float(n), **theirs) for n in range(10)),
        waiting("one", "borrows", cpu="1"),
        a_pod("own", on_first, queue="gives", priority=5, created=1.0),
        nodes=[a_node(f"n{n}", labels={"pool": "spot", "is": f"n{n}"}, cpu="1") for n in range(10)],
        queues=[
            a_cluster_queue("org", a_quota(cpu="10")),
            *(
                a_cluster_queue(name, a_quota(cpu=str(int(name == "takes"))), parent="org", preemption=policy)
                for name, policy in policies.items()
            ),
        ],
        locals_=[a_local_queue(name, name) for name in policies],
    )

    def goes() -> list[str]:
        return [evict.pod.name for evict in decide(cache.snapshot(), index=cache.feasibility, limit=UNLIMITED).evicts]

    assert goes() == ["v0"]
    cache.drop_pod("own")
    cache.put_pod(a_pod("another", on_first, queue="takes", created=1.0))
    assert goes() == ["v0"]
