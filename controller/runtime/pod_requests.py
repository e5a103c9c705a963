"""Where a pod, or what is held as a whole, is in the API; how it is patched within a time limit, and read."""

from __future__ import annotations

from typing import Any

import orjson

from controller.core.gate.json_patch import Operations
from controller.core.workloads.held_sets import place_of
from controller.core.workloads.pods import Pod
from controller.kube.client import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Client
from controller.kube.decode_answers import AnswerDecoder
from controller.kube.errors import NotFound

ANSWER_SECONDS = 6.0
"""For so long an answer is waited for: a little longer than the apiserver works on a patch."""
_SERVER_SECONDS = 5
"""The apiserver gives a patch up after this long (`?timeout=`), once it has received it."""
_AS_US = {"fieldManager": "penstock"}


def pod_path(pod: Pod) -> str:
    """Return its path in the API."""
    if pod.is_job:
        return place_of(pod).path
    return f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"


async def patch_pod(client: Client, pod: Pod, operations: Operations) -> bytes:
    """Send a JSON Patch; return the bytes of what it is after that. Raises KubeError."""
    return await client.patch(
        pod_path(pod),
        operations,
        content_type=JSON_PATCH,
        params={"timeout": f"{_SERVER_SECONDS}s", **_AS_US},
        seconds=ANSWER_SECONDS,
    )


async def write_condition(client: Client, pod: Pod, condition: dict[str, Any]) -> bytes:
    """Write a condition of ours; return the bytes of what it is on after that. Raises KubeError.

    An object of a WorkloadKind has it as an annotation: its status is its controller's, whose schema may refuse it.
    """
    if pod.held_set is not None:
        said = {key: condition[key] for key in condition if key != "type"}
        note = {condition["type"]: orjson.dumps(said, option=orjson.OPT_SORT_KEYS).decode()}
        body: dict[str, Any] = {"metadata": {"uid": place_of(pod).uid, "annotations": note}}
        return await client.patch(pod_path(pod), body, content_type=MERGE_PATCH, params=_AS_US)
    # strategic: a merge patch would wipe the scheduler's conditions; the uid guards against a namesake
    body = {"metadata": {"uid": pod.uid}, "status": {"conditions": [condition]}}
    return await client.patch(f"{pod_path(pod)}/status", body, content_type=STRATEGIC_PATCH, params=_AS_US)


async def read_pod(client: Client, decode: AnswerDecoder, pod: Pod) -> Pod | None:
    """Return what has the name now, as most of etcd's members know it; None where nothing has.

    Raises KubeError where that cannot be read.
    """
    try:
        return decode(await client.get(pod_path(pod), seconds=ANSWER_SECONDS), pod)
    except NotFound:
        return None
