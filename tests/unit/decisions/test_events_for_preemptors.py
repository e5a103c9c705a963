"""Events beside quota and room after which others go for a workload that waits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from controller.cache.cluster import ClusterCache
from controller.core.kubernetes.owners import Owner
from controller.core.queueing.fair_sharing_policy import USUAL, FairSharing, Strategy
from controller.core.queueing.preemption_policy import Preemption, Reclaim, Within
from controller.core.queueing.queues import ClusterQueue
from controller.core.workloads.pods import Pod
from tests.support.builders import (
    a_cache,
    a_cluster_queue,
    a_flavor,
    a_foreign_pod,
    a_local_queue,
    a_node,
    a_pod,
    a_quota,
    a_released_pod,
    a_shape,
    a_tree_quota,
    admitted,
    constraints,
    decided,
)

JOB = Owner("batch/v1", "Job", "train", "train")
WEB = Owner("apps/v1", "ReplicaSet", "web", "web")
LOWER = Preemption(Within.LOWER_PRIORITY, minimum_runtime=600)
NOW = 10_000.0


def a_world(*pods: Pod, **fields: Any) -> ClusterCache:
    """Per queue a pod `runs` that nobody may be preempted for yet, and ones that wait: for its flavor, for another."""
    names = ("own", "taker", "within", "never")
    policies = {
        "own": LOWER,
        "taker": Preemption(Within.NEVER, Reclaim.ANY),
        "within": Preemption(Within.LOWER_PRIORITY),
        "never": Preemption(),
    }
    both = (a_quota("spot", cpu="2"), a_quota("steady", cpu="1"))
    cache = a_cache(
        nodes=[a_node("a", cpu="2"), a_node("b", cpu="1", labels={"pool": "steady"})],
        flavors=[a_flavor("spot"), a_flavor("steady")],
        queues=[
            a_cluster_queue("org", a_quota("spot", cpu="0"), a_quota("steady", cpu="0")),
            *(
                a_cluster_queue(name, *both, parent="org", preemption=policies[name], allow_job_retries=True)
                for name in names
            ),
            a_cluster_queue("apart", *both, preemption=LOWER),
        ],
        locals_=[a_local_queue(name, name) for name in (*names, "apart")],
    )
    cache.advance(NOW)
    stamps = {"queue": "own", "cluster_queue": "own", "node": "a", "admitted_at": 5.0, **fields}
    cache.put_pod(a_released_pod("runs", a_shape(cpu="2"), **stamps))
    for name in (*names, "apart"):
        cache.put_pod(a_pod(name, a_shape(cpu="2"), queue=name, priority=5, created=9_000.0))
    for pod in pods:
        cache.put_pod(pod)
    decided(cache)
    return cache


def begins_to_go(cache: ClusterCache) -> None:
    going = replace(cache.pods["runs"], is_terminating=True, gone_by=NOW + 30, grace=30, resource_version="8")
    cache.put_pod(going)


def test_a_preemptor_gives_up_on_a_pod_after_five_minutes() -> None:
    cache = a_world()
    begins_to_go(cache)
    decided(cache)
    assert decided(cache).preemptors == {"own": 1}
    cache.advance(NOW + 299)
    assert cache.clocks.next_change() == NOW + 300
    cache.advance(NOW + 300)
    assert not decided(cache).preemptors


def test_only_a_minimum_runtime_sets_a_timer() -> None:
    cache = a_world(owner=WEB, started=int(NOW))
    assert cache.clocks.next_change() == NOW + 600
    cache.set_cluster_queue("own", a_cluster_queue("own", preemption=Preemption(Within.LOWER_PRIORITY)))
    cache.snapshot()
    assert cache.clocks.next_change() > NOW + 600


def test_what_a_preemptor_held_is_free_once_it_is_elsewhere() -> None:
    low = {"node": "a", "owner": WEB, "admitted_at": 5.0, "queue": "mine", "cluster_queue": "mine"}
    cache = a_cache(
        a_released_pod("low-1", a_shape(cpu="2"), **low),
        a_released_pod("low-2", a_shape(cpu="2"), **low),
        a_foreign_pod("stranger", a_shape(cpu="4"), node="b"),
        a_pod("high", a_shape(cpu="4"), queue="mine", priority=5, created=50.0),
        nodes=[a_node("a"), a_node("b", labels={"pool": "steady"})],
        flavors=[a_flavor("spot"), a_flavor("steady")],
        queues=[
            a_cluster_queue("mine", a_quota("spot", cpu="4"), a_quota("steady", cpu="4"), preemption=LOWER),
            a_cluster_queue("other", a_quota("spot", cpu="4")),
        ],
        locals_=[a_local_queue("mine", "mine"), a_local_queue("other", "other")],
    )
    cache.advance(NOW)
    for evict in decided(cache).evicts:
        cache.put_pod(replace(evict.pod, is_terminating=True, resource_version="3"))
    cache.put_pod(a_pod("small", queue="other", created=60.0))
    cache.drop_pod("low-1")
    assert not admitted(decided(cache))
    cache.drop_pod("stranger")
    assert admitted(decided(cache)) == {"high": ("steady", "b")}
    assert admitted(decided(cache)) == {"small": ("spot", "a")}


def test_a_subtree_takes_back_what_it_owns_again() -> None:
    # "rich" borrows what "lender" lends; it gives way to those who need no more than their own part of the tree owns
    reclaims = Preemption(Within.NEVER, Reclaim.ANY)
    parents = {"part": "org", "other-part": "org", "lender": "org", "rich": "other-part"}
    parents |= dict.fromkeys(("has", "wants", "wants-more"), "part")
    owned = {"has": "2", "lender": "6"}
    cache = a_cache(
        a_released_pod("ends", a_shape(cpu="2"), node="cordoned", queue="has", cluster_queue="has"),
        a_released_pod("lent", a_shape(cpu="2"), node="a", owner=WEB, queue="rich", cluster_queue="rich"),
        a_pod("small", a_shape(cpu="2"), queue="wants", created=50.0),
        a_pod("large", a_shape(cpu="3"), queue="wants-more", created=60.0),
        nodes=[a_node("a", cpu="2"), a_node("b", cpu="3"), a_node("cordoned", cpu="2", is_usable=False)],
        queues=[
            ClusterQueue(name="org"),
            *(
                a_cluster_queue(name, a_quota("spot", cpu=owned.get(name, "0")), parent=parent, preemption=reclaims)
                for name, parent in parents.items()
            ),
        ],
        locals_=[a_local_queue(name, name) for name in ("has", "wants", "wants-more", "rich")],
    )
    cache.put_pod(a_foreign_pod("stranger", a_shape(cpu="2"), node="b"))
    assert not decided(cache).evicts
    cache.drop_pod("ends")
    assert [evict.pod.name for evict in decided(cache).evicts] == ["lent"]


def test_what_a_queue_does_not_lend_counts_for_its_subtree() -> None:
    # of the four that "keeps" asks for two are its own and are lent to nobody; the others "part" has to own
    reclaims = Preemption(Within.NEVER, Reclaim.ANY)
    parents = {"part": "org", "other-part": "org", "lender": "org", "rich": "other-part", "has": "part"}
    owned = {"has": "2", "lender": "6"}
    kept = a_tree_quota("spot", 4000, lend=0)
    stamps = {"flavor": "spot", "owner": WEB}
    cache = a_cache(
        a_released_pod("ends", a_shape(cpu="2"), node="off", queue="has", cluster_queue="has", **stamps),
        a_released_pod("mine", a_shape(cpu="2"), node="off", queue="keeps", cluster_queue="keeps", **stamps),
        a_released_pod("lent", a_shape(cpu="4"), node="a", queue="rich", cluster_queue="rich", **stamps),
        a_pod("waits", a_shape(cpu="4"), queue="keeps", created=50.0),
        nodes=[a_node("a", cpu="4"), a_node("off", cpu="4", is_usable=False)],
        queues=[
            ClusterQueue(name="org"),
            a_cluster_queue("keeps", kept, parent="part", preemption=reclaims),
            *(
                a_cluster_queue(name, a_quota("spot", cpu=owned.get(name, "0")), parent=parent)
                for name, parent in parents.items()
            ),
        ],
        locals_=[a_local_queue(name, name) for name in ("has", "keeps", "rich")],
    )
    assert not decided(cache).evicts
    cache.drop_pod("ends")
    assert [evict.pod.name for evict in decided(cache).evicts] == ["lent"]


def test_the_next_of_a_class_preempts_once_its_head_left() -> None:
    # for a head whose release was refused before nobody goes, and while it waits nobody is looked at behind it
    cache = a_cache(
        *(
            pod
            for queue in ("may", "never")
            for pod in (
                a_released_pod(f"{queue}-runs", owner=WEB, queue=queue, cluster_queue=queue),
                a_pod(f"{queue}-head", queue=queue, priority=5, created=20.0),
                a_pod(f"{queue}-next", queue=queue, priority=5, created=30.0),
            )
        ),
        queues=[
            a_cluster_queue("may", a_quota(cpu="1"), preemption=Preemption(Within.LOWER_PRIORITY)),
            a_cluster_queue("never", a_quota(cpu="1")),
        ],
        locals_=[a_local_queue(name, name) for name in ("may", "never")],
    )
    for head in ("may-head", "never-head"):
        cache.reject(head, "no")
        cache.retry(head)
    assert not decided(cache).evicts
    cache.drop_pod("may-head")
    cache.drop_pod("never-head")
    assert [evict.pod.name for evict in decided(cache).evicts] == ["may-runs"]


def where_shares_decide(fair: FairSharing | None = USUAL) -> ClusterCache:
    """`wants` and `has` share as one part of the tree; `wants` might take steady from `rich`, which borrowed 8 of it.

    Since `has` borrows spot, that part would have no smaller share than `rich` then. Who is held at the door of
    `wants`, who may not preempt, and who is of another tree, is not looked at for any of that.
    """
    reclaims = Preemption(Within.NEVER, Reclaim.ANY)
    parents = {"part": "org", "has": "part", "wants": "part", "never": "part", "rich": "org", "lender": "org"}
    both = {"lender": (a_quota("spot", cpu="8"), a_quota("steady", cpu="8"))}
    none = (a_quota("spot", cpu="0"), a_quota("steady", cpu="0"))
    steady = a_shape(constraints(selector={"pool": "steady"}), cpu="4")
    theirs: dict[str, Any] = {"owner": WEB, "node": "b", "queue": "rich", "cluster_queue": "rich", "flavor": "steady"}
    cache = a_cache(
        a_released_pod("ends", a_shape(cpu="4"), node="a", queue="has", cluster_queue="has"),
        *(a_released_pod(name, steady, admitted_at=at, **theirs) for name, at in (("first", 1.0), ("second", 2.0))),
        *(a_pod(f"{name}-waits", steady, queue=name) for name in ("wants", "never", "apart")),
        a_pod("held", steady, queue="door", held="by hand"),
        nodes=[a_node("a", cpu="8"), a_node("b", cpu="8", labels={"pool": "steady"})],
        flavors=[a_flavor("spot"), a_flavor("steady")],
        queues=[
            ClusterQueue(name="org", fair_sharing=fair),
            *(
                a_cluster_queue(
                    name,
                    *both.get(name, none),
                    parent=parent,
                    preemption=reclaims if name in ("wants", "rich") else Preemption(),
                )
                for name, parent in parents.items()
            ),
            a_cluster_queue("apart", *none, preemption=LOWER),
        ],
        locals_=[a_local_queue("door", "wants"), *(a_local_queue(name, name) for name in (*parents, "apart"))],
    )
    assert not decided(cache).evicts
    return cache


def test_usage_that_falls_in_another_flavor_moves_shares() -> None:
    cache = where_shares_decide()
    cache.drop_pod("ends")
    assert [evict.pod.name for evict in decided(cache).evicts] == ["second"]


def test_usage_that_falls_lets_an_equal_share_go() -> None:
    """`theirs` has more than `mine` with the demand until "ends" is gone; then "own" goes first, "other" after it."""
    both = Preemption(Within.LOWER_PRIORITY, Reclaim.ANY)
    fair = FairSharing(strategies=(Strategy.LESS_THAN_OR_EQUAL_TO_FINAL_SHARE,))
    running = {
        "own": ("mine", "20", "b", WEB, 0.0),
        "ends": ("theirs", "15", "a", WEB, 1.0),
        "other": ("theirs", "12", "b", WEB, 5.0),
        "stays": ("theirs", "33", "c", None, 0.0),
    }
    cache = a_cache(
        *(
            a_released_pod(name, a_shape(cpu=cpu), queue=of, cluster_queue=of, node=node, owner=owner, admitted_at=at)
            for name, (of, cpu, node, owner, at) in running.items()
        ),
        a_pod("urgent", a_shape(cpu="30"), queue="mine", priority=5),
        nodes=[a_node(name, cpu=cpu) for name, cpu in {"a": "15", "b": "32", "c": "33"}.items()],
        queues=[
            a_cluster_queue("org", a_quota(cpu="200"), fair_sharing=fair),
            a_cluster_queue("mine", a_quota(cpu="0"), parent="org", preemption=both),
            a_cluster_queue("theirs", a_quota(cpu="0"), parent="org"),
        ],
        locals_=[a_local_queue(name, name) for name in ("mine", "theirs")],
    )
    assert not decided(cache).evicts
    cache.drop_pod("ends")
    assert {evict.pod.name for evict in decided(cache).evicts} == {"own", "other"}


def test_a_queue_reclaims_once_it_borrows_no_more() -> None:
    # as long as "owner" borrows, nobody of others goes for it; then both go, and what waits is within its own two
    policy = Preemption(Within.LOWER_PRIORITY, Reclaim.ANY)
    cpu = {"owner": "2", "rich": "0", "lender": "8"}
    runs: dict[str, Any] = {"queue": "owner", "cluster_queue": "owner", "owner": WEB}
    cache = a_cache(
        a_released_pod("ends", a_shape(cpu="2"), node="off", **runs),
        a_released_pod("mine", node="off", **runs),
        a_released_pod("lent", a_shape(cpu="2"), node="a", owner=WEB, queue="rich", cluster_queue="rich"),
        a_pod("waits", a_shape(cpu="2"), queue="owner", priority=5),
        nodes=[a_node("a", cpu="2"), a_node("off", cpu="4", is_usable=False)],
        queues=[
            ClusterQueue(name="org"),
            a_cluster_queue("owner", a_quota(cpu="2"), parent="org", preemption=policy),
            *(a_cluster_queue(name, a_quota(cpu=cpu[name]), parent="org") for name in ("rich", "lender")),
        ],
        locals_=[a_local_queue(name, name) for name in cpu],
    )
    assert not decided(cache).evicts
    cache.drop_pod("ends")
    assert {evict.pod.name for evict in decided(cache).evicts} == {"lent", "mine"}


def test_usage_that_grows_in_another_flavor_moves_shares() -> None:
    cache = where_shares_decide()
    cache.put_pod(a_released_pod("more", a_shape(cpu="4"), node="a", queue="rich", cluster_queue="rich"))
    assert [evict.pod.name for evict in decided(cache).evicts] == ["second"]
