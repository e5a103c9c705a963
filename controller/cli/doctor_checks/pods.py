"""Pods that are stuck at the gate, and pods that went around it; one finding for all of a kind in a namespace."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Final

from msgspec import Struct, field
from msgspec.json import Decoder

from controller.cli.doctor_checks.cluster import OURS, Cluster
from controller.cli.doctor_checks.findings import Check, Finding, Need, Severity
from controller.cli.doctor_checks.leader import no_leader
from controller.core.keys import CLUSTER_QUEUE, CONDITION, GATE, GROUP, QUEUE_NAME
from controller.core.reasons import Reason, first_few
from controller.kube import clock, wire
from controller.kube.clock import epoch
from controller.kube.listing import pages

_PATIENCE: Final = 300.0
"""Seconds after which a pod at the gate has a condition, however long the line is."""

_NAMED: Final = 3


class _Spec(Struct, rename="camel"):
    scheduling_gates: list[wire.Gate] | None = None


class _Condition(Struct):
    type: str = ""
    reason: str = ""


class _Status(Struct):
    phase: str = ""
    conditions: list[_Condition] | None = None


class _Pod(Struct):
    metadata: wire.PodMeta
    spec: _Spec = field(default_factory=_Spec)
    status: _Status = field(default_factory=_Status)


_pod: Final = Decoder(_Pod)
_DONE: Final = ("Succeeded", "Failed")

_Kind = tuple[Severity, str, str]
"""(severity, what such pods do, remedy)."""
_NO_QUEUE: Final[_Kind] = (
    Severity.ERROR,
    f"carry the gate {GATE} and name no queue: nothing will ever release them",
    "delete them and create them with a queue, or open their gate as docs/uninstall.md says",
)
_UNKNOWN_QUEUE: Final[_Kind] = (
    Severity.WARNING,
    "wait for a LocalQueue that does not exist (QueueNotFound)",
    "create the LocalQueue, or create the pods again with the right label",
)
_REJECTED: Final[_Kind] = (
    Severity.ERROR,
    "were to be released, and the apiserver or its admission refused that (PatchRejected)",
    "correct what the condition penstock.dev/Admissible of the pods names",
)
_NOT_LOOKED_AT: Final[_Kind] = (
    Severity.ERROR,
    f"wait for more than {_PATIENCE:g} s without a condition: no controller has processed them",
    "look at the log and the metrics of the controller that leads",
)
_NOBODY_RELEASES: Final[_Kind] = (
    Severity.ERROR,
    "wait at the gate, and no controller leads that would release them",
    "start the controller; to go on without Penstock see docs/uninstall.md",
)
_WENT_AROUND: Final[_Kind] = (
    Severity.WARNING,
    "name a queue, and were not admitted by it: they run without being charged to its quota",
    "look at what keeps the gate; create them again once that works",
)


async def _run(cluster: Cluster) -> AsyncIterator[Finding]:
    queues = {
        (one["metadata"]["namespace"], one["metadata"]["name"]) async for one in cluster.items(f"{OURS}/localqueues")
    }
    is_led = await no_leader(cluster) is None
    found: dict[tuple[str, _Kind], list[str]] = {}
    now = clock.now()
    async for page in pages(cluster.client, "/api/v1/pods"):
        for raw in page.items or ():
            pod = _pod.decode(raw)
            for kind in _kinds(pod, queues, now, is_led=is_led):
                found.setdefault((pod.metadata.namespace, kind), []).append(pod.metadata.name)
    for (namespace, (severity, what, remedy)), names in sorted(found.items()):
        where = f"pods in namespace {namespace} ({first_few(names, _NAMED)})"
        yield Finding(severity, where, what, remedy)


def _kinds(pod: _Pod, queues: set[tuple[str, str]], now: float, *, is_led: bool) -> Iterator[_Kind]:
    labels = pod.metadata.labels or {}
    queue = labels.get(QUEUE_NAME)
    if pod.status.phase in _DONE or pod.metadata.deletion_timestamp:
        return
    if all(gate.name != GATE for gate in pod.spec.scheduling_gates or ()):
        if queue is not None and CLUSTER_QUEUE not in labels and not _is_of_daemon_set(pod):
            yield _WENT_AROUND
        return
    if queue is None:
        yield _NO_QUEUE
        return
    if not is_led:
        yield _NOBODY_RELEASES
        return
    reason = next((one.reason for one in pod.status.conditions or () if one.type == CONDITION), None)
    if (pod.metadata.namespace, queue) not in queues:
        yield _UNKNOWN_QUEUE
    elif reason == Reason.PATCH_REJECTED:
        yield _REJECTED
    elif reason is None and now - epoch(pod.metadata.creation_timestamp) > _PATIENCE:
        yield _NOT_LOOKED_AT


def _is_of_daemon_set(pod: _Pod) -> bool:
    return any(one.controller and one.kind == "DaemonSet" for one in pod.metadata.owner_references or ())


def _needs(cluster: Cluster) -> tuple[Need, ...]:
    lease = Need("get", "leases", "coordination.k8s.io", cluster.home)
    return Need("list", "pods"), Need("list", "localqueues", GROUP), lease


PODS = Check("pods", _run, _needs)
