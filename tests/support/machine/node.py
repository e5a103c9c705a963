"""The kubelet of one node: starts what is bound to it, says how it is, ends what is deleted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson

from controller.kube import clock
from controller.kube.client import MERGE_PATCH, STRATEGIC_PATCH, Client
from controller.kube.errors import ApiError, NotFound
from controller.sandbox import Sandbox
from tests.support.machine.pod_process import PodProcess
from tests.support.machine.way_in import KUBELET

Json = dict[str, Any]
NODE = "machine"
SELECTOR = {"kubernetes.io/hostname": NODE}
TOLERATION = {"key": NODE, "operator": "Exists"}
"""What a pod needs besides to come here: other pods have no process."""
_ADDRESS = "10.201.0.1"
_POLL_SECONDS = 0.3
_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
_RENEW_SECONDS = 5
_REFRESH_SECONDS = 3  # a kubelet takes up to a minute
_SIZE = {"cpu": "8", "memory": "16Gi", "pods": "50"}


class Machine:
    """The node, as long as `running` lasts. `sources`: folders with the programs of older versions, by tag."""

    def __init__(self, sandbox: Sandbox, client: Client, folder: Path, sources: Mapping[str, Path]) -> None:
        self._sandbox = sandbox
        self._client = client
        self._folder = folder
        self._sources = sources
        self._pods: dict[str, PodProcess] = {}
        self._addresses: dict[str, str] = {}
        self._ending: dict[str, asyncio.Task[None]] = {}
        self._told: dict[str, str] = {}
        self._group: asyncio.TaskGroup

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Machine]:
        """Register the node and run its pods."""
        conditions = [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "it is"}]
        status = {
            "capacity": _SIZE,
            "allocatable": _SIZE,
            "conditions": conditions,
            "addresses": [{"type": "InternalIP", "address": _ADDRESS}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": KUBELET}},
        }
        taints = [{"key": NODE, "effect": "NoSchedule"}]
        node = {"metadata": {"name": NODE, "labels": SELECTOR}, "spec": {"taints": taints}, "status": status}
        try:
            await self._client.post("/api/v1/nodes", node)
        except ApiError as error:  # an earlier test of this sandbox had it
            if error.reason != "AlreadyExists":
                raise
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                tasks = [group.create_task(loop(), name=loop.__name__) for loop in (self._live, self._follow)]
                try:
                    yield self
                finally:
                    for task in (*tasks, *self._ending.values()):
                        task.cancel()
        finally:
            for one in self._pods.values():
                one.kill()

    def process(self, address: str) -> PodProcess | None:
        """Who has this address."""
        return next((self._pods[uid] for uid, one in self._addresses.items() if one == address), None)

    def named(self, prefix: str) -> list[PodProcess]:
        """Those whose pod's name begins so."""
        return [one for one in self._pods.values() if one.name.startswith(prefix)]

    async def _live(self) -> None:
        """Renew the Lease, without which the pods would be evicted."""
        while True:
            now = clock.rfc3339_micro(clock.now())
            spec = {"holderIdentity": NODE, "leaseDurationSeconds": 40, "renewTime": now}
            try:
                await self._client.patch(f"{_LEASES}/{NODE}", {"spec": spec}, content_type=MERGE_PATCH)
            except NotFound:
                await self._client.post(_LEASES, {"metadata": {"name": NODE}, "spec": spec})
            await asyncio.sleep(_RENEW_SECONDS)

    async def _follow(self) -> None:
        refreshed = clock.monotonic()
        while True:
            listed = await self._client.get("/api/v1/pods", {"fieldSelector": f"spec.nodeName={NODE}"})
            for pod in orjson.loads(listed)["items"]:
                await self._look_after(pod)
            if clock.monotonic() - refreshed > _REFRESH_SECONDS:
                refreshed = clock.monotonic()
                await self._refresh()
            await asyncio.sleep(_POLL_SECONDS)

    async def _refresh(self) -> None:
        for uid, one in self._pods.items():
            if uid not in self._ending and one.exit_code is None:
                try:
                    await one.refresh()
                except Exception:  # noqa: BLE001, S112 - a Secret may have gone: its files stay, as with a kubelet
                    continue

    async def _look_after(self, pod: Json) -> None:
        uid = pod["metadata"]["uid"]
        if pod["metadata"].get("deletionTimestamp"):
            if uid not in self._ending:
                self._ending[uid] = self._group.create_task(self._end(pod), name=f"end-{pod['metadata']['name']}")
        elif pod.get("status", {}).get("phase") in ("Succeeded", "Failed"):
            return
        elif uid not in self._pods:
            await self._begin(pod)
        else:
            await self._tell(pod, self._pods[uid])

    async def _begin(self, pod: Json) -> None:
        uid = pod["metadata"]["uid"]
        one = PodProcess(self._sandbox, self._client, pod, self._folder / uid, self._sources)
        if await one.start():
            self._pods[uid] = one
            number = len(self._addresses) + 1
            self._addresses[uid] = f"10.200.{number // 200}.{number % 200 + 1}"

    async def _tell(self, pod: Json, one: PodProcess) -> None:
        uid, is_once = pod["metadata"]["uid"], pod["spec"]["restartPolicy"] != "Always"
        phase = "Running"
        if one.exit_code is not None and is_once:
            phase = "Failed" if one.exit_code else "Succeeded"
        elif one.exit_code is not None:
            one.restarts += 1
            await one.start()
        ready = "True" if phase == "Running" and await one.is_ready() else "False"
        if self._told.get(uid) == (told := f"{phase} {ready}"):
            return
        address = self._addresses[uid]
        conditions = [{"type": kind, "status": ready} for kind in ("Ready", "ContainersReady")]
        status = {"phase": phase, "podIP": address, "podIPs": [{"ip": address}], "conditions": conditions}
        path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{one.name}/status"
        try:
            await self._client.patch(path, {"status": status}, content_type=STRATEGIC_PATCH)
        except NotFound:
            return
        self._told[uid] = told

    async def _end(self, pod: Json) -> None:
        uid, metadata = pod["metadata"]["uid"], pod["metadata"]
        if uid in self._pods:
            await self._pods[uid].end()
        try:
            path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
            await self._client.delete(path, {"gracePeriodSeconds": 0, "preconditions": {"uid": uid}})
        except ApiError:
            return  # it is gone
