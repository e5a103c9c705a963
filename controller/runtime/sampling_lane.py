"""What running pods of queues use, asked of metrics-server each minute for the history; where there is one."""

from __future__ import annotations

import asyncio
from typing import Final

from controller.cache.cluster import ClusterCache
from controller.core.workloads.pods import Pod
from controller.history.recorder import Recorder
from controller.kube.client import Client
from controller.kube.decode_pod_metrics import decode_pod_metrics
from controller.kube.errors import Forbidden, KubeError, NotFound, UnreadableObject, one_line
from controller.kube.listing import pages
from controller.telemetry import logs

_log = logs.get("history")

PATH: Final = "/apis/metrics.k8s.io/v1beta1/pods"
_SECONDS: Final = 60.0
_SELDOM: Final = 600.0
"""Where there is no metrics-server, or no right to ask it."""
_AT_ONCE: Final = 200


class SamplingLane:
    """Asks for as long as it runs, and gives what it hears to the recorder."""

    def __init__(self, client: Client, cache: ClusterCache, recorder: Recorder, *, seconds: float = _SECONDS) -> None:
        self._client = client
        self._cache = cache
        self._recorder = recorder
        self._seconds = seconds
        self._said = ""
        self._at: dict[str, float] = {}
        """Of when the last sample of each pod is: metrics-server says the same until it has measured again."""

    async def run(self) -> None:
        """Ask until cancelled."""
        while True:
            pause = await self._round()
            await asyncio.sleep(pause)

    async def _round(self) -> float:
        """Take a sample of each pod; return after how many seconds to ask again."""
        try:
            await self._sample()
        except KubeError as error:
            why = one_line(error)
            if why != self._said:
                _log.info("usage_not_sampled", why=why)
            self._said = why
            return _SELDOM if isinstance(error, (Forbidden, NotFound)) else self._seconds
        self._said = ""
        return self._seconds

    async def _sample(self) -> None:
        running = await self._running()
        before, self._at = self._at, {}
        async for page in pages(self._client, PATH):
            for number, raw in enumerate(page.items or ()):
                if number % _AT_ONCE == 0:
                    await asyncio.sleep(0)
                try:
                    usage = decode_pod_metrics(raw)
                except UnreadableObject as error:
                    _log.warning("usage_unreadable", why=str(error))
                    continue
                pod = running.get((usage.namespace, usage.name))
                # of a pod of the same name that is gone it may still say something
                if pod is None or usage.at < pod.started:
                    continue
                self._at[pod.uid] = usage.at
                if before.get(pod.uid) != usage.at:
                    self._recorder.sampled(pod.uid, usage.amounts)

    async def _running(self) -> dict[tuple[str, str], Pod]:
        found = {}
        for number, pod in enumerate(list(self._cache.pods.values())):
            if number % _AT_ONCE == 0:
                await asyncio.sleep(0)
            if pod.queue is not None and pod.started and not pod.is_finished:
                found[pod.namespace, pod.name] = pod
        return found
