"""Which flavor a pod is of that may run on several: a question of its node, and of prices until it has one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from controller.core.flavor_sets import payer
from controller.core.nodes import NodeIndex
from controller.core.pods import Pod
from controller.core.queues import Flavor


def landed(pods: dict[str, Pod], uid: str, flavors: Mapping[str, Flavor], index: NodeIndex | None) -> Pod | None:
    """Return the pod with the flavor that pays for it, as it is kept from now on; None: there is no such pod.

    Without an `index`, since nodes changed just now, this is asked again once there is one.
    """
    pod = pods.get(uid)
    if pod is None or not pod.flavors:
        return pod
    found = None if index is None or pod.node is None else index.flavor_of.get(pod.node)
    flavor = payer(pod.flavors, flavors, pod.shape.requests, found)
    if flavor != pod.flavor:
        pod = pods[uid] = replace(pod, flavor=flavor)
    return pod
