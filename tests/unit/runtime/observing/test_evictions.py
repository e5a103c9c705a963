"""What a shadow says of evictions: the pod went, or it stayed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.core.queueing.queues import StopPolicy
from controller.runtime.observing.patience import AGAIN_SECONDS, PATIENCE_SECONDS
from tests.support.builders import a_cluster_queue, a_released_pod
from tests.support.fake_time import FakeTime
from tests.support.shadows import AShadow

AGREED = ("eviction", "agreed")
NOT_EVICTED = ("eviction", "not_evicted")
DRAINED = a_cluster_queue(stop=StopPolicy.HOLD_AND_DRAIN, allow_bare_pods=True)
RUNNING = a_released_pod("a", node="node-1")


@pytest.fixture
def shadow(monkeypatch: pytest.MonkeyPatch) -> AShadow:
    """One that has decided to evict a pod."""
    made = AShadow(FakeTime().install(monkeypatch), RUNNING, queues=[DRAINED])
    made.decide()
    assert list(made.cache.evictions.under_way) == ["a"]
    return made


def test_a_pod_that_terminates_was_evicted(shadow: AShadow) -> None:
    shadow.put(replace(RUNNING, is_terminating=True))
    shadow.pods.drop_pod("a")
    assert shadow.results == {AGREED: 1}


def test_a_pod_that_is_gone_at_once_was_evicted(shadow: AShadow) -> None:
    shadow.pods.drop_pod("a")
    assert shadow.results == {AGREED: 1}


def test_a_pod_that_ended_is_not_compared(shadow: AShadow) -> None:
    shadow.put(replace(RUNNING, is_finished=True))
    shadow.pods.drop_pod("a")
    shadow.after(PATIENCE_SECONDS)
    assert shadow.results == {}


def test_a_pod_that_stays_is_told_and_left_alone(shadow: AShadow) -> None:
    shadow.after(PATIENCE_SECONDS - 1)
    assert shadow.results == {}
    shadow.after(1)
    assert (shadow.results, list(shadow.cache.evictions.under_way)) == ({NOT_EVICTED: 1}, [])
    assert shadow.logged[0]["pod"] == "default/a"
    assert shadow.logged[0]["ours"].startswith("Drained: ")
    shadow.decide()
    shadow.after(PATIENCE_SECONDS)
    assert shadow.results == {NOT_EVICTED: 1}
    shadow.after(AGAIN_SECONDS)
    shadow.decide()
    assert list(shadow.cache.evictions.under_way) == ["a"]
    shadow.decide()
    shadow.after(PATIENCE_SECONDS)
    assert shadow.results == {NOT_EVICTED: 2}
