"""Which flavor a pod is of that may run on several: a question of its node, and of prices until it has one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from controller.core.capacity.node_index import NodeIndex
from controller.core.queueing.flavor_sets import payer
from controller.core.queueing.queues import Flavor
from controller.core.workloads.pods import Pod


def landed(pods: dict[str, Pod], uid: str, flavors: Mapping[str, Flavor], index: NodeIndex | None) -> Pod | None:
    """Return the pod with the flavor that pays for it, as it is kept from now on; None: there is no such pod.

    Without an `index`, since nodes changed just now, this is asked again once there is one; so it is where the pod's
    node is not known yet. Until then it holds quota on all of its flavors, and where it landed it stays when its node
    goes.
    """
    pod = pods.get(uid)
    if pod is None or not pod.flavors or pod.is_landed:
        return pod
    is_known = index is not None and pod.node in index.nodes
    found = None if index is None or pod.node is None else index.flavor_of.get(pod.node)
    flavor = payer(pod.flavors, flavors, pod.shape.requests, found)
    if (flavor, is_known) != (pod.flavor, pod.is_landed):
        pod = pods[uid] = replace(pod, flavor=flavor, is_landed=is_known)
    return pod


def still_landed(pod: Pod, known: Pod | None) -> Pod:
    """Return a newer state of a pod with what is known of where it landed."""
    if known is None or not known.is_landed or (known.node, known.flavors) != (pod.node, pod.flavors):
        return pod
    return replace(pod, flavor=known.flavor, is_landed=True)
