"""What a pod is charged with: its demand, to the queue and flavor that it was admitted to, and to its node."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from controller.core.capacity.node_index import NodeIndex
from controller.core.gate.narrowing import Conflict, narrow
from controller.core.queueing.queues import ClusterQueue, Flavor
from controller.core.workloads.charges import Charge
from controller.core.workloads.decisions import Admit
from controller.core.workloads.pods import Phase, Pod


def is_unstamped(pod: Pod) -> bool:
    """Whether the pod runs in a queue without our stamps: somebody else opened its gate, or it never had one."""
    return pod.is_admitted and not (pod.cluster_queue and pod.flavor)


def rests_on_nodes(pod: Pod) -> bool:
    """Whether what the pod is charged with is another thing once nodes or flavors change."""
    return is_unstamped(pod) or bool(pod.flavors)


def charge_for(
    pod: Pod,
    admit: Admit | None,
    payer: Callable[[Pod], tuple[str, str]],
    *,
    is_overdue: bool = False,
    is_lost: bool = False,
) -> Charge | None:
    """Return the pod's charge, None for nothing. `admit`: sent and not yet seen back; `payer`: who pays unstamped.

    `is_overdue`: it was reserved for so long that the room planned for it goes to others. `is_lost`
    (`core.evictions.lost_pods`): nobody pays for it any more; it takes room on its node alone, which nobody gets before
    that is Ready again.
    """
    queue = (pod.namespace, pod.queue or "")
    if admit is not None and not pod.is_admitted and not pod.is_finished:
        # also of one that is being deleted or lost its label: what was sent may still release it
        payer_of = admit.cluster_queue, admit.flavor
        return Charge(pod.shape.requests, admit.node, *payer_of, queue, Phase.RESERVED, pod.user, admit.also)
    if pod.is_admitted and not is_lost:
        is_stamped = not is_unstamped(pod)
        payer_of = (pod.cluster_queue or "", pod.flavor or "") if is_stamped else payer(pod)
        if payer_of[0]:
            node = pod.node or (None if is_overdue else pod.pinned)
            return Charge(pod.shape.requests, node, *payer_of, queue, pod.phase, pod.user, pod.also, is_stamped)
    if pod.is_finished or pod.node is None:
        return None
    return Charge(pod.shape.requests, pod.node)


def likely_payer(
    pod: Pod, queue: ClusterQueue | None, flavors: Mapping[str, Flavor], index: NodeIndex
) -> tuple[str, str]:
    """Return the cluster queue that the pod's label leads to, and the flavor of its node; or nothing.

    Where its node is of none of the queue's, it is the first that the pod's own selector allows: only where it allows
    none is it the first of all, since whoever opened the gate must not use the queue for nothing.
    """
    if queue is None or not queue.flavors:
        return "", ""
    names = [quota.flavor for quota in queue.flavors]
    landed = index.flavor_of.get(pod.node or "")
    if landed in names:
        return queue.name, landed
    held_to = pod.shape.constraints
    allowed = (name for name in names if name in flavors and not isinstance(narrow(held_to, flavors[name]), Conflict))
    return queue.name, next(allowed, names[0])
