"""Releases in tests: an executor over a client that answers as it was told, and a cache in which a pod was admitted."""

from __future__ import annotations

import asyncio
from typing import Any

from controller.cache.cluster import ClusterCache
from controller.cache.sinks import JobSink
from controller.core.workloads.decisions import Admit
from controller.kube.decode import PodDecoder
from controller.kube.decode_answers import AnswerDecoder
from controller.kube.errors import KubeError
from controller.runtime.executor import Executor, Released
from controller.telemetry.metrics import ControllerMetrics
from tests.support import train_documents
from tests.support.builders import a_cache, decided
from tests.support.fake_client import FakeClient
from tests.support.fake_time import turns
from tests.support.job_documents import state_of
from tests.support.pod_documents import a_pod_document, a_released_document, decoded

GATED = a_pod_document("a")
RELEASED = a_released_document(GATED)


async def leading() -> None:
    """Wait until we lead, which we do."""


class Rig:
    """A cache in which pod or Job a, or a Train, was just admitted, and an executor over a fake client."""

    def __init__(self, client: FakeClient, document: dict[str, Any] = GATED, **world: Any) -> None:
        self.client = client
        kind = document["kind"]
        self.cache: ClusterCache = a_cache(*([decoded(document)] if kind == "Pod" else []), **world)
        if kind == "Job":
            JobSink(self.cache).upsert(state_of(document))
        elif kind == "Train":
            train_documents.take_in(self.cache, document)
        self.released: list[Released] = []
        self.woken = 0
        self.metrics = ControllerMetrics()
        self.executor = Executor(
            client.as_client,
            self.cache,
            self.metrics,
            decode=AnswerDecoder(PodDecoder(), self.cache.workload_kinds.known, self.cache.update_pod),
            identity="leader",
            held=leading,
            on_released=self.released.append,
            on_room=self._wake,
            workers=2,
        )
        self.admits: tuple[Admit, ...] = decided(self.cache).admits

    def _wake(self) -> None:
        self.woken += 1

    async def carry_out(self, *admits: Admit) -> Rig:
        for admit in admits or self.admits:
            self.executor.submit(admit)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self.executor.run(), name="executor")
            await turns()
            await self.executor.drain()
            task.cancel()
        return self

    @property
    def results(self) -> dict[str, int]:
        samples = [s for metric in self.metrics.patches.collect() for s in metric.samples]
        return {s.labels["result"]: int(s.value) for s in samples if s.name.endswith("_total") and s.value}

    @property
    def charged(self) -> int:
        return self.cache.usage.by_queue.get(("team-a", "spot", "cpu"), 0)

    @property
    def state(self) -> str:
        if self.cache.assumed("a") is not None:
            return "assumed"
        workload = self.cache.backlog.get("a")
        if workload is not None:
            return "waiting" if workload.kind.hold is None else workload.kind.hold.reason.value
        return "released" if "a" in self.cache.pods else "gone"


def patch_answered(*outcomes: bytes | KubeError) -> FakeClient:
    return FakeClient().will("PATCH", *outcomes)
