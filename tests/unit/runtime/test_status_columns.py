"""What statuses have for the columns of `kubectl get`, and what a LocalQueue says of its ClusterQueue."""

from __future__ import annotations

from typing import Any

from controller.cache.written import Written
from controller.objects.read import Entry
from controller.runtime.local_queue_status import local_queue_status
from controller.runtime.queue_status import cluster_queue_status
from controller.runtime.status import Status, flavor_status
from controller.runtime.status_lane import StatusLane
from controller.telemetry.metrics import ControllerMetrics
from tests.support.builders import (
    MAIN,
    a_cache,
    a_cluster_queue,
    a_flavor,
    a_node,
    a_quota,
    a_released_pod,
    a_shape,
)
from tests.support.fake_client import FakeClient
from tests.support.fake_time import FakeTime

NOW = 1_772_352_000.0


def an_entry(key: tuple[str, str] = ("", "team-a"), **fields: Any) -> Entry:
    return Entry(**{"key": key, "uid": "u", "generation": 3, "status": {}, **fields})


def test_queues_have_text_of_what_they_use_and_borrow() -> None:
    queues = [
        a_cluster_queue("team-a", a_quota("spot", cpu="1"), parent="org"),
        a_cluster_queue("org", namespaces=None),
    ]
    cache = a_cache(a_released_pod("a", a_shape(cpu="2500m")), queues=queues)
    columns = {name: cluster_queue_status(cache, an_entry(("", name)), NOW)["columns"] for name in ("team-a", "org")}
    assert columns == {
        "team-a": {"used": "cpu 2.5/1", "borrowed": "cpu 1.5", "openWindows": ""},
        "org": {"used": "cpu 2.5/9", "borrowed": "0", "openWindows": ""},
    }
    nothing = cluster_queue_status(a_cache(queues=[]), an_entry(), NOW)["columns"]
    assert nothing == {"used": "0", "borrowed": "0", "openWindows": ""}


def test_a_local_queue_says_what_its_queue_has_free() -> None:
    queues = [
        a_cluster_queue("team-a", a_quota("spot", cpu="4"), a_quota("dear", cpu="1"), parent="org"),
        a_cluster_queue("org", namespaces=None),
    ]
    others = a_released_pod("other", a_shape(cpu="3"), namespace="elsewhere", queue="theirs")
    cache = a_cache(others, queues=queues, flavors=[a_flavor("spot"), a_flavor("dear")])
    quota = local_queue_status(cache, an_entry(MAIN), NOW)["quota"]
    assert quota["flavors"] == [
        {"name": "spot", "resources": [{"name": "cpu", "quota": "4", "used": "3", "free": "9"}]},
        {"name": "dear", "resources": [{"name": "cpu", "quota": "1", "used": "0", "free": "1"}]},
    ]
    assert quota["columns"] == {"used": "spot cpu 3/4; dear cpu 0/1", "free": "spot cpu 9; dear cpu 1"}
    assert local_queue_status(a_cache(queues=[]), an_entry(MAIN), NOW)["quota"] is None


def test_a_flavor_without_nodes_is_not_active() -> None:
    cache = a_cache(nodes=[a_node(labels={})])
    status = flavor_status(cache, an_entry(("", "spot")), NOW)
    text = "no node is of the flavor, so no pod fits: label nodes as the spec says, or correct the spec"
    (condition,) = status["conditions"]
    assert [condition[part] for part in ("type", "status", "reason", "message")] == ["Active", "False", "NoNodes", text]
    assert status["columns"] == {"used": "0"}


async def test_figures_of_its_cluster_queue_wait_in_a_local_queue(time: FakeTime) -> None:
    standing = local_queue_status(a_cache(), an_entry(MAIN), NOW)
    older = {**standing, "quota": {**standing["quota"], "columns": {"used": "cpu 1/8", "free": "cpu 7"}}}
    written = Written()
    client = FakeClient().will("PATCH", b"{}", b"{}", b"{}")
    lane = StatusLane(client.as_client, a_cache(), written, ControllerMetrics(), instance="test")

    async def writes(at: float, status: Status) -> int:
        before = len(client.calls)
        written.local_queues[MAIN], time.now = an_entry(MAIN, status=status), at
        await lane.round(at)
        return len(client.calls) - before

    assert await writes(NOW, {}) == 1
    assert [await writes(NOW + 29, older), await writes(NOW + 30, older)] == [0, 1]
    assert await writes(NOW + 32, {**older, "pending": 3}) == 1
