"""What a queue comes to at a moment: shares of live capacity, and what open windows override."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from controller.core.calendar.windows import FOR_EVER
from controller.core.kubernetes.nodes import Node
from controller.core.queueing.effective import (
    Capacity,
    Override,
    Variation,
    WrittenLimits,
    WrittenQuota,
    flavors_below,
    in_effect,
    live_capacity,
    stopped_by,
)
from controller.core.queueing.queues import ClusterQueue, FlavorQuota, StopPolicy
from controller.core.queueing.shares import Amount, Share, ShareError, parse_share
from tests.support.builders import (
    HOLD,
    a_cluster_queue,
    a_flavor,
    a_node,
    a_quota,
    a_static_flavor,
    a_tree_quota,
)
from tests.support.zones import a_window


def overriding(name: str, stop: StopPolicy | None = None, **nominal: Amount) -> Override:
    quotas = (WrittenQuota("spot", nominal),) if nominal else ()
    return Override(window=a_window(name), quotas=quotas, stop=stop)


def effective(
    queue: ClusterQueue, variation: Variation, *opened: str, capacity: Mapping[str, int] | None = None
) -> ClusterQueue:
    return in_effect(queue, variation, opened=opened, capacities={"spot": Capacity(capacity or {})})


def nominal(queue: ClusterQueue) -> dict[str, dict[str, int]]:
    return {quota.flavor: dict(quota.nominal) for quota in queue.flavors}


def not_ready(name: str, since: int) -> Node:
    return Node(name=name, labels={"pool": "spot"}, allocatable={"cpu": 4000}, is_ready=False, not_ready_since=since)


@pytest.mark.parametrize(
    ("text", "hundredths"),
    [("0%", 0), ("40%", 4000), ("100%", 10_000), ("100.00%", 10_000), ("12.5%", 1250), ("0.01%", 1)],
)
def test_a_share_is_read_exactly(text: str, hundredths: int) -> None:
    assert parse_share(text) == Share(hundredths)


@pytest.mark.parametrize("text", ["40", "-1%", "101%", "100.01%", "12.345%", "%", "1e1%", " 5%", "5 %"])
def test_a_share_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ShareError, match="is not a share; write 0% to 100%"):
        parse_share(text)


def test_a_share_is_of_what_the_flavor_has_and_rounded_down() -> None:
    queue = a_cluster_queue("a", FlavorQuota("spot", {"cpu": 0, "memory": 0, "gpu": 0, "pods": 7}))
    variation = Variation(
        shares=(WrittenQuota("spot", {"cpu": Share(3333), "memory": Share(10_000), "gpu": Share(1)}),)
    )
    found = effective(queue, variation, capacity={"cpu": 10_001, "memory": 2**62 + 1})
    assert nominal(found) == {"spot": {"cpu": 3333, "memory": 2**62 + 1, "gpu": 0, "pods": 7}}
    assert found.flavors[0].changing == {"cpu", "memory", "gpu"}


def test_shares_of_flavors_are_of_their_own_capacities() -> None:
    queue = a_cluster_queue("a", a_quota("spot", cpu=0), a_quota("steady", cpu=0))
    half = Variation(shares=(WrittenQuota("spot", {"cpu": Share(5000)}), WrittenQuota("steady", {"cpu": Share(5000)})))
    found = in_effect(
        queue, half, opened=(), capacities={"spot": Capacity({"cpu": 10}), "steady": Capacity({"cpu": 4})}
    )
    assert nominal(found) == {"spot": {"cpu": 5}, "steady": {"cpu": 2}}


def test_the_last_open_window_wins_field_by_field() -> None:
    queue = a_cluster_queue("a", a_quota(cpu=8, memory=10, pods=3))
    variation = Variation(
        overrides=(
            overriding("night", HOLD, cpu=16_000, memory=20),
            overriding("weekend", cpu=Share(5000)),
            overriding("closed", StopPolicy.HOLD, cpu=0),
        )
    )
    capacity = {"cpu": 64_000}
    both = effective(queue, variation, "weekend", "night", capacity=capacity)
    assert nominal(both) == {"spot": {"cpu": 32_000, "memory": 20, "pods": 3}}
    assert both.stop is StopPolicy.HOLD
    assert nominal(effective(queue, variation, "night")) == {"spot": {"cpu": 16_000, "memory": 20, "pods": 3}}
    shut = effective(queue, variation)
    assert (nominal(shut), shut.stop) == (nominal(queue), StopPolicy.NONE)
    assert shut.flavors[0].changing == {"cpu", "memory"}


def test_tree_limits_may_be_shares_and_windows_override_each() -> None:
    written = a_tree_quota("spot", 10, borrow=0, lend=7)
    queue = a_cluster_queue("q", written, parent="org")
    night = Override(window=a_window("night"), quotas=(WrittenQuota("spot", lending={"cpu": Share(10_000)}),))
    variation = Variation(shares=(WrittenQuota("spot", borrowing={"cpu": Share(2500)}),), overrides=(night,))
    capacities = {"spot": Capacity({"cpu": 40})}
    assert variation.shared_flavors() == {"spot"}
    for opened, lent in (((), 7), (("night",), 40)):
        (quota,) = in_effect(queue, variation, opened=opened, capacities=capacities).flavors
        assert (quota.nominal, quota.borrowing, quota.lending) == ({"cpu": 10}, {"cpu": 10}, {"cpu": lent})
        assert quota.changing == {"cpu"}


def test_limits_are_shares_of_all_flavors_below() -> None:
    queue = a_cluster_queue("q", a_quota("spot", cpu=1), limits={"cpu": 0, "pods": 7}, user_limits={"cpu": 5})
    night = Override(window=a_window("night"), limits=WrittenLimits({"gpu": 3}, {"cpu": Share(1000)}))
    variation = Variation(shared_limits=WrittenLimits({"cpu": Share(3333)}), overrides=(night,))
    capacities = {
        "spot": Capacity({"cpu": 40, "pods": 9}),
        "steady": Capacity({"cpu": 61}),
        "other": Capacity({"cpu": 9}),
    }
    assert (variation.limits_by_share, variation.shared_flavors()) == (True, set())
    below = ("spot", "steady", "gone")
    shut = in_effect(queue, variation, opened=(), capacities=capacities, below=below)
    assert (shut.limits, shut.user_limits) == ({"cpu": 33, "pods": 7}, {"cpu": 5})
    opened = in_effect(queue, variation, opened=("night",), capacities=capacities, below=below)
    assert (opened.limits, opened.user_limits) == ({"cpu": 33, "pods": 7, "gpu": 3}, {"cpu": 10})
    for found in (shut, opened):
        assert found.changing_limits == {"cpu", "gpu"}
        assert found.changing_user_limits == {"cpu"}


def test_flavors_count_for_all_above_and_a_circle_ends() -> None:
    queues = [
        ClusterQueue(name="org"),
        a_cluster_queue("unit", a_quota("steady"), parent="org"),
        a_cluster_queue("team", a_quota("spot"), a_quota("steady"), parent="unit"),
        a_cluster_queue("lost", a_quota("far"), parent="nobody"),
        a_cluster_queue("round", a_quota("spot"), parent="about"),
        ClusterQueue(name="about", parent="round"),
    ]
    assert flavors_below({queue.name: queue for queue in queues}) == {
        "org": {"spot", "steady"},
        "unit": {"spot", "steady"},
        "team": {"spot", "steady"},
        "lost": {"far"},
        "round": {"spot"},
        "about": {"spot"},
    }


def test_a_window_may_open_a_queue_that_is_held() -> None:
    variation = Variation(overrides=(overriding("night", StopPolicy.NONE), overriding("shut", HOLD)))
    queue = a_cluster_queue(stop=HOLD)
    assert [effective(queue, variation, *names).stop.value for names in ((), ("night",), ("night", "shut"))] == [
        "Hold",
        "None",
        "Hold",
    ]
    assert [stopped_by(variation, names) for names in ((), ("night",), ("night", "shut"))] == ["", "night", "shut"]


def test_a_window_changes_the_flavors_that_it_names() -> None:
    queue = a_cluster_queue("a", a_quota("spot", cpu=1), a_quota("steady", cpu=2))
    found = effective(queue, Variation(overrides=(overriding("night", cpu=9),)), "night")
    assert nominal(found) == {"spot": {"cpu": 9}, "steady": {"cpu": 2000}}
    assert [quota.changing for quota in found.flavors] == [{"cpu"}, frozenset()]


def test_capacity_counts_cordoned_and_briefly_unready_nodes() -> None:
    nodes = [a_node("ready"), a_node("cordoned", is_usable=False), not_ready("fresh", 1000), not_ready("old", 900)]
    found = [live_capacity(a_flavor(), nodes, now) for now in (1000, 1199, 1200, 1299, 1300)]
    assert [capacity.amounts["cpu"] for capacity in found] == [16_000, 16_000, 12_000, 12_000, 8_000]
    assert [capacity.until for capacity in found] == [1200, 1200, 1300, 1300, FOR_EVER]


def test_a_static_flavors_capacity_is_its_sums() -> None:
    assert live_capacity(a_static_flavor(cpu=3), [], 0) == Capacity({"cpu": 3000})
    assert live_capacity(None, [a_node("left")], 0) == Capacity({})


def test_only_flavors_with_a_share_are_asked_for_their_capacity() -> None:
    variation = Variation(
        shares=(WrittenQuota("a", {"cpu": Share(1)}),),
        overrides=(
            Override(window=a_window(), quotas=(WrittenQuota("b", {"cpu": Share(1)}), WrittenQuota("c", {"cpu": 1}))),
        ),
    )
    assert variation.shared_flavors() == {"a", "b"}
