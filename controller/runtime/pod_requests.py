"""Where a pod is in the API, how it is patched within a time limit, and how it is read as it is now."""

from __future__ import annotations

from controller.core.gate.release_patch import Operations
from controller.core.workloads.pods import Pod
from controller.kube.client import JSON_PATCH, Client
from controller.kube.decode import PodDecoder
from controller.kube.errors import NotFound

ANSWER_SECONDS = 6.0
"""For so long an answer is waited for: a little longer than the apiserver works on a patch."""
_SERVER_SECONDS = 5
"""The apiserver gives a patch up after this long (`?timeout=`), once it has received it."""


def pod_path(pod: Pod) -> str:
    """Return the pod's path in the API."""
    return f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"


async def patch_pod(client: Client, pod: Pod, operations: Operations) -> bytes:
    """Send a JSON Patch of the pod; return the pod as it is after that. Raises KubeError."""
    return await client.patch(
        pod_path(pod),
        operations,
        content_type=JSON_PATCH,
        params={"timeout": f"{_SERVER_SECONDS}s", "fieldManager": "penstock"},
        seconds=ANSWER_SECONDS,
    )


async def read_pod(client: Client, decode: PodDecoder, pod: Pod) -> Pod | None:
    """Return what has the pod's name now, as most of etcd's members know it; None where nothing has.

    Raises KubeError where that cannot be read.
    """
    try:
        return decode(await client.get(pod_path(pod), seconds=ANSWER_SECONDS))
    except NotFound:
        return None
