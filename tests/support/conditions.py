"""The lane that writes conditions, stepped by hand, and an apiserver that shows them on the pods it answers with."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from controller.cache.cluster import ClusterCache
from controller.core.workloads.pods import Pod
from controller.kube.decode import PodDecoder
from controller.kube.decode_answers import AnswerDecoder
from controller.runtime.side_writes import ConditionLane
from controller.telemetry.metrics import ControllerMetrics
from tests.support.builders import a_pod
from tests.support.fake_client import Call, FakeClient
from tests.support.fake_time import FakeTime, turns
from tests.support.pod_documents import a_pod_document, raw


def answer_to(call: Call, version: int) -> bytes:
    """The pod of the call, with the condition that was written."""
    status = call.body["status"]
    name = call.path.split("/")[-2]
    metadata = {"resourceVersion": str(version + 50), "creationTimestamp": "2026-03-01T07:00:00Z"}
    gates = a_pod().gates if status["conditions"][0]["status"] == "False" else ()
    return raw(a_pod_document(name, status=status, metadata=metadata, gates=gates, cpu="9"))


def answering() -> FakeClient:
    """Every condition that is written is on the pod that the answer shows."""
    client = FakeClient()
    return client.will("PATCH", *[lambda: answer_to(client.calls[-1], len(client.calls))] * 100)


async def write(cache: ClusterCache, client: FakeClient, *, rounds: int = 5) -> list[Call]:
    """Run the lane for some rounds of its pause; what it wrote."""
    await writing(a_lane(cache, client), rounds)
    return client.made("PATCH")


async def writing(lane: ConditionLane, rounds: int) -> None:
    """Run the lane for some rounds of its pause."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(lane.run(), name="conditions")
        await turns(rounds)
        task.cancel()


def a_lane(
    cache: ClusterCache,
    client: FakeClient,
    *,
    releases_wait: Callable[[], bool] = lambda: False,
    on_wait: Callable[[Pod, str, str], None] = lambda pod, reason, message: None,
) -> ConditionLane:
    return ConditionLane(
        client.as_client,
        cache,
        ControllerMetrics(),
        decode=AnswerDecoder(PodDecoder()),
        releases_wait=releases_wait,
        on_wait=on_wait,
    )


def names(calls: list[Call]) -> list[str]:
    return [call.path.split("/")[-2] for call in calls]


class SlowClient(FakeClient):
    """Each answer takes so long by the test's clock; `most` is how many were asked for at a time."""

    def __init__(self, time: FakeTime, seconds: float) -> None:
        super().__init__()
        self._time = time
        self._seconds = seconds
        self._asked = 0
        self.most = 0

    async def patch(self, path: str, body: object, **options: Any) -> bytes:
        self._asked += 1
        self.most = max(self.most, self._asked)
        await turns(3)
        self._time.now += self._seconds
        self._asked -= 1
        self.calls.append(Call("PATCH", path, body))
        return answer_to(self.calls[-1], len(self.calls))
