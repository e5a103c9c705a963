"""What finding victims costs among 1,000 pods that run: counts of candidates and of tries, which no machine changes."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import pytest

from controller.core.candidates.reclaimable import ReclaimableCandidates
from controller.core.fitting.placement import Placement, place
from controller.core.kubernetes.owners import Job, Owner
from controller.core.ledgers.ledger import Ledger
from controller.core.preemption.preempting import Preempting
from controller.core.queueing.fair_sharing_policy import USUAL, FairSharing
from controller.core.queueing.preemption_policy import Preemption, Reclaim, Within
from controller.core.queueing.queues import ClusterQueue, WhenCanPreempt
from controller.core.workloads.decisions import Wait
from controller.core.workloads.pods import Pod
from tests.support.builders import (
    a_cache,
    a_cluster_queue,
    a_flavor,
    a_local_queue,
    a_node,
    a_pod,
    a_quota,
    a_released_pod,
    a_shape,
    decided,
)

WEB = Owner("apps/v1", "ReplicaSet", "web", "web")
RUNNING, NODES = 1000, 100
TEAMS = ("team-a", "team-b")


def running(*queues: str) -> list[Pod]:
    """Ten pods of one core on each node, the later ones admitted later, by queues in turn."""
    return [
        a_released_pod(
            f"v{n:04}", owner=WEB, node=f"n{n % NODES}", admitted_at=float(n), cluster_queue=queues[n % len(queues)]
        )
        for n in range(RUNNING)
    ]


class Search:
    """One world, and what is done for the workloads that wait in it, in one decision."""

    def __init__(self, *waiting: Pod, queues: Any = None, within: str | Sequence[str] = "team-a") -> None:
        nodes = [a_node(f"n{number}", cpu="10") for number in range(NODES)]
        lower = Preemption(Within.LOWER_PRIORITY)
        known = queues or [a_cluster_queue("team-a", a_quota(cpu="1000"), preemption=lower)]
        those = running(*([within] if isinstance(within, str) else within))
        self.cache = a_cache(*those, *waiting, nodes=nodes, queues=known, locals_=[a_local_queue("main")])
        self.begin()

    def begin(self) -> None:
        """Begin another decision."""
        self.snapshot = self.cache.snapshot()
        self.queue = self.snapshot.queues.cluster_queues["team-a"]
        self.ledger = Ledger(self.snapshot)
        self.preempting = Preempting(self.snapshot, self.ledger)
        self.of = self.preempting.search

    def go(self) -> list[int]:
        """Preempt for each that waits; return how many go in all after each."""
        found = []
        for run in self.snapshot.waiting.runs.values():
            for workload in run:
                wait = place(self.snapshot, self.ledger, self.queue, workload.kind)
                assert isinstance(wait, Wait)
                self.preempting.make_room(self.queue, workload, wait, self.ledger)
                found.append(sum(map(len, self.preempting.evicts)))
        return found


def a_tree(own: str, others: str, policy: Reclaim = Reclaim.ANY) -> list[ClusterQueue]:
    """`team-a`, which preempts, and `team-b` in one tree, each with so much cpu of its own."""
    reclaim = Preemption(Within.LOWER_PRIORITY, policy)
    return [
        a_cluster_queue("org"),
        a_cluster_queue("team-a", a_quota(cpu=own), parent="org", preemption=reclaim),
        a_cluster_queue("team-b", a_quota(cpu=others), parent="org"),
    ]


def urgent(name: str = "urgent", cpu: str = "1", **fields: Any) -> Pod:
    return a_pod(name, a_shape(cpu=cpu), priority=5, **fields)


def test_candidates_are_compared_up_to_the_first_that_helps() -> None:
    search = Search(urgent())
    assert search.go() == [1]
    assert (search.of.visited, search.of.tries) == (1, 2)


def test_a_node_sized_pod_tries_one_node() -> None:
    ample = a_cluster_queue("team-a", a_quota(cpu="1010"), preemption=Preemption(Within.LOWER_PRIORITY))
    search = Search(urgent(cpu="10"), queues=[ample])
    assert search.go() == [10]
    # the last admitted go first, one of each node: nine rounds and one more until a node is empty
    assert search.of.visited == RUNNING - NODES + 1
    assert search.of.tries <= 2 * 10


def test_short_quota_tries_as_many_as_have_to_go() -> None:
    search = Search(urgent(cpu="10"))
    assert search.go() == [10]
    # once to find the node, once to take them away; then those are looked for whom it does without, more at once
    assert search.of.visited == (RUNNING - NODES + 1) + RUNNING
    assert search.of.tries < RUNNING / 5


def test_each_of_several_passes_by_those_who_go_already() -> None:
    search = Search(*(urgent(f"u{number}") for number in range(20)))
    assert search.go() == list(range(1, 21))
    assert search.of.visited == sum(range(1, 21))
    assert search.of.tries <= 3 * 20


def a_fair_tree(own: str, others: str, weight: int = 1) -> list[ClusterQueue]:
    org, taker, giver = a_tree(own, others)
    return [replace(org, fair_sharing=USUAL), taker, replace(giver, fair_sharing=FairSharing(Fraction(weight)))]


def test_shares_compare_only_queues_that_are_asked() -> None:
    search = Search(urgent(), queues=a_fair_tree("500", "500"), within="team-b")
    assert search.go() == [1]
    # the first of team-b's, and who would be the next
    assert (search.of.visited, search.of.tries) == (2, 2)


def test_a_subtree_with_a_smaller_share_is_skipped() -> None:
    """By its weight team-b, which borrows 500, has less than team-a would have with one more than its own."""
    search = Search(urgent(), queues=a_fair_tree("0", "999", weight=10_000), within="team-b")
    assert search.go() == [0]
    assert (search.of.visited, search.of.tries) == (0, 0)


def test_no_share_is_larger_so_nobody_is_compared() -> None:
    org, taker, _ = a_fair_tree("0", "0")
    givers = [
        a_cluster_queue(f"giver-{number}", a_quota(cpu="20"), parent="org", fair_sharing=FairSharing(Fraction(10_000)))
        for number in range(20)
    ]
    search = Search(urgent(cpu="2"), queues=[org, taker, *givers], within=[one.name for one in givers])
    search.cache.put_pod(a_released_pod("own", owner=WEB, node="n0", cluster_queue="team-a"))
    search.begin()
    assert search.go() == [0]
    # its own twice, who would be too few; then of one of twenty the first, and who would be the next
    assert (search.of.visited, search.of.tries) == (4, 1)


def test_shares_skip_candidates_on_other_nodes() -> None:
    search = Search(urgent(cpu="2"), queues=a_fair_tree("500", "500"), within="team-b")
    assert search.go() == [2]
    # a hundred are asked before the second on a node, and only these two are tried there
    assert (search.of.visited, search.of.tries) == (102, 4)


def test_by_shares_nothing_is_tried_where_nobody_borrows() -> None:
    search = Search(urgent(cpu="2"), queues=a_fair_tree("0", "1000"), within="team-b")
    assert search.go() == [0]
    assert (search.of.visited, search.of.tries) == (0, 0)


def test_a_nominated_head_is_not_searched_for_again() -> None:
    search = Search(urgent(), queues=a_fair_tree("500", "500"), within="team-b")
    (workload,) = next(iter(search.snapshot.waiting.runs.values()))
    wait = place(search.snapshot, search.ledger, search.queue, workload.kind)
    assert isinstance(wait, Wait)
    found = search.preempting.find(search.queue, workload, wait, search.ledger)
    assert found is not None
    tries = search.of.tries
    assert search.preempting.find(search.queue, workload, wait, search.ledger) == found
    assert search.of.tries == tries


@pytest.mark.parametrize("policy", [Reclaim.ANY, Reclaim.LOWER_PRIORITY])
def test_of_what_others_borrowed_no_more_is_looked_at(policy: Reclaim) -> None:
    queues = a_tree("500", "500", policy)
    search = Search(urgent(), queues=queues, within="team-b")
    assert search.go() == [1]
    # whom team-b gives up, eight at a time; and then the first of them
    assert (search.of.reclaimable_index.visited, search.of.visited, search.of.tries) == (8, 1, 2)


def test_search_stops_where_one_node_does_not_decide() -> None:
    org, taker, giver = a_tree("500", "500")
    search = Search(urgent(), queues=[org, replace(taker, limits={"cpu": 999_000}), giver], within="team-b")
    assert search.go() == [1]
    assert (search.of.reclaimable_index.visited, search.of.visited) == (8, 1)


def test_reclaimable_is_compared_again_after_a_charge() -> None:
    idle = (a_cluster_queue(f"idle-{number}", a_quota(cpu="1"), parent="org") for number in range(50))
    queues = [*a_tree("500", "990"), *idle]
    search = Search(*(urgent(f"u{number}", cpu="10") for number in range(20)), queues=queues, within="team-b")
    assert search.go() == [0] * 20
    assert search.of.reclaimable_index.visited == 10
    # all twenty stand in one place of the tree
    assert search.of.visited == 10


def test_reclaimable_is_compared_later_only_after_a_move() -> None:
    search = Search(urgent(cpu="10"), queues=a_tree("500", "990"), within="team-b")
    cache, visited = search.cache, []
    another = partial(cache.put_pod, urgent("another", cpu="10"))
    for happens in (cache.reopen_all, None, another, partial(cache.drop_pod, "v0999"), None):
        if happens is not None:
            happens()
        search.begin()
        search.go()
        visited.append((search.of.reclaimable_index.visited, search.of.visited))
    assert visited == [(10, 10), (0, 0), (0, 0), (9, 9), (0, 0)]


def test_of_a_moved_tree_one_queue_is_compared_again() -> None:
    org, taker, _ = a_tree("500", "0")
    givers = [a_cluster_queue(f"giver-{number}", a_quota(cpu="45"), parent="org") for number in range(10)]
    queues = [replace(org, flavors=(a_quota(cpu="40"),)), taker, *givers]
    search = Search(urgent(cpu="10"), queues=queues, within=[one.name for one in givers])
    for happens, visited in ((None, 10 * 55), (partial(search.cache.drop_pod, "v0999"), 54)):
        if happens is not None:
            happens()
        search.begin()
        search.go()
        assert search.of.reclaimable_index.visited == visited


def test_no_offer_that_is_not_kept_stays_in_memory() -> None:
    def in_memory() -> int:
        return sum(isinstance(one, ReclaimableCandidates) for one in gc.get_objects())

    # who would borrow takes from nobody, so that of those whom team-b could give up no more than eight are looked for
    cache = Search(urgent(), queues=a_tree("0", "490"), within="team-b").cache
    gc.collect()
    gc.disable()
    try:
        before = in_memory()
        for number in range(5):
            cache.drop_pod(f"v{number:04}")
            cache.reopen_all()
            decided(cache)
        assert in_memory() == before + 1
    finally:
        gc.enable()


def test_queues_that_do_not_borrow_are_not_looked_at() -> None:
    queues = a_tree("0", "1000")
    search = Search(urgent(), queues=queues, within="team-b")
    assert search.go() == [0]
    assert (search.of.visited, search.of.tries) == (0, 0)


def test_a_class_searches_the_earlier_flavor_once() -> None:
    # one of a lower priority is not enough for two cores; of each priority the first is searched for
    quotas = (a_quota("spot", cpu="1000"), a_quota("dear", cpu="1000"))
    first = {"when_can_preempt": WhenCanPreempt.MAY_STOP_SEARCH, "preemption": Preemption(Within.LOWER_PRIORITY)}
    pods = [a_pod(f"p{n:02}", a_shape(cpu="2"), priority=-(n % 2)) for n in range(50)]
    low = a_released_pod("low", owner=WEB, node="n0", admitted_at=1.0, cluster_queue="team-a", priority=-2)
    search = Search(low, *pods, queues=[a_cluster_queue("team-a", *quotas, **first)])
    dear = (Placement(replace(a_flavor(), name="dear"), None),)
    (run,) = search.snapshot.waiting.runs.values()
    for workload in run:
        assert search.preempting.prefer_preemption(search.queue, workload, dear, search.ledger) is dear
    assert 0 < search.of.visited <= 2 * 3


def test_where_nobody_may_go_nothing_is_tried() -> None:
    search = Search(a_pod("equal"))
    assert search.go() == [0]
    assert (search.of.visited, search.of.tries) == (0, 0)


def test_candidates_are_kept_until_a_pod_or_job_moves() -> None:
    nodes = [a_node("n0", cpu="10")]
    queues = [a_cluster_queue(name, a_quota(cpu="5"), preemption=Preemption(Within.LOWER_PRIORITY)) for name in TEAMS]
    pods = [
        a_released_pod(f"{name}-runs", a_shape(cpu="4"), owner=Owner("batch/v1", "Job", "job", f"job-{name}"))
        for name in TEAMS
    ]
    pods = [replace(pod, cluster_queue=name, node="n0") for pod, name in zip(pods, TEAMS, strict=True)]
    cache = a_cache(*pods, nodes=nodes, queues=queues, locals_=[a_local_queue(name, name) for name in TEAMS])
    for name in TEAMS:
        job = Job(uid=f"job-{name}", namespace="default", name="job", ignores_disruption=True)
        cache.set_job(job.uid, job)
        cache.put_pod(urgent(f"{name}-waits", cpu="5", queue=name))
    decided(cache)

    def known() -> list[bool]:
        return [cache.usage.candidates.get(name) is not None for name in TEAMS]

    assert known() == [True, True]
    cache.put_pod(replace(cache.pods["team-a-runs"], is_terminating=True, resource_version="9"))
    assert known() == [False, True]
    cache.set_job("job-team-b", None)
    assert known() == [False, False]
