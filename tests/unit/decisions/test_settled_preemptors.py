"""What opens classes that may preempt, beside quota and room: counts of classes that the next decision looks at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from controller.cache.cluster import ClusterCache
from controller.core.kubernetes.owners import Job, Owner
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
from tests.unit.decisions.test_settled import pending

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
    cache.pass_to(NOW)
    stamps = {"queue": "own", "cluster_queue": "own", "node": "a", "admitted_at": 5.0, **fields}
    cache.put_pod(a_released_pod("runs", a_shape(cpu="2"), **stamps))
    for name in (*names, "apart"):
        cache.put_pod(a_pod(name, a_shape(cpu="2"), queue=name, priority=5, created=9_000.0))
    for pod in pods:
        cache.put_pod(pod)
    decided(cache)
    assert pending(cache) == set()
    return cache


def begins_to_go(cache: ClusterCache) -> None:
    going = replace(cache.pods["runs"], is_terminating=True, gone_by=NOW + 30, grace=30, resource_version="8")
    cache.put_pod(going)


def runs_for_long(cache: ClusterCache) -> None:
    cache.pass_to(NOW + 600)


def its_job_fails_once_more(cache: ClusterCache) -> None:
    cache.set_job("train", replace(cache.jobs["train"], failed=2))


def its_job_is_known(cache: ClusterCache) -> None:
    cache.set_job("train", Job(uid="train", namespace="default", name="train", ignores_disruption=True))


def may_be_asked_again(cache: ClusterCache) -> None:
    cache.retry_eviction("runs")


def a_job(**fields: Any) -> Job:
    return Job(uid="train", namespace="default", name="train", **{"failed": 1, "backoff_limit": 1, **fields})


@pytest.mark.parametrize(
    ("fields", "happens"),
    [
        ({}, begins_to_go),
        ({"owner": WEB, "started": int(NOW)}, runs_for_long),
        ({"owner": JOB}, its_job_is_known),
        ({}, may_be_asked_again),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_who_may_preempt_a_pod_is_looked_at_again_when_that_changes_and_nobody_else(
    fields: dict[str, Any], happens: Callable[[ClusterCache], None]
) -> None:
    cache = a_world(**fields)
    happens(cache)
    assert pending(cache) == {"own", "taker"}


def test_who_waited_five_minutes_for_a_pod_to_go_is_looked_at_again_as_are_those_who_may_preempt_others() -> None:
    cache = a_world()
    begins_to_go(cache)
    decided(cache)
    assert decided(cache).preemptors == {"own": 1}
    assert pending(cache) == {"own"}, "who waits for it to go"
    cache.pass_to(NOW + 299)
    assert pending(cache) == {"own"}
    assert cache.clocks.next_change() == NOW + 300
    cache.pass_to(NOW + 300)
    assert pending(cache) == {"own", "taker"}
    assert not decided(cache).preemptors


def test_a_job_that_fails_opens_those_who_may_preempt_its_pods_where_it_is_charged_for_that() -> None:
    cache = a_world(owner=JOB)
    cache.set_job("train", a_job())
    decided(cache)
    cache.set_job("train", a_job(succeeded=1))
    assert pending(cache) == set()
    its_job_fails_once_more(cache)
    assert pending(cache) == {"own", "taker"}
    decided(cache)
    cache.set_job("train", a_job(ignores_disruption=True))
    for evict in decided(cache).evicts:
        cache.evictions.begin(evict)
    decided(cache)  # those who may preempt beside who goes for one of them
    cache.set_job("train", a_job(ignores_disruption=True, failed=7))
    assert pending(cache) <= {"own"}


def test_a_pod_that_goes_opens_none_that_found_nobody_in_the_way_in_its_flavor() -> None:
    steady = a_released_pod(
        "other", a_shape(cpu="1"), queue="own", cluster_queue="own", node="b", flavor="steady", admitted_at=5.0
    )
    cache = a_world(steady)
    cache.put_pod(replace(steady, is_terminating=True, resource_version="8"))
    # none of them fits into steady, whoever goes there
    assert pending(cache) == set()
    begins_to_go(cache)
    assert pending(cache) == {"own", "taker"}


def test_only_pods_of_queues_with_a_minimum_runtime_have_a_timer() -> None:
    cache = a_world(owner=WEB, started=int(NOW))
    assert cache.clocks.next_change() == NOW + 600
    cache.set_cluster_queue("own", a_cluster_queue("own", preemption=Preemption(Within.LOWER_PRIORITY)))
    cache.snapshot()
    assert cache.clocks.next_change() > NOW + 600


def test_what_a_preemptor_held_lets_others_in_once_it_has_a_place_elsewhere() -> None:
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
    cache.pass_to(NOW)
    for evict in decided(cache).evicts:
        cache.put_pod(replace(evict.pod, is_terminating=True, resource_version="3"))
    cache.put_pod(a_pod("small", queue="other", created=60.0))
    cache.drop_pod("low-1")
    assert not admitted(decided(cache))
    cache.drop_pod("stranger")
    assert admitted(decided(cache)) == {"high": ("steady", "b")}
    # of another tree only those are looked at whom the room may be enough for
    assert "other" not in pending(cache)
    assert admitted(decided(cache)) == {"small": ("spot", "a")}


def test_what_a_part_of_the_tree_comes_to_own_again_opens_those_below_it_whom_that_is_enough_for() -> None:
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
    assert pending(cache) == set()
    cache.drop_pod("ends")
    assert pending(cache) == {"wants"}
    assert [evict.pod.name for evict in decided(cache).evicts] == ["lent"]


def test_what_a_queue_keeps_for_itself_counts_where_its_part_of_the_tree_comes_to_own_enough() -> None:
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
    assert pending(cache) == set()
    cache.drop_pod("ends")
    assert pending(cache) == {"keeps"}
    assert [evict.pod.name for evict in decided(cache).evicts] == ["lent"]


def test_when_the_head_of_a_class_leaves_the_next_may_have_the_better_claim_where_its_queue_preempts() -> None:
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
    assert pending(cache) == set()
    cache.drop_pod("may-head")
    cache.drop_pod("never-head")
    assert pending(cache) == {"may"}
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
    assert pending(cache) == set()
    return cache


def test_where_shares_decide_usage_that_falls_opens_all_who_may_preempt_in_that_tree_whatever_the_flavor() -> None:
    cache = where_shares_decide()
    cache.drop_pod("ends")
    assert pending(cache) == {"wants"}
    assert [evict.pod.name for evict in decided(cache).evicts] == ["second"]


def test_where_shares_decide_it_opens_those_too_of_whom_others_have_the_same_share() -> None:
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
    assert pending(cache) == set()
    cache.drop_pod("ends")
    assert {evict.pod.name for evict in decided(cache).evicts} == {"own", "other"}


def test_a_queue_that_has_some_of_its_own_left_again_may_take_it_back_though_its_workload_would_borrow_as_far() -> None:
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
    assert pending(cache) == set()
    cache.drop_pod("ends")
    assert pending(cache) == {"owner"}
    assert {evict.pod.name for evict in decided(cache).evicts} == {"lent", "mine"}


def test_where_shares_decide_usage_that_grows_opens_all_who_may_preempt_in_that_tree_whatever_the_flavor() -> None:
    cache = where_shares_decide()
    cache.put_pod(a_released_pod("more", a_shape(cpu="4"), node="a", queue="rich", cluster_queue="rich"))
    assert pending(cache) == {"wants"}
    assert [evict.pod.name for evict in decided(cache).evicts] == ["second"]


def test_where_shares_do_not_decide_usage_that_grows_opens_nobody_who_waits_for_another_flavor() -> None:
    cache = where_shares_decide(None)
    cache.put_pod(a_released_pod("more", a_shape(cpu="4"), node="a", queue="rich", cluster_queue="rich"))
    assert pending(cache) == set()
