"""What a ClusterQueue's status says of its schedule."""

from __future__ import annotations

from typing import Any

import pytest

from controller.cache.cluster import ClusterCache
from controller.cache.written import Written
from controller.core.queueing.effective import Override, Variation, WrittenQuota
from controller.objects.read import Entry
from controller.runtime.queue_status import cluster_queue_status
from controller.runtime.status_lane import StatusLane
from controller.telemetry.metrics import ControllerMetrics
from tests.support.builders import HOLD, a_cache, a_cluster_queue
from tests.support.fake_client import FakeClient
from tests.support.fake_time import FakeTime
from tests.support.zones import a_window, utc

NOW = 1_772_352_000.0


def an_entry(**status: Any) -> Entry:
    return Entry(("", "team-a"), "u", 3, status)


NIGHT = Override(window=a_window("night"), quotas=(WrittenQuota("spot", {"cpu": 16_000}),))
FRIDAY = Override(window=a_window("friday", "0 4 * * fri", "16h"), stop=HOLD)


def a_scheduled_cache(*overrides: Override, now: str) -> ClusterCache:
    cache = a_cache(queues=[])
    cache.set_cluster_queue("team-a", a_cluster_queue(), variation=Variation(overrides=overrides))
    cache.advance(utc(now))
    return cache


@pytest.mark.parametrize(
    ("now", "schedule", "quota"),
    [
        ("2026-03-04 12:00", {"open": [], "nextChange": "2026-03-04T20:00:00Z", "opens": ["night"]}, "8"),
        ("2026-03-04 21:00", {"open": ["night"], "nextChange": "2026-03-05T04:00:00Z", "closes": ["night"]}, "16"),
        (
            "2026-03-06 03:00",
            {"open": ["night"], "nextChange": "2026-03-06T04:00:00Z", "opens": ["friday"], "closes": ["night"]},
            "16",
        ),
    ],
)
def test_a_cluster_queue_says_what_is_open_and_what_comes_next(now: str, schedule: Any, quota: str) -> None:
    status = cluster_queue_status(a_scheduled_cache(NIGHT, FRIDAY, now=now), an_entry(), NOW)
    assert status["schedule"] == schedule
    assert status["flavorsUsage"][0]["resources"][0]["quota"] == quota


def test_a_cluster_queue_names_the_window_that_holds_it() -> None:
    cache = a_scheduled_cache(NIGHT, FRIDAY, now="2026-03-06 12:00")
    text = "the open window friday says stopPolicy Hold: nothing is admitted"
    condition = cluster_queue_status(cache, an_entry(), NOW)["conditions"][0]
    assert (condition["status"], condition["reason"], condition["message"]) == ("False", "Stopped", text)


def test_a_window_that_never_closes_foretells_nothing() -> None:
    always = Override(window=a_window("always", "0 8 * * *", "24h"), stop=HOLD)
    status = cluster_queue_status(a_scheduled_cache(always, now="2026-03-06 12:00"), an_entry(), NOW)
    assert status["schedule"] == {"open": ["always"]}


async def test_of_a_schedule_only_what_still_holds_is_written(time: FakeTime) -> None:
    standing = {"schedule": {"open": ["night"], "nextChange": "2026-03-05T04:00:00Z", "closes": ["night"]}}
    cache = a_scheduled_cache(NIGHT, now="2026-03-05 04:00")
    written = Written(cluster_queues={("", "team-a"): an_entry(**standing)})
    client = FakeClient().will("PATCH", b"{}", b"{}")
    lane = StatusLane(client.as_client, cache, written, ControllerMetrics(), instance="test")
    for now in (NOW, NOW + 5):
        time.now = now
        await lane.round(now)
        cache.set_cluster_queue("team-a", a_cluster_queue())
    assert [call.body["status"]["schedule"] for call in client.calls] == [
        {"open": [], "nextChange": "2026-03-05T20:00:00Z", "opens": ["night"], "closes": None},
        None,
    ]
