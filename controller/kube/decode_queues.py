"""LocalQueues and ClusterQueues as the webhook reads them: which leads where, and what is said of PriorityClasses.

No more of them than that: their status changes all the time, and a review asks nothing else.
"""

from __future__ import annotations

from msgspec import DecodeError, Raw, Struct
from msgspec.json import Decoder

from controller.core.queueing.queues import LocalQueue, SchedulerPreemption
from controller.core.queueing.scheduler_preemption import QueueWord
from controller.kube.errors import UnreadableObject
from controller.kube.wire import Owned


class _LocalSpec(Struct, rename="camel"):
    cluster_queue: str


class _Local(Struct):
    metadata: Owned
    spec: _LocalSpec


class _ClusterSpec(Struct, rename="camel"):
    parent: str | None = None
    scheduler_preemption: SchedulerPreemption = SchedulerPreemption.WARN


class _Cluster(Struct):
    metadata: Owned
    spec: _ClusterSpec


_local = Decoder(_Local)
_cluster = Decoder(_Cluster)


def decode_local_queue(raw: bytes | Raw) -> LocalQueue:
    """Return where the LocalQueue leads; raise UnreadableObject when the bytes are none."""
    try:
        found = _local.decode(raw)
    except DecodeError as error:
        raise UnreadableObject(f"localqueue: {error}") from error
    return LocalQueue(
        namespace=found.metadata.namespace, name=found.metadata.name, cluster_queue=found.spec.cluster_queue
    )


def decode_cluster_queue(raw: bytes | Raw) -> QueueWord:
    """Return what the ClusterQueue says of it; raise UnreadableObject when the bytes are none."""
    try:
        found = _cluster.decode(raw)
    except DecodeError as error:
        raise UnreadableObject(f"clusterqueue: {error}") from error
    return QueueWord(found.metadata.name, found.spec.parent or "", found.spec.scheduler_preemption)
