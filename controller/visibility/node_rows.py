"""Rows of flavors and of nodes, as programs read them too. They need nothing of what makes them.

Who only prints what the visibility API says imports these alone, and starts sooner for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

NODE_STATES: Final = ("Ready", "Cordoned", "NotReady")


class FlavorResource(Struct, frozen=True, rename="camel"):
    """One resource of a flavor, as quantities.

    `capacity` is what pods may use: what the schedulable nodes of the flavor have, or its sums. Of that `used` is what
    admitted pods of queues take, `others` what pods of no queue take, and `free` what is left, node by node.
    `unavailable` is what its other nodes have, `quota` what all ClusterQueues together give of the flavor.
    """

    name: str
    capacity: str
    used: str
    others: str
    free: str
    unavailable: str
    quota: str


class FlavorRow(Struct, frozen=True, rename="camel"):
    """A ResourceFlavor: its nodes, what they have, and what is free.

    `ready` are the nodes that are Ready, `schedulable` those of them that are not cordoned. `pods` are the admitted
    pods of queues that are charged to it, `otherPods` pods of no queue on its nodes. `message` is what is to be said
    of its nodes: that there are none, that some belong to another flavor, that they do not come.
    """

    name: str
    mode: str
    nodes: int
    ready: int
    schedulable: int
    pods: int
    other_pods: int
    resources: tuple[FlavorResource, ...]
    message: str = ""


class NodeResource(Struct, frozen=True, rename="camel"):
    """One resource of a node, as quantities: `used` by pods of queues, on it or to come, `others` by other pods."""

    name: str
    allocatable: str
    used: str
    others: str
    free: str


class NodeRow(Struct, frozen=True, rename="camel"):
    """A node. `flavor` is the one that it belongs to, empty: none; `otherFlavors` select it, too, and do not have it.

    `state` is Ready, Cordoned (Ready and unschedulable) or NotReady, `notReadySince` when it ceased to be Ready.
    `pods` are pods of queues that are there or planned for it, `otherPods` those of no queue.
    """

    name: str
    flavor: str
    other_flavors: tuple[str, ...]
    state: str
    cordoned: bool
    not_ready_since: str
    pods: int
    other_pods: int
    resources: tuple[NodeResource, ...]


def taken_text(resources: Iterable[FlavorResource | NodeResource]) -> str:
    """Write `cpu 6+2/16, memory 0/64Gi`: used, and by others where they use any, of what there is."""
    return ", ".join(f"{one.name} {_taken(one)}/{_whole(one)}" for one in resources)


def amounts_text(resources: Iterable[FlavorResource | NodeResource], what: str) -> str:
    """Write one of the amounts of each resource, such as what is free, where that is anything."""
    found = ((one.name, str(getattr(one, what))) for one in resources)
    return ", ".join(f"{name} {amount}" for name, amount in found if amount != "0")


def _taken(one: FlavorResource | NodeResource) -> str:
    return one.used if one.others == "0" else f"{one.used}+{one.others}"


def _whole(one: FlavorResource | NodeResource) -> str:
    return one.capacity if isinstance(one, FlavorResource) else one.allocatable
