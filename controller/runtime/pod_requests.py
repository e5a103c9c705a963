"""Where a pod, or a Job that is held as a whole, is in the API; how it is patched within a time limit, and read."""

from __future__ import annotations

from controller.core.gate.json_patch import Operations
from controller.core.workloads.pods import Pod
from controller.kube.client import JSON_PATCH, Client
from controller.kube.decode_jobs import AnswerDecoder
from controller.kube.errors import NotFound

ANSWER_SECONDS = 6.0
"""For so long an answer is waited for: a little longer than the apiserver works on a patch."""
_SERVER_SECONDS = 5
"""The apiserver gives a patch up after this long (`?timeout=`), once it has received it."""


def pod_path(pod: Pod) -> str:
    """Return its path in the API."""
    if pod.is_job:
        return f"/apis/batch/v1/namespaces/{pod.namespace}/jobs/{pod.name}"
    return f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"


async def patch_pod(client: Client, pod: Pod, operations: Operations) -> bytes:
    """Send a JSON Patch; return the bytes of what it is after that. Raises KubeError."""
    return await client.patch(
        pod_path(pod),
        operations,
        content_type=JSON_PATCH,
        params={"timeout": f"{_SERVER_SECONDS}s", "fieldManager": "penstock"},
        seconds=ANSWER_SECONDS,
    )


async def read_pod(client: Client, decode: AnswerDecoder, pod: Pod) -> Pod | None:
    """Return what has the name now, as most of etcd's members know it; None where nothing has.

    Raises KubeError where that cannot be read.
    """
    try:
        return decode(await client.get(pod_path(pod), seconds=ANSWER_SECONDS), pod)
    except NotFound:
        return None
