"""Kueue's fair sharing, its results worked out by hand from its documentation: shares first, then whose turn it is."""

from __future__ import annotations

from fractions import Fraction

import pytest

from controller.core.decision.decide import decide
from controller.core.queueing.fair_sharing_policy import FairSharing, Share, share_of
from controller.core.queueing.queues import ClusterQueue, FlavorQuota
from controller.core.quota.fair_sharing import NOTHING, FairShares, shown
from controller.core.quota.quota_tree import QuotaTree, UsageKey
from controller.core.quota.tree_usage import TreeUsage
from controller.core.workloads.pods import Pod
from tests.support.builders import (
    UNLIMITED,
    a_cluster_queue,
    a_flavor,
    a_local_queue,
    a_node,
    a_pod,
    a_shape,
    a_snapshot,
    a_tree_quota,
)

FAIR = FairSharing()
A = ("a", "spot", "cpu")


def a_team(name: str, *quotas: FlavorQuota, parent: str = "org", weight: str = "1") -> ClusterQueue:
    return a_cluster_queue(name, *quotas, parent=parent, fair_sharing=FairSharing(Fraction(weight)))


def an_org(*quotas: FlavorQuota) -> ClusterQueue:
    return ClusterQueue(name="org", flavors=quotas, fair_sharing=FAIR)


def a_share(of_thousand: int | Fraction) -> Share:
    exact = Fraction(of_thousand)
    return share_of(exact.numerator, exact.denominator)


def shares(*queues: ClusterQueue, used: dict[tuple[str, str, str], int]) -> FairShares:
    tree = QuotaTree({queue.name: queue for queue in queues})
    usage = TreeUsage(tree)
    for key, amount in used.items():
        usage.add(*key, amount)
    return FairShares(tree, usage)


def test_a_share_is_borrowed_of_all_that_can_be_lent() -> None:
    # nominal 4 + 6, all of it lent: lendable 10. a uses 7: borrows 7 - 4 = 3; 1000 * 3 / 10 = 300
    found = shares(a_team("a", a_tree_quota(cpu=4)), a_team("b", a_tree_quota(cpu=6)), an_org(), used={A: 7})
    assert found.of("a") == a_share(300)
    assert found.of("b") == NOTHING
    assert found.of("org") == NOTHING


@pytest.mark.parametrize("most", [2**63 - 1, 2**53, 1000])
def test_shares_are_told_apart_however_near_they_are(most: int) -> None:
    parts = [(most - 2, most - 1), (most - 1, most), (2 * most - 3, 2 * most - 1), (most, most)]
    found = [share_of(part, whole) for part, whole in parts]
    quotients = [Fraction(part, whole) for part, whole in parts]
    assert sorted(range(4), key=found.__getitem__) == sorted(range(4), key=quotients.__getitem__)
    assert share_of(2 * most, 2 * most - 2) == share_of(most, most - 1) != share_of(most + 1, most)


def test_use_within_nominal_is_no_share() -> None:
    found = shares(a_team("a", a_tree_quota(cpu=4)), a_team("b", a_tree_quota(cpu=6)), an_org(), used={A: 4})
    assert found.of("a") == NOTHING


def test_borrowing_adds_up_and_the_largest_resource_counts() -> None:
    # cpu: borrows 1 of spot and 2 of steady, lendable (2 + 8) + (2 + 8) = 20: 1000 * 3 / 20 = 150
    # memory: borrows 4, lendable 2 + 14 = 16: 1000 * 4 / 16 = 250, the larger of the two
    own = FlavorQuota("spot", {"cpu": 2, "memory": 2}), a_tree_quota("steady", 2)
    lent = FlavorQuota("spot", {"cpu": 8, "memory": 14}), a_tree_quota("steady", 8)
    used = {A: 3, ("a", "steady", "cpu"): 4, ("a", "spot", "memory"): 6}
    assert shares(a_team("a", *own), a_team("b", *lent), an_org(), used=used).of("a") == a_share(250)


def test_an_unexceeded_flavor_does_not_make_up_for_another() -> None:
    # spot: borrows 3. steady: 0 of 5 used, which is no -5. lendable 4 + 5 + 1 = 10: 300
    found = shares(
        a_team("a", a_tree_quota(cpu=1), a_tree_quota("steady", 5)), an_org(a_tree_quota(cpu=4)), used={A: 4}
    )
    assert found.of("a") == a_share(300)


@pytest.mark.parametrize(("weight", "share"), [("2", Fraction(150)), ("1/2", Fraction(600)), ("3", Fraction(100))])
def test_the_weight_divides(weight: str, share: Fraction) -> None:
    # 300, as above
    queues = a_team("a", a_tree_quota(cpu=4), weight=weight), a_team("b", a_tree_quota(cpu=6)), an_org()
    assert shares(*queues, used={A: 7}).of("a") == a_share(share)


def test_a_borrower_of_weight_zero_has_an_infinite_share() -> None:
    queues = a_team("a", a_tree_quota(cpu=4), weight="0"), a_team("b", a_tree_quota(cpu=6)), an_org()
    within, beyond = shares(*queues, used={A: 4}), shares(*queues, used={A: 5})
    assert within.of("a") == NOTHING
    assert beyond.of("a") > a_share(10**9)
    # two infinite ones compare by what their shares would be: 100 < 200
    assert beyond.of("a") < shares(*queues, used={A: 6}).of("a")
    assert shown(beyond.of("a")) == 2**63 - 1


def test_what_nobody_could_lend_makes_no_share() -> None:
    # a had more of its own when it was used; b keeps all that it has
    queues = a_team("a", a_tree_quota(cpu=0), weight="0"), a_team("b", a_tree_quota(cpu=6, lend=0)), an_org()
    assert shares(*queues, used={A: 1}).of("a") == NOTHING


def test_the_status_rounds_up() -> None:
    # 1000 * 1 / 3 = 333 1/3
    found = shares(a_team("a", a_tree_quota(cpu=0)), an_org(a_tree_quota(cpu=3)), used={A: 1})
    assert found.of("a") == a_share(Fraction(1000, 3))
    assert shown(found.of("a")) == 334


def test_what_is_not_lent_is_not_lendable() -> None:
    # b lends 2 of its 6: lendable 4 + 2 = 6; a borrows 2: 1000 * 2 / 6
    queues = a_team("a", a_tree_quota(cpu=4)), a_team("b", a_tree_quota(cpu=6, lend=2)), an_org()
    assert shares(*queues, used={A: 6}).of("a") == a_share(Fraction(1000, 3))


def test_a_cohort_has_a_share_of_what_its_own_parent_could_lend() -> None:
    # north owns 2 + 2 = 4 and uses 5 + 1 = 6: borrows 2 of 4 + 6 = 10 that org could lend: 200
    # a borrows 5 - 2 = 3 of what north could get at most, which is the same 10: 300; b has 1 of its 2
    north = ClusterQueue(name="north", parent="org", fair_sharing=FAIR)
    teams = a_team("a", a_tree_quota(cpu=2), parent="north"), a_team("b", a_tree_quota(cpu=2), parent="north")
    found = shares(*teams, north, an_org(a_tree_quota(cpu=6)), used={A: 5, ("b", "spot", "cpu"): 1})
    assert (found.of("north"), found.of("a"), found.of("b")) == (a_share(200), a_share(300), NOTHING)


def test_a_cohorts_borrowing_limit_bounds_what_is_lendable() -> None:
    # north owns 2 and may borrow 3 of the 6: 5 could be had there; a borrows 4 - 2 = 2: 1000 * 2 / 5 = 400
    north = ClusterQueue(name="north", parent="org", flavors=(a_tree_quota(cpu=0, borrow=3),))
    team = a_team("a", a_tree_quota(cpu=2), parent="north")
    assert shares(team, north, an_org(a_tree_quota(cpu=6)), used={A: 4}).of("a") == a_share(400)


# -- whose turn it is ----------------------------------------------------------------------------------------------


def order(*pods: Pod, queues: list[ClusterQueue], used: dict[tuple[str, str, str], int] | None = None) -> list[str]:
    doors = [a_local_queue(queue.name, queue.name) for queue in queues]
    world = a_snapshot(
        *pods,
        queues=queues,
        locals_=doors,
        flavors=[a_flavor("spot"), a_flavor("steady")],
        nodes=[a_node(cpu="64"), a_node("node-2", cpu="64", labels={"pool": "steady"})],
        usage=dict[UsageKey, int]((used or {}).items()),
    )
    return [admit.uid for admit in decide(world, limit=UNLIMITED).admits]


def a_job(name: str, cpu: str, *, priority: int = 0, created: float = 0.0) -> Pod:
    """Of the queue that is the first letter of its name."""
    return a_pod(name, a_shape(cpu=cpu), queue=name[0], priority=priority, created=created)


EMPTY = a_tree_quota(cpu=0)


def test_the_heads_own_demand_counts() -> None:
    # lendable 10. a has 1 and asks for 4: 500 after it. b has 3 and asks for 1: 400 after it. So b, though it has more
    queues = [a_team("a", EMPTY), a_team("b", EMPTY), an_org(a_tree_quota(cpu=10_000))]
    used = {A: 1_000, ("b", "spot", "cpu"): 3_000}
    assert order(a_job("a1", "4"), a_job("b1", "1", created=1), queues=queues, used=used) == ["b1", "a1"]


def test_of_equal_shares_priority_decides_and_then_age() -> None:
    queues = [a_team("a", EMPTY), a_team("b", EMPTY), a_team("c", EMPTY), an_org(a_tree_quota(cpu=10_000))]
    pods = a_job("a1", "1", created=2), a_job("b1", "1", created=3, priority=1), a_job("c1", "1", created=1)
    assert order(*pods, queues=queues) == ["b1", "c1", "a1"]


def test_who_borrows_nothing_of_what_it_asks_for_goes_first() -> None:
    # b's share is 1000 * 2 / 12 of steady, but of spot, which it asks for, it borrows nothing; a would borrow 1 of spot
    quotas = a_tree_quota(cpu=2_000), a_tree_quota("steady", 0)
    lent = a_tree_quota(cpu=4_000), a_tree_quota("steady", 4_000)
    queues = [a_team("a", EMPTY), a_team("b", *quotas), an_org(*lent)]
    used = {("b", "steady", "cpu"): 2_000}
    assert order(a_job("a1", "1", priority=9), a_job("b1", "2"), queues=queues, used=used) == ["b1", "a1"]


def test_the_tournament_is_held_at_every_cohort() -> None:
    # org lends 12. north and south own nothing. x has 6 of south's 6; a has 2 and b 1 of north's 3
    # south with c: (6 + 1) / 12; north with either head: (3 + 1) / 12, so north is first, whatever c's own share, 1/12
    # in north b (2/12) before a (3/12). Then north has 4: with a 5/12, still before south's 7/12
    queues = [
        an_org(a_tree_quota(cpu=12_000)),
        *(ClusterQueue(name=name, parent="org") for name in ("north", "south")),
        *(a_team(name, EMPTY, parent="north") for name in "ab"),
        *(a_team(name, EMPTY, parent="south") for name in "cx"),
    ]
    used = {A: 2_000, ("b", "spot", "cpu"): 1_000, ("x", "spot", "cpu"): 6_000}
    pods = a_job("c1", "1", priority=5), a_job("a1", "1", priority=3), a_job("b1", "1")
    assert order(*pods, queues=queues, used=used) == ["b1", "a1", "c1"]


def test_an_unfit_head_does_not_speak_for_those_behind_it() -> None:
    # a's first asks for 20 of 10 and never goes. Its second would bring a to 100, b's first brings b to 200
    queues = [a_team("a", EMPTY), a_team("b", EMPTY), an_org(a_tree_quota(cpu=10_000))]
    pods = a_job("a1", "20", priority=9), a_job("a2", "1", created=5), a_job("b1", "2")
    assert order(*pods, queues=queues) == ["a2", "b1"]


def test_a_tree_without_fair_sharing_goes_by_the_order_alone() -> None:
    queues = [a_team("a", EMPTY), a_team("b", EMPTY), ClusterQueue(name="org", flavors=(a_tree_quota(cpu=10_000),))]
    pods = a_job("a1", "4"), a_job("a2", "4", created=1), a_job("b1", "1", created=2)
    assert order(*pods, queues=queues) == ["a1", "a2", "b1"]
