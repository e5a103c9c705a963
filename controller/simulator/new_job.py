"""A Job that people think of, from its manifest: the Job, and the pods that it creates first, as they wait at the gate.

No apiserver and no webhook has seen it: defaults are Kubernetes' own, and policies of Penstock are not applied.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

import orjson

from controller.core.keys import DEFAULT_QUEUE, GATE, QUEUE_NAME
from controller.core.kubernetes.owners import Job
from controller.core.reasons import Reason, first_few
from controller.core.workloads.pods import Pod
from controller.kube.clock import rfc3339
from controller.kube.decode import PodDecoder
from controller.kube.decode_owners import decode_job
from controller.kube.errors import UnreadableObject
from controller.simulator.changes import ChangeError
from controller.simulator.job_manifests import ManifestFault, check_job
from controller.simulator.world import World

MOST: Final = 100_000
"""Pods that a simulation begins with beside those that are there."""


def new_job(
    document: Mapping[str, Any], world: World, others: Iterable[Job] = (), *, most: int = MOST
) -> tuple[Job, list[Pod]]:
    """Return a Job of batch/v1 and its first pods, created at the world's time, beside `others` that are new too.

    Raises ChangeError, also where there would be more than so many pods at first.
    """
    if document.get("kind") != "Job" or document.get("apiVersion") != "batch/v1":
        raise ChangeError(f"is a {document.get('kind') or 'document without a kind'}; write a Job of batch/v1")
    try:
        check_job(document)
    except ManifestFault as error:
        raise ChangeError(str(error)) from None
    template = document["spec"]["template"]
    name, namespace = document["metadata"]["name"], document["metadata"].get("namespace") or "default"
    metadata = {**document["metadata"], "namespace": namespace}
    labels = dict((template.get("metadata") or {}).get("labels") or {})
    queue = _queue(world, namespace, labels)
    created = {"creationTimestamp": rfc3339(world.now), "uid": f"new/{namespace}/{name}", "name": name}
    try:
        job = decode_job(orjson.dumps({**document, "metadata": {**metadata, **created}, "status": {}}))
        if job.key in {one.key for one in (*world.jobs.values(), *others)}:
            raise ChangeError(f"Job {job.key} is there already: give it another name")
        if not 0 <= job.most <= most:
            told = f"from 0 to {most} can be added: change its parallelism"
            raise ChangeError(f"Job {job.key} creates {job.most} pods at first; {told}")
        pod = PodDecoder(resources=world.resources)(
            orjson.dumps(_pod(job, template, {**labels, QUEUE_NAME: queue}, world.now))
        )
    except (TypeError, UnreadableObject) as error:
        raise ChangeError(f"is no Job that can be read: {error}") from None
    if pod.hold is not None and pod.hold.reason is Reason.INVALID_REQUESTS:
        raise ChangeError(f"spec.template.spec: {pod.hold.text}")
    is_indexed = document["spec"].get("completionMode") == "Indexed"
    return job, [
        replace(pod, uid=f"{job.uid}/{at}", name=f"{name}-{at}", completion_index=at if is_indexed else 0)
        for at in range(job.most)
    ]


def _queue(world: World, namespace: str, labels: Mapping[str, str]) -> str:
    """Return the LocalQueue of a new Job: in none that there is its pods would wait to the end, and tell nothing."""
    default = world.namespaces.get(namespace, {}).get(DEFAULT_QUEUE)
    queue = labels.get(QUEUE_NAME) or default
    if not queue:
        raise ChangeError(f"names no queue: write the label {QUEUE_NAME} in spec.template.metadata.labels")
    if (namespace, queue) in world.local_queues:
        return queue
    where = f"spec.template.metadata.labels[{QUEUE_NAME}]" if labels.get(QUEUE_NAME) else "the default queue"
    # of its namespace alone: of others who asks may know nothing
    there = sorted(name for space, name in world.local_queues if space == namespace)
    similar = difflib.get_close_matches(queue, there, n=1)
    hint = f"did you mean {similar[0]}?" if similar else f"the namespace has {first_few(there) or 'none'}"
    raise ChangeError(f"{where}: there is no LocalQueue {queue} in namespace {namespace}; {hint}")


def _pod(job: Job, template: Mapping[str, Any], labels: Mapping[str, str], now: float) -> dict[str, Any]:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": job.name, "uid": job.uid, "controller": True}
    metadata = {
        **(template.get("metadata") or {}),
        "labels": labels,
        "namespace": job.namespace,
        "name": job.name,
        "uid": job.uid,
        "generation": 1,
        "creationTimestamp": rfc3339(now),
        "ownerReferences": [owner],
    }
    gates = [*((template.get("spec") or {}).get("schedulingGates") or []), {"name": GATE}]
    return {"metadata": metadata, "spec": {**_defaulted(template["spec"]), "schedulingGates": gates}, "status": {}}


def _defaulted(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Let containers ask for what they are limited to where they do not say, as the apiserver does."""
    kinds = {kind: [_asking(one) for one in spec.get(kind) or []] for kind in ("initContainers", "containers")}
    return {**spec, **{kind: those for kind, those in kinds.items() if those}}


def _asking(container: Mapping[str, Any]) -> dict[str, Any]:
    resources = container.get("resources") or {}
    requests = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return {**container, "resources": {**resources, "requests": requests}}
