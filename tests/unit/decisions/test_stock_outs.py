from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from controller.cache.cluster import ClusterCache
from controller.cache.timers.stock_outs import StockOuts
from controller.core.calendar.windows import FOR_EVER
from controller.core.kubernetes.owners import Owner
from controller.core.queueing.queues import CapacityMode, Flavor, OnReservationTimeout, StopPolicy
from controller.core.workloads.decisions import DrySpell
from controller.core.workloads.pods import Pod
from controller.objects.queues import to_dry_spell
from controller.objects.read import Entry
from controller.runtime.status import flavor_status
from tests.support.builders import (
    a_cache,
    a_cluster_queue,
    a_flavor,
    a_pod,
    a_quota,
    a_released_pod,
    a_shape,
    decided,
    waiting,
)

SPOT = Flavor(name="spot", mode=CapacityMode.AUTOSCALED, sums={"cpu": 100_000}, provision_timeout=600, cool_down=1200)


def a_stuck_pod(name: str = "a", **fields: Any) -> Pod:
    return a_released_pod(name, **{"admitted_at": 100.0, "unscheduled": "no node fits.", **fields})


def an_autoscaled_cache(*pods: Pod, flavor: Flavor = SPOT) -> ClusterCache:
    cache = a_cache(*pods, flavors=[flavor], nodes=[], queues=[a_cluster_queue("team-a", a_quota(cpu="100"))])
    cache.snapshot()
    return cache


def test_a_pod_without_a_node_makes_its_flavor_dry() -> None:
    cache = an_autoscaled_cache(a_stuck_pod(), a_pod("late"))
    assert cache.advance(699.0) == 700
    assert cache.snapshot().nodes.dry == {}
    assert cache.advance(700.0) == 1900
    spell = DrySpell(1900.0, "no node came for pod default/a within 10m: no node fits")
    assert cache.snapshot().nodes.dry == {"spot": spell}
    assert waiting(decided(cache)) == {"main/1000": "FlavorDry"}
    status = flavor_status(cache, Entry(("", "spot"), "u", 1, {}), 700.0)
    assert status["dryUntil"] == "1970-01-01T00:31:40Z"
    # the next ten minutes begin when the spell is over
    assert cache.advance(1900.0) == 2500
    assert cache.snapshot().nodes.dry == {}


def test_a_status_is_taken_up_after_a_restart() -> None:
    cache = an_autoscaled_cache(a_stuck_pod())
    stock_outs = cache.clocks.stock_outs
    stock_outs.restore("spot", DrySpell(5000.0, "before"))
    cache.put_pod(a_stuck_pod(resource_version="3"))
    cache.advance(4000.0)
    assert cache.snapshot().nodes.dry == {"spot": DrySpell(5000.0, "before")}
    assert cache.advance(5000.0) == 5600
    stock_outs.restore("spot", DrySpell(9000.0, "stale"))
    assert cache.snapshot().nodes.dry == {}


@pytest.mark.parametrize(
    ("fields", "is_dry"),
    [
        ({"node": "n", "admitted_at": 200.0}, False),
        ({"node": "n", "admitted_at": 100.0}, True),
        ({"node": None, "admitted_at": 200.0}, True),
        ({"node": "n", "admitted_at": 200.0, "flavor": "other"}, True),
    ],
)
def test_a_flavor_that_gives_nodes_to_later_pods_is_not_dry(fields: dict[str, Any], is_dry: bool) -> None:
    cache = an_autoscaled_cache(a_stuck_pod(), a_released_pod("b", **fields))
    cache.advance(700.0)
    assert bool(cache.snapshot().nodes.dry) is is_dry
    assert cache.advance(700.0) == (1900 if is_dry else 1300)


@pytest.mark.parametrize(("flavor", "is_dry"), [("steady", False), ("other", True)])
def test_an_alternative_flavor_keeps_all_of_them_from_drying(flavor: str, is_dry: bool) -> None:
    later = a_released_pod("b", flavor=flavor, node="n", admitted_at=200.0)
    cache = an_autoscaled_cache(a_stuck_pod(flavors=("spot", "steady")), later)
    cache.set_flavor("steady", replace(SPOT, name="steady", price={"cpu": 1}))
    cache.set_flavor("spot", replace(SPOT, price={"cpu": 2}))
    cache.snapshot()
    assert cache.pods["a"].flavor == "spot"
    cache.advance(700.0)
    assert list(cache.snapshot().nodes.dry) == (["spot"] if is_dry else [])


@pytest.mark.parametrize(
    "fields",
    [{"unscheduled": ""}, {"admitted_at": 0.0}, {"node": "node-1"}, {"flavor": "other"}, {"is_finished": True}],
)
def test_only_unschedulable_reserved_pods_count(fields: dict[str, Any]) -> None:
    cache = an_autoscaled_cache(a_stuck_pod(**fields))
    assert cache.advance(1e6) == FOR_EVER
    assert cache.snapshot().nodes.dry == {}


def test_another_mode_is_never_dry() -> None:
    fixed = Flavor(name="spot", mode=CapacityMode.STATIC, sums={"cpu": 100_000})
    cache = an_autoscaled_cache(a_stuck_pod(), flavor=fixed)
    assert cache.advance(1e6) == FOR_EVER
    cache.set_flavor("spot", SPOT)
    cache.snapshot()
    cache.advance(1e6)
    assert list(cache.snapshot().nodes.dry) == ["spot"]
    cache.set_flavor("spot", None)
    cache.snapshot()
    assert cache.clocks.stock_outs.spells == {}


def test_pods_that_go_are_forgotten() -> None:
    stock_outs = StockOuts({"spot": SPOT})
    stock_outs.observe("a", a_stuck_pod())
    assert stock_outs.unprovided == {"spot": {"a": None}}
    stock_outs.observe("a", None)
    assert (stock_outs.unprovided, stock_outs.next_change()) == ({"spot": {}}, FOR_EVER)


@pytest.mark.parametrize(
    ("status", "spell"),
    [
        ({}, None),
        ({"dryUntil": None}, None),
        ({"dryUntil": "soon"}, None),
        ({"dryUntil": 7}, None),
        ({"dryUntil": "1970-01-01T00:01:40Z"}, DrySpell(100.0, "its nodes did not come")),
        (
            {"dryUntil": "1970-01-01T00:01:40Z", "conditions": [{"type": "Active"}, {"type": "Dry", "message": "why"}]},
            DrySpell(100.0, "why"),
        ),
    ],
)
def test_a_status_is_read_whatever_stands_there(status: dict[str, Any], spell: DrySpell | None) -> None:
    assert to_dry_spell(status) == spell


def test_a_dry_spell_is_seen_when_it_begins_and_ends() -> None:
    flavor = replace(SPOT, sums={"cpu": 1000})
    cache = an_autoscaled_cache(a_stuck_pod(), a_pod("b"), flavor=flavor)
    assert waiting(decided(cache)) == {"main/1000": "NoCapacity"}
    cache.advance(700.0)
    assert waiting(decided(cache)) == {"main/1000": "FlavorDry"}
    cache.advance(1900.0)
    assert waiting(decided(cache)) == {"main/1000": "NoCapacity"}


def test_what_never_fits_is_told_before_a_dry_spell() -> None:
    cache = an_autoscaled_cache(a_stuck_pod(), a_pod("huge", a_shape(cpu="101")), a_pod("many", a_shape(cpu="100")))
    cache.advance(700.0)
    assert waiting(decided(cache)) == {"main/101000": "NeverFits", "main/100000": "FlavorDry"}


def causes(cache: ClusterCache) -> dict[str, str]:
    return {evict.pod.uid: evict.cause.value for evict in decided(cache).evicts}


REPLICAS = Owner("apps/v1", "ReplicaSet", "web", "web")


def test_deleted_pods_of_a_dry_flavor_are_left_alone() -> None:
    going = a_stuck_pod("b", owner=REPLICAS, is_terminating=True)
    cache = an_autoscaled_cache(a_stuck_pod(owner=REPLICAS), going)
    cache.advance(700.0)
    assert causes(cache) == {"a": "FlavorDry"}


def test_one_eviction_is_sent_for_several_rules() -> None:
    queue = a_cluster_queue(
        "team-a",
        a_quota(cpu="100"),
        stop=StopPolicy.HOLD_AND_DRAIN,
        reservation_timeout=60,
        on_reservation_timeout=OnReservationTimeout.EVICT,
    )
    cache = an_autoscaled_cache(a_stuck_pod(owner=REPLICAS))
    cache.set_cluster_queue("team-a", queue)
    cache.snapshot()
    cache.advance(700.0)
    assert causes(cache) == {"a": "Drained"}
    cache.set_cluster_queue("team-a", replace(queue, stop=StopPolicy.NONE))
    assert causes(cache) == {"a": "ReservationTimeout"}
    cache.put_pod(a_stuck_pod(owner=REPLICAS, is_terminating=True, resource_version="3"))
    assert causes(cache) == {}


@pytest.mark.parametrize("now", [a_flavor("spot"), None])
def test_time_between_an_edit_and_a_decision_does_no_harm(now: Flavor | None) -> None:
    cache = an_autoscaled_cache(a_stuck_pod(admitted_at=1000.0))
    cache.advance(1000.0)
    decided(cache)
    cache.set_flavor("spot", now)
    assert cache.advance(1_000_000.0) > 1_000_000.0
    assert cache.snapshot().nodes.dry == {}
