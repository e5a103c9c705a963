from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from controller.cache.cluster import ClusterCache
from controller.core.keys import EVICTION
from controller.core.workloads.decisions import Evict, EvictionCause
from controller.core.workloads.pods import Pod
from controller.kube.decode import PodDecoder
from controller.kube.decode_answers import AnswerDecoder
from controller.kube.errors import (
    Conflict,
    Forbidden,
    KubeError,
    NotFound,
    ServerError,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)
from controller.runtime.eviction_lane import EvictionLane
from controller.telemetry import events
from controller.telemetry.metrics import ControllerMetrics
from tests.support.builders import a_cache, a_released_pod
from tests.support.fake_client import FakeClient
from tests.support.fake_time import FakeTime, turns
from tests.support.releasing import leading

BUDGET = TooManyRequests(429, "TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget.")
TWO_BUDGETS = ServerError(500, "", "This pod has more than one PodDisruptionBudget.")
BUSY = TooManyRequests(429, "", "Too many requests, please try again later.", retry_after_seconds=1.0)
WHY = "ClusterQueue team-a has stopPolicy HoldAndDrain; its ReplicaSet makes another"


class Rig:
    """A cache with one running pod, and a lane over a fake client."""

    def __init__(self, client: FakeClient, *pods: Pod) -> None:
        self.client = client
        self.cache: ClusterCache = a_cache(*(pods or (a_released_pod("a", node="node-1"),)))
        self.metrics = ControllerMetrics()
        self.announced: list[Evict] = []
        self.woken = 0
        self.on_wake: Callable[[], object] = lambda: None
        self.lane = EvictionLane(
            client.as_client,
            self.cache,
            self.metrics,
            decode=AnswerDecoder(PodDecoder()),
            held=leading,
            on_evicted=self.announced.append,
            wake=self._wake,
        )

    def _wake(self) -> None:
        self.woken += 1
        self.on_wake()

    def evict(self) -> Evict:
        return Evict(self.cache.pods["a"], EvictionCause.DRAINED, WHY)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self.lane.run(), name="evictions")
            await turns(40)
            task.cancel()

    def now_and_later(self, monkeypatch: pytest.MonkeyPatch) -> list[float]:
        """Let what is to happen after a pause happen at once; return the pauses."""
        pauses: list[float] = []

        def at_once(pause: float, call: Callable[[list[str]], None], uids: list[str]) -> None:
            pauses.append(pause)
            call(uids)

        monkeypatch.setattr(asyncio.get_running_loop(), "call_later", at_once)
        return pauses

    def counted(self) -> dict[str, float]:
        found = (sample for metric in self.metrics.evictions.collect() for sample in metric.samples)
        return {s.labels["result"]: s.value for s in found if s.name.endswith("_total")}


async def test_the_pod_says_who_and_why_before_the_eviction_is_sent(time: FakeTime) -> None:
    rig = Rig(FakeClient().will("PATCH", b"{}").will("POST", b"{}"))
    evict = rig.evict()
    rig.lane.submit([evict])
    rig.lane.submit([evict])
    await rig.run()
    told, sent = rig.client.calls
    assert (told.method, told.path) == ("PATCH", "/api/v1/namespaces/default/pods/a/status")
    assert told.body["metadata"] == {"uid": "a"}
    (condition,) = told.body["status"]["conditions"]
    assert {name: condition[name] for name in ("type", "status", "reason", "message")} == {
        "type": EVICTION,
        "status": "True",
        "reason": "Drained",
        "message": WHY,
    }
    assert (sent.method, sent.path) == ("POST", "/api/v1/namespaces/default/pods/a/eviction")
    assert sent.body["deleteOptions"] == {"preconditions": {"uid": "a"}}
    assert (rig.announced, rig.counted()) == ([evict], {"evicted": 1})
    # until it is seen to go it is not decided on again
    assert set(rig.cache.evictions.seen(0.0).evicting) == {"a"}
    rig.cache.put_pod(a_released_pod("a", node="node-1", is_terminating=True, resource_version="3"))
    assert set(rig.cache.evictions.seen(0.0).evicting) == set()


async def test_an_eviction_is_counted_for_whom_it_benefits(time: FakeTime) -> None:
    rig = Rig(FakeClient().will("PATCH", b"{}").will("POST", b"{}"))
    rig.lane.submit([Evict(rig.cache.pods["a"], EvictionCause.PREEMPTED, WHY, beneficiary="team-b")])
    await rig.run()
    labels = {"cluster_queue": "team-a", "cause": "Preempted", "result": "evicted", "beneficiary": "team-b"}
    assert rig.metrics.registry.get_sample_value("penstock_evictions_total", labels) == 1


@pytest.mark.parametrize("answer", [NotFound(404, "NotFound", ""), Conflict(409, "Conflict", "uid")])
async def test_a_pod_that_is_gone_or_another_is_left_alone(time: FakeTime, answer: KubeError) -> None:
    rig = Rig(FakeClient().will("PATCH", answer))
    rig.lane.submit([rig.evict()])
    await rig.run()
    assert (rig.counted(), set(rig.cache.evictions.seen(0.0).evicting), rig.announced) == ({"gone": 1}, set(), [])


@pytest.mark.parametrize("answer", [BUDGET, Forbidden(403, "Forbidden", "no"), TWO_BUDGETS])
async def test_a_refused_eviction_waits_and_the_pod_says_so(
    time: FakeTime, answer: KubeError, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = Rig(FakeClient().will("PATCH", *[b"{}"] * 4).will("POST", answer, answer))
    pauses = rig.now_and_later(monkeypatch)
    rig.lane.submit([rig.evict()])
    await rig.run()
    (condition,) = rig.client.made("PATCH")[1].body["status"]["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", "EvictionRefused")
    assert condition["message"].startswith(f"{WHY}; refused for now: ")
    assert (rig.woken, rig.counted()) == (2, {"refused": 1}), "when it was refused, and when it may be tried again"
    assert set(rig.cache.evictions.seen(0.0).evicting) == set()
    rig.lane.submit([rig.evict()])
    await rig.run()
    assert pauses == [5.0, 10.0]


UNANSWERED = [
    Unreachable("reset"),
    Unauthorized(401, "Unauthorized", ""),
    BUSY,
    *(ServerError(status, "", "away") for status in (502, 503, 504)),
    *(
        ServerError(500, "InternalError", text)
        for text in ("etcdserver: leader changed", "rpc error: code = Unavailable desc = x")
    ),
]


@pytest.mark.parametrize("answer", UNANSWERED, ids=str)
async def test_nobody_goes_in_place_of_an_unanswered_pod(time: FakeTime, answer: KubeError) -> None:
    rig = Rig(FakeClient().will("PATCH", *[b"{}"] * 2).will("POST", answer))
    rig.lane.submit([rig.evict()])
    await rig.run()
    seen = rig.cache.evictions.seen(0.0)
    assert (set(seen.evicting), set(seen.refused), set(seen.lately_refused)) == ({"a"}, set(), set())
    assert (seen.evictions_left, rig.woken, rig.counted()) == (99, 0, {"unanswered": 1})
    (condition,) = rig.client.made("PATCH")[1].body["status"]["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", "EvictionUnanswered"), "it may be wanted no more"
    assert condition["message"].startswith(f"{WHY}; no answer yet: ")


async def test_an_unanswered_eviction_is_redecided_then_refused(
    time: FakeTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = Rig(FakeClient().will("PATCH", *[b"{}"] * 16).will("POST", *[BUSY] * 8))
    pauses = rig.now_and_later(monkeypatch)
    for number in range(7):
        assert (set(rig.cache.evictions.seen(0.0).evicting), rig.woken) == (set(), number)
        rig.lane.submit([rig.evict()])
        await rig.run()
    assert pauses == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 5.0]
    assert rig.counted() == {"unanswered": 6, "refused": 1}
    assert rig.client.made("PATCH")[-1].body["status"]["conditions"][0]["reason"] == "EvictionRefused"
    rig.lane.submit([rig.evict()])
    await rig.run()
    assert (pauses[-1], rig.counted()) == (1.0, {"unanswered": 7, "refused": 1}), "it is counted anew"


async def test_a_pod_seen_to_go_after_all_is_not_waited_for(time: FakeTime) -> None:
    rig = Rig(FakeClient().will("PATCH", *[b"{}"] * 2).will("POST", Unreachable("reset")))
    rig.lane.submit([rig.evict()])
    await rig.run()
    rig.cache.put_pod(a_released_pod("a", node="node-1", is_terminating=True, resource_version="3"))
    seen = rig.cache.evictions.seen(0.0)
    assert (set(seen.evicting), set(seen.terminating), seen.evictions_left) == (set(), {"a"}, 100)


async def test_a_refused_eviction_is_not_decided_on_in_its_pause(time: FakeTime) -> None:
    rig = Rig(FakeClient().will("PATCH", b"{}", Unreachable("reset")).will("POST", BUDGET))
    rig.lane.submit([rig.evict()])
    await rig.run()
    assert (set(rig.cache.evictions.seen(0.0).evicting), rig.cache.evictions.seen(0.0).evictions_left, rig.woken) == (
        {"a"},
        100,
        1,
    )


async def test_a_pod_that_went_by_itself_is_not_asked_about(time: FakeTime) -> None:
    rig = Rig(FakeClient())
    rig.lane.submit([rig.evict()])
    rig.cache.drop_pod("a")
    await rig.run()
    assert rig.client.calls == []


def test_an_eviction_has_an_event_of_its_own() -> None:
    evict = Evict(a_released_pod("a"), EvictionCause.DRAINED, WHY)
    event = events.evicted(evict, instance="me", now=0.0)
    assert (event["metadata"]["name"], event["type"], event["reason"]) == ("a.a.evicted", "Normal", "Evicted")
    assert event["message"] == f"Drained: {WHY}"
