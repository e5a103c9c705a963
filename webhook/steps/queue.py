"""Step: resolve the pod's queue, add the scheduling gate, and note whose pod it is.

The queue is the pod's label, else that of Kueue where the namespace has it accepted, else the namespace's default. A
queue that does not exist still gates the pod, with a warning: a misspelt queue must not run without quota. A misspelt
WorkloadPriorityClass, an unclear pod group and an unreadable runtime are warned of as well. Of a PriorityClass by which
kube-scheduler preempts the ClusterQueue says what becomes. Whom the step skips, and why that is no way around: docs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from controller.core.forecasts.runtimes import RuntimeFault, read_runtime
from controller.core.gate.protection import Actor, Guarded, gate_required
from controller.core.keys import DEFAULT_QUEUE, EXPECTED_RUNTIME, GATE, QUEUE_NAME
from controller.core.kubernetes.owners import Owner
from controller.core.kubernetes.pointers import escape
from controller.core.workloads.groups import GroupFault, membership
from webhook.pods.creators import actor, is_daemon_set_pod, is_mirror_pod, is_of_admitted_job
from webhook.reviews.admission import NOTHING, Answer, Request
from webhook.reviews.lookups import ReviewLookups
from webhook.reviews.patching import Operations, applied
from webhook.steps import scheduler_preemption
from webhook.steps.kueue_labels import taken_over
from webhook.steps.missing_names import missing_class, missing_queue
from webhook.steps.users import user_noted


def assign_queue(request: Request, world: ReviewLookups) -> Answer:
    """Add our gate, the queue label where the namespace's default applies, and the note of the user."""
    if is_mirror_pod(request) or is_daemon_set_pod(request) or is_of_admitted_job(request):
        return NOTHING
    theirs = taken_over(request, world)
    if theirs:
        request = replace(request, pod=applied(request.pod, theirs))
    labels: Mapping[str, str] = _metadata(request).get("labels") or {}
    named = labels.get(QUEUE_NAME)
    queue = named if named is not None else world.namespace_labels(request.namespace).get(DEFAULT_QUEUE)
    if queue is None:
        return NOTHING
    spec = request.pod.get("spec") or {}
    if spec.get("nodeName"):
        return _bound_already(queue, named, str(spec["nodeName"]), actor(request, world))
    preempting = scheduler_preemption.judge(request, world, queue)
    if preempting.denial is not None:
        return preempting
    operations = theirs
    if named is None:
        operations += _label(queue, request)
    gates = spec.get("schedulingGates")
    if not any(gate.get("name") == GATE for gate in gates or ()):
        operations += _gate(gates)
    operations += user_noted(request, world)
    warnings = _warnings(request, world, queue) + preempting.warnings
    return Answer(operations=operations, warnings=warnings, audit=(("queue", queue),))


def _bound_already(queue: str, named: str | None, node: str, who: Actor) -> Answer:
    if named is None:
        text = f"spec.nodeName {node!r} is set, so the pod passes by the namespace's default queue {queue!r}"
        return Answer(warnings=(text,), audit=(("passed-by", queue),))
    pod = Guarded(labels={QUEUE_NAME: queue}, node=node)
    return Answer(denial="; ".join(gate_required(pod, who)) or None)


def _label(queue: str, request: Request) -> Operations:
    if _metadata(request).get("labels") is not None:
        return ({"op": "add", "path": f"/metadata/labels/{escape(QUEUE_NAME)}", "value": queue},)
    return ({"op": "add", "path": "/metadata/labels", "value": {QUEUE_NAME: queue}},)


def _gate(gates: list[dict[str, Any]] | None) -> Operations:
    if gates is None:
        return ({"op": "add", "path": "/spec/schedulingGates", "value": [{"name": GATE}]},)
    return ({"op": "add", "path": "/spec/schedulingGates/-", "value": {"name": GATE}},)


def _warnings(request: Request, world: ReviewLookups, queue: str) -> tuple[str, ...]:
    missing = (
        *missing_queue(request.namespace, queue, world),
        *missing_class(_metadata(request).get("labels") or {}, world),
    )
    return missing + _group_warnings(request) + _runtime_warnings(request)


def _group_warnings(request: Request) -> tuple[str, ...]:
    metadata = _metadata(request)
    native = (request.pod.get("spec") or {}).get("schedulingGroup") or {}
    named = metadata.get("labels") or {}, metadata.get("annotations")
    try:
        membership(request.namespace, *named, _owner(metadata), native.get("podGroupName"))
    except GroupFault as fault:
        return (f"{fault} (the pod stays queued until then: GangInvalid)",)
    return ()


def _runtime_warnings(request: Request) -> tuple[str, ...]:
    written = (_metadata(request).get("annotations") or {}).get(EXPECTED_RUNTIME)
    try:
        read_runtime("1s" if written is None else written)
    except RuntimeFault as fault:
        return (str(fault),)
    return ()


def _owner(metadata: Mapping[str, Any]) -> Owner | None:
    for one in metadata.get("ownerReferences") or ():
        if one.get("controller"):
            return Owner(*(str(one.get(field) or "") for field in ("apiVersion", "kind", "name", "uid")))
    return None


def _metadata(request: Request) -> Mapping[str, Any]:
    return request.pod.get("metadata") or {}
