"""What each user may use of a queue: along the tree, within a decision, and as pods and limits come and go."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.core.decision.decide import decide
from controller.core.explaining.wording import describe
from controller.core.gate.users import POD_MAKERS, noted_on_template, noted_user
from controller.core.quota.quota_tree import QuotaTree
from controller.core.quota.user_limits import UserUsage
from controller.core.reasons import Reason
from controller.core.workloads.workload import PodSet, WorkloadClass
from tests.support.builders import (
    UNLIMITED,
    a_cache,
    a_cluster_queue,
    a_pod,
    a_released_pod,
    a_shape,
    a_snapshot,
    admitted,
    decided,
)

LIMITED = a_cluster_queue(user_limits={"cpu": 2000})
OPEN = a_cluster_queue()
TWO = a_shape(cpu="2")


def test_usage_counts_at_every_queue_with_user_limits() -> None:
    queues = [a_cluster_queue("org", user_limits={"cpu": 5000}), a_cluster_queue(parent="org"), OPEN]
    usage = UserUsage(QuotaTree({one.name: one for one in (queues[0], queues[1])}), {("org", "ann", "cpu"): 1000})
    usage.add("team-a", "ann", TWO.requests)
    usage.add("team-a", "bob", TWO.requests)
    assert usage.sums == {("org", "ann", "cpu"): 2000, ("org", "bob", "cpu"): 2000}
    assert usage.used("org", "ann", "cpu") == 3000
    for user in ("ann", "bob"):
        usage.add("team-a", user, TWO.requests, -1)
    assert usage.sums == {}


def test_a_need_above_the_share_is_told_before_what_is_short() -> None:
    queues = {"org": a_cluster_queue("org", user_limits={"cpu": 1000}), "team-a": a_cluster_queue(parent="org")}
    queues["team-a"] = replace(queues["team-a"], user_limits={"cpu": 2000})
    usage = UserUsage(QuotaTree(queues), {("team-a", "ann", "cpu"): 2000})
    found = usage.blocker("team-a", "ann", TWO.requests)
    assert found is not None
    assert (found.reason, found.at, found.free) == (Reason.NEVER_FITS, "org", 1000)
    short = usage.blocker("team-a", "ann", a_shape(cpu="1").requests)
    assert short is not None
    assert (short.reason, short.at, short.user) == (Reason.USER_LIMIT, "team-a", "ann")


def test_one_decision_gives_no_user_more_than_their_share() -> None:
    pods = [a_pod(f"{user}-{n}", replace(a_shape(cpu="1"), user=user)) for user in ("ann", "bob") for n in range(3)]
    snapshot = a_snapshot(*pods, queues=[LIMITED])
    plan = decide(snapshot, limit=UNLIMITED)
    assert sorted(admitted(plan)) == ["ann-0", "ann-1", "bob-0", "bob-1"]
    assert {describe(wait, since=0.0) for wait in plan.waits.values()} == {
        f"needs 1 cpu, 0 of what team-a gives each user is free for user {user}" for user in ("ann", "bob")
    }


def test_of_a_gang_each_users_pods_count_for_that_user() -> None:
    sets = [PodSet(replace(a_shape(cpu=cpu), user=user), 2) for user, cpu in (("ann", "1"), ("bob", "500m"))]
    usage = UserUsage(QuotaTree({"team-a": LIMITED}))
    assert usage.first_blocker("team-a", WorkloadClass(("default", "main"), tuple(sets))) is None
    more = (*sets, PodSet(replace(TWO, user="bob")))
    found = usage.first_blocker("team-a", WorkloadClass(("default", "main"), more))
    assert found is not None
    assert (found.user, found.reason, found.need) == ("bob", Reason.NEVER_FITS, 3000)


def test_an_end_opens_for_its_own_user_alone() -> None:
    running = [a_released_pod(f"{user}-runs", TWO, user=user) for user in ("ann", "bob")]
    cache = a_cache(*running, a_pod("next", user="ann"), queues=[LIMITED])
    assert not admitted(decided(cache))
    cache.drop_pod("bob-runs")
    assert not admitted(decided(cache))
    cache.drop_pod("ann-runs")
    assert set(admitted(decided(cache))) == {"next"}


def test_users_are_told_apart_only_where_some_queue_limits_them() -> None:
    pods = [a_pod(f"{user}", TWO, user=user) for user in ("ann", "bob")]
    cache = a_cache(*pods, queues=[OPEN])
    assert len(cache.snapshot().waiting.runs) == 1
    cache.set_cluster_queue("team-a", LIMITED)
    assert {kind.pod_sets[0].shape.user for kind in cache.snapshot().waiting.runs} == {"ann", "bob"}
    cache.set_cluster_queue("team-a", OPEN)
    assert [kind.pod_sets[0].shape for kind in cache.snapshot().waiting.runs] == [TWO]


def test_a_limit_that_comes_later_counts_what_runs() -> None:
    cache = a_cache(a_released_pod("runs", TWO, user="ann"), a_pod("next", user="ann"), queues=[OPEN])
    cache.set_cluster_queue("team-a", LIMITED)
    assert [wait.reason for wait in decided(cache).waits.values()] == [Reason.USER_LIMIT]
    cache.set_cluster_queue("team-a", None)
    cache.set_cluster_queue("team-a", OPEN)
    assert set(admitted(decided(cache))) == {"next"}


def test_those_whose_user_nobody_knows_share_one_limit() -> None:
    cache = a_cache(a_pod("a", TWO), a_pod("b", TWO), queues=[LIMITED])
    plan = decided(cache)
    assert len(plan.admits) == 1
    assert [describe(wait, since=0.0) for wait in plan.waits.values()] == [
        "needs 2 cpu, 0 of what team-a gives each user is free for all whose user is not known"
    ]


@pytest.mark.parametrize(
    ("annotations", "is_from_template", "user"),
    [
        ({}, False, "ann"),
        ({"penstock.dev/user": "bob"}, False, "ann"),
        ({"penstock.dev/user": "bob"}, True, "bob"),
        ({}, True, "ann"),
    ],
)
def test_only_a_template_is_believed(annotations: dict[str, str], user: str, *, is_from_template: bool) -> None:
    assert noted_user(annotations, "ann", is_from_template=is_from_template) == user


@pytest.mark.parametrize(
    ("old", "new", "is_written", "right"),
    [
        (None, {}, True, "ann"),
        (None, {}, False, None),
        (None, {"penstock.dev/user": "bob"}, False, "ann"),
        ({}, {}, True, "ann"),
        ({}, {"penstock.dev/user": "bob"}, False, None),
        ({"penstock.dev/user": "bob"}, {}, True, "bob"),
        ({"penstock.dev/user": "bob"}, {"penstock.dev/user": "eve"}, True, "bob"),
    ],
)
def test_a_template_notes_who_gave_it_and_keeps_that(
    old: dict[str, str] | None, new: dict[str, str], right: str | None, *, is_written: bool
) -> None:
    assert noted_on_template(old, new, "ann", is_written=is_written) == right


def test_pods_are_made_by_controllers_of_kubernetes_alone() -> None:
    assert all(one.startswith("system:") and one.endswith(("-controller", "-manager")) for one in POD_MAKERS)
