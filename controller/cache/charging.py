"""What a pod is charged with: its demand, to the queue and flavor that it was admitted to, and to its node."""

from __future__ import annotations

from collections.abc import Callable

from controller.cache.usage import Charge
from controller.core.decisions import Admit
from controller.core.nodes import NodeIndex
from controller.core.pods import Phase, Pod
from controller.core.queues import ClusterQueue

_ADMITTED = (Phase.RESERVED, Phase.RUNNING)


def is_unstamped(pod: Pod) -> bool:
    """Whether the pod runs in a queue without our stamps: somebody else opened its gate, or it never had one."""
    return pod.phase in _ADMITTED and not (pod.cluster_queue and pod.flavor)


def charge(pod: Pod, admit: Admit | None, payer: Callable[[Pod], tuple[str, str]]) -> Charge | None:
    """Return the pod's charge, None for nothing. `admit`: sent and not yet seen back; `payer`: who pays unstamped."""
    queue = (pod.namespace, pod.queue or "")
    if admit is not None and pod.phase is Phase.QUEUED:
        return Charge(
            pod.shape.requests, admit.node, admit.cluster_queue, admit.flavor, queue, Phase.RESERVED, pod.user
        )
    if pod.phase in _ADMITTED:
        cluster_queue, flavor = payer(pod) if is_unstamped(pod) else (pod.cluster_queue or "", pod.flavor or "")
        if cluster_queue:
            return Charge(pod.shape.requests, pod.node or pod.pinned, cluster_queue, flavor, queue, pod.phase, pod.user)
    if pod.is_finished or pod.node is None:
        return None
    return Charge(pod.shape.requests, pod.node)


def likely_payer(pod: Pod, queue: ClusterQueue | None, index: NodeIndex) -> tuple[str, str]:
    """Return the cluster queue that the pod's label leads to, and its node's flavor, else the first; or nothing."""
    if queue is None or not queue.flavors:
        return "", ""
    names = [quota.flavor for quota in queue.flavors]
    landed = index.flavor_of.get(pod.node or "")
    return queue.name, landed if landed in names else names[0]
