"""Kueue's preemption with fair sharing, its results worked out by hand from its documentation.

Three teams own 3 cpu each, so that 9 can be lent: a cpu that is borrowed is 111 1/9 thousandths. What a team has beyond
its 3 is borrowed. All pods stand on one node, which has room for more than there is quota.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from controller.core.kubernetes.owners import Owner
from controller.core.queueing.fair_sharing_policy import FairSharing, Strategy
from controller.core.queueing.preemption_policy import Preemption, Reclaim, Within
from controller.core.queueing.queues import ClusterQueue, FlavorQuota
from controller.core.workloads.pods import Pod
from tests.support.builders import (
    a_cache,
    a_cluster_queue,
    a_local_queue,
    a_node,
    a_pod,
    a_released_pod,
    a_shape,
    a_tree_quota,
    decided,
)

FINAL, INITIAL = Strategy
WEB = Owner("apps/v1", "ReplicaSet", "web", "web")
ANY = Preemption(reclaim=Reclaim.ANY)


def a_team(name: str, parent: str = "org", cpu: int = 3_000, **fields: object) -> ClusterQueue:
    return a_cluster_queue(name, a_tree_quota(cpu=cpu), parent=parent, **{"preemption": ANY, **fields})


def running(queue: str, *sizes: int, priority: int = 0) -> list[Pod]:
    """Admitted pods of so many cpu each, the first of them first; called by their queue and a number."""
    return [
        a_released_pod(
            f"{queue}{number}",
            a_shape(cpu=str(size)),
            queue=queue,
            cluster_queue=queue,
            node="node-1",
            owner=WEB,
            priority=priority,
            admitted_at=float(number),
            resource_version="2",
        )
        for number, size in enumerate(sizes, 1)
    ]


def evicted(
    queue: str,
    cpu: int,
    pods: Iterable[Pod],
    *,
    queues: Iterable[ClusterQueue] = (),
    strategies: tuple[Strategy, ...] = (FINAL, INITIAL),
    priority: int = 0,
) -> list[str]:
    """Return who goes for a workload of so many cpu."""
    teams = {name: a_team(name) for name in "abc"} | {one.name: one for one in queues}
    org = ClusterQueue(name="org", fair_sharing=FairSharing(strategies=strategies))
    waits = a_pod("waits", a_shape(cpu=str(cpu)), queue=queue, priority=priority, owner=WEB)
    cache = a_cache(
        *pods,
        waits,
        nodes=[a_node(cpu="64")],
        queues=[org, *teams.values()],
        locals_=[a_local_queue(name, name) for name in teams],
    )
    plan = decided(cache)
    assert plan.admits == ()
    return [one.pod.name for one in plan.evicts]


def test_one_within_its_own_quota_takes_from_the_largest_share() -> None:
    # b has borrowed 3, c 1. a owns 3 and uses 2. b gives its latest, though LessThanOrEqualToFinalShare is not asked
    pods = [*running("a", 1, 1), *running("b", 2, 2, 2), *running("c", 1)]
    assert evicted("a", 1, pods, strategies=(INITIAL,)) == ["b3"]


def test_a_borrower_takes_from_one_that_has_no_less_then() -> None:
    # a would borrow 1: 111. b has borrowed 2: 222, and one less is 111: 111 <= 111
    pods = [*running("a", 3), *running("b", 1, 1, 1, 1, 1), *running("c", 1)]
    assert evicted("a", 1, pods) == ["b5"]


def test_it_takes_nothing_from_one_that_would_have_less_then() -> None:
    # a would borrow 1: 111. b has borrowed 1: 111, and one less is nothing. 111 <= 0 is false, 111 < 111 too
    pods = [*running("a", 3), *running("b", 1, 1, 1, 1), *running("c", 2)]
    assert evicted("a", 1, pods) == []


@pytest.mark.parametrize(("strategies", "goes"), [((FINAL,), []), ((INITIAL,), ["b1"]), ((FINAL, INITIAL), ["b1"])])
def test_a_large_pod_goes_by_the_share_that_there_was_before(strategies: tuple[Strategy, ...], goes: list[str]) -> None:
    # a would borrow 1: 111. b has one pod of 5 and borrows 2: 222, without it nothing. Not 111 <= 0, but 111 < 222
    pods = [*running("a", 3), *running("b", 5), *running("c", 1)]
    assert evicted("a", 1, pods, strategies=strategies) == goes


def test_the_first_strategy_passes_a_large_pod_for_a_small_one() -> None:
    # b's latest, of 4, would leave it nothing; its pod of 1 leaves 2 - 1 = 1 borrowed: 111 <= 111
    pods = [*running("a", 3), *running("b", 1, 4), *running("c", 1)]
    assert evicted("a", 1, pods) == ["b1"]


def test_the_largest_share_gives_first() -> None:
    # a, b and c own nothing, d lends 9. b has 4: 444, c 3: 333, a 2. a asks for 1: 333. b without one has 333 too
    queues = [a_team("a", cpu=0), a_team("b", cpu=0), a_team("c", cpu=0), a_team("d", cpu=9_000)]
    pods = [*running("b", 1, 1, 1, 1), *running("c", 1, 1, 1), *running("a", 1, 1)]
    assert evicted("a", 1, pods, queues=queues) == ["b4"]


def test_after_each_victim_the_largest_share_is_another() -> None:
    # as above, but a has nothing yet and asks for 2: 222. b gives one and has 3 as c has: 333. Of the two the one with
    # the latest admitted gives the next: c, whose third is left; 222 <= 222
    queues = [a_team("a", cpu=0), a_team("b", cpu=0), a_team("c", cpu=0), a_team("d", cpu=7_000)]
    late = [*running("c", 1, 1, 1, 1)[1:]]
    assert evicted("a", 2, [*running("b", 1, 1, 1, 1), *late], queues=queues) == ["b4", "c4"]


def test_weights_say_how_much_is_too_much() -> None:
    # a would borrow 1, and b has borrowed 2, but counts twice: 222 / 2 = 111, without one 55
    # 111 <= 55 is false, 111 < 111 too; with the weights the other way a has 55, and 55 <= 111
    pods = [*running("a", 3), *running("b", 1, 1, 1, 1, 1), *running("c", 1)]
    heavy = FairSharing(weight=FairSharing().weight * 2)
    assert evicted("a", 1, pods, queues=[a_team("b", fair_sharing=heavy)]) == []
    assert evicted("a", 1, pods, queues=[a_team("a", fair_sharing=heavy)]) == ["b5"]


def test_lower_priority_is_asked_where_the_policy_says_so() -> None:
    low = a_team("a", preemption=Preemption(reclaim=Reclaim.LOWER_PRIORITY))
    pods = [*running("a", 3), *running("b", 1, 1, 1, 1, 1, priority=1), *running("c", 1)]
    assert evicted("a", 1, pods, queues=[low], priority=1) == []
    assert evicted("a", 1, pods, queues=[low], priority=2) == ["b5"]


def test_its_own_pods_go_without_a_test_of_shares() -> None:
    own = a_team("a", preemption=Preemption(within=Within.LOWER_PRIORITY))
    pods = [*running("a", 1, 1, 1, 1), *running("b", 3), *running("c", 2)]
    assert evicted("a", 1, pods, queues=[own], priority=1) == ["a4"]


def test_who_is_not_needed_in_the_end_is_given_back() -> None:
    # a asks for 3 within its own 3; b owns nothing and has 5, its latest pods 1 each, which are not enough. With the
    # pod of 3 there are 5 free, so the last but one stays, and the one before
    queues = [a_team("b", cpu=0), a_team("c", cpu=6_000)]
    pods = [*running("b", 3, 1, 1), *running("c", 4)]
    assert evicted("a", 3, pods, queues=queues) == ["b1"]


def test_shares_are_compared_right_below_the_common_parent() -> None:
    # north (a, x) owns 3 + 3 = 6, south (b) 3. b has borrowed 2 of 9: south 222. north uses 3 + 1, with a's pod 5, and
    # borrows nothing: nothing <= 111, so south's b gives one, though a itself would borrow 1 of x
    queues = [
        a_team("a", "north"),
        a_team("x", "north"),
        a_team("b", "south"),
        *(ClusterQueue(name=name, parent="org") for name in ("north", "south")),
        a_team("c", cpu=0),
    ]
    pods = [*running("a", 3), *running("x", 1), *running("b", 1, 1, 1, 1, 1)]
    assert evicted("a", 1, pods, queues=queues) == ["b5"]


def test_one_that_gives_up_its_own_may_take_from_larger_ones() -> None:
    # org lends 10 of its own. a would have borrowed 3, and b has 2: none has more. Without a1 it is 1 < 2: so b1 goes
    # too, by the share that b had before, and the two leave a node for 4 cpu
    a = a_team("a", preemption=Preemption(Within.LOWER_PRIORITY, Reclaim.ANY))
    org = a_cluster_queue("org", a_tree_quota(cpu=10_000), fair_sharing=FairSharing())
    waits = a_pod("waits", a_shape(cpu="4"), queue="a", priority=1, owner=WEB)
    on_the_other = [replace(pod, name="b9", uid="b9", node="node-2") for pod in running("b", 3)]
    cache = a_cache(
        *running("a", 2),
        *running("b", 2),
        *on_the_other,
        waits,
        nodes=[a_node(cpu="4"), a_node("node-2", cpu="3")],
        queues=[org, a, a_team("b")],
        locals_=[a_local_queue("a", "a"), a_local_queue("b", "b")],
    )
    assert sorted(one.pod.name for one in decided(cache).evicts) == ["a1", "b1"]


@pytest.mark.parametrize("also", [{}, {"memory": "1G"}])
def test_what_is_not_asked_for_is_in_nobodys_way(also: dict[str, str]) -> None:
    """a uses more memory than it owns, and asks for cpu alone, of which it stays within its own."""

    def quota(cpu: int, memory: int) -> FlavorQuota:
        return FlavorQuota("spot", {"cpu": cpu, "memory": memory * 10**9})

    def run(name: str, node: str, priority: int, **amounts: str) -> Pod:
        pod = running(name[0], 1, priority=priority)[0]
        return replace(pod, name=name, uid=name, node=node, shape=a_shape(**amounts))

    queues = [
        a_cluster_queue("org", quota(0, 40), fair_sharing=FairSharing()),
        a_cluster_queue("a", quota(8000, 4), parent="org", preemption=Preemption(Within.LOWER_PRIORITY, Reclaim.ANY)),
        a_cluster_queue("b", quota(0, 4), parent="org"),
    ]
    pods = [run("a-high", "node-1", 10, cpu="1", memory="30G"), run("b-borrows", "node-2", 0, cpu="3", memory="1G")]
    cache = a_cache(
        *pods,
        run("a-low", "node-1", 0, cpu="1", **also),
        a_pod("waits", a_shape(cpu="3"), queue="a", priority=5, owner=WEB),
        nodes=[a_node(cpu="3", memory="64G"), a_node("node-2", cpu="4", memory="64G")],
        queues=queues,
        locals_=[a_local_queue(name, name) for name in "ab"],
    )
    assert [one.pod.name for one in decided(cache).evicts] == ["b-borrows"]
