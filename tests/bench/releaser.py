"""`python -m tests.bench.releaser KUBECONFIG NAMESPACE`: releases each pod at the gate of benchmarks when it sees it.

It decides nothing and knows no quota: what it reaches is the most that this machine and its apiserver allow a program
in this language that releases pods by one patch each.
"""

from __future__ import annotations

import asyncio
import sys

import uvloop

from controller.kube import config
from controller.kube.client import JSON_PATCH, Client
from controller.kube.errors import ApiError
from tests.bench.pod_events import Pod, pod_events, version_now

GATE = "bench.penstock.dev/gate"
READY = "ready"
_AT_ONCE = 32


def _patch(pod: Pod) -> list[dict[str, object]]:
    expression = {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}
    terms = [{"matchExpressions": [expression]}]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    return [
        {"op": "test", "path": "/metadata/uid", "value": pod.metadata.uid},
        {"op": "test", "path": "/spec/schedulingGates/0/name", "value": GATE},
        {"op": "add", "path": "/spec/affinity", "value": affinity},
        {"op": "remove", "path": "/spec/schedulingGates/0"},
    ]


async def release(kubeconfig: str, path: str) -> None:
    """Release what comes, until this process is ended."""
    seen, free = set[str](), asyncio.Semaphore(_AT_ONCE)
    async with (
        Client(await config.load(kubeconfig), user_agent="bench-releaser") as client,
        asyncio.TaskGroup() as group,
    ):

        async def send(pod: Pod) -> None:
            async with free:
                try:
                    await client.patch(f"{path}/{pod.metadata.name}", _patch(pod), content_type=JSON_PATCH)
                except ApiError:
                    return  # it is gone

        version = await version_now(client, path)
        sys.stdout.write(f"{READY}\n")
        sys.stdout.flush()
        async for events in pod_events(client, path, version):
            for pod in (event.object for event in events):
                if pod.spec.gates and pod.metadata.uid not in seen:
                    seen.add(pod.metadata.uid)
                    group.create_task(send(pod), name=pod.metadata.name)


if __name__ == "__main__":
    uvloop.run(release(sys.argv[1], f"/api/v1/namespaces/{sys.argv[2]}/pods"))
