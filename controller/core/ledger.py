"""What is left to give while one decision is being made. Starts from a snapshot and only shrinks.

Because it only shrinks, a flavor that once had no room for a shape is never asked again for that shape.
"""

from __future__ import annotations

from collections.abc import Mapping

from controller.core.amounts import PODS
from controller.core.decisions import Blocker
from controller.core.queues import CapacityMode, ClusterQueue, Flavor, FlavorQuota
from controller.core.reasons import Reason
from controller.core.room import Room, RoomLeft, Search
from controller.core.shapes import Shape
from controller.core.snapshot import Snapshot


class Ledger:
    """Quota and room that remain; `spend` takes from both."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._spent: dict[tuple[str, str, str], int] = {}
        self._spent_of_flavor: dict[tuple[str, str], int] = {}
        self._room = RoomLeft(snapshot.room or Room(snapshot.nodes, snapshot.node_used))
        self._searches: dict[tuple[str, Shape, bool], Search | None] = {}
        """By flavor, shape and whether only freed nodes count; None where there is no room any more."""

    def quota_blocker(self, queue: ClusterQueue, quota: FlavorQuota, shape: Shape) -> Blocker | None:
        """Return the first resource (by name) whose quota does not allow one more of this shape, else None.

        A resource without a quota is not given at all, `pods` apart: pods are only counted where a quota says so.
        """
        for resource, need in shape.requests:
            nominal = quota.nominal.get(resource)
            if nominal is None:
                if resource == PODS:
                    continue
                return Blocker(quota.flavor, Reason.NEVER_FITS, resource, need, 0, "the queue has no quota for it")
            if need > nominal:
                detail = "more than the whole quota"
                return Blocker(quota.flavor, Reason.NEVER_FITS, resource, need, nominal, detail)
            free = nominal - self.used(queue.name, quota.flavor, resource)
            if need > free:
                return Blocker(quota.flavor, Reason.QUOTA_EXCEEDED, resource, need, free)
        return None

    def used(self, queue: str, flavor: str, resource: str) -> int:
        """Amount charged to the queue, this decision's admissions included."""
        key = (queue, flavor, resource)
        return self._snapshot.usage.get(key, 0) + self._spent.get(key, 0)

    def static_blocker(self, flavor: Flavor, shape: Shape) -> Blocker | None:
        """Return the first resource (by name) of which a Static flavor has too little left, over all queues."""
        for resource, need in shape.requests:
            if resource == PODS and resource not in flavor.static:
                continue
            total = flavor.static.get(resource, 0)
            if need > total:
                return Blocker(flavor.name, Reason.NEVER_FITS, resource, need, total, "more than the flavor's capacity")
            key = (flavor.name, resource)
            free = total - self._snapshot.flavor_usage.get(key, 0) - self._spent_of_flavor.get(key, 0)
            if need > free:
                return Blocker(flavor.name, Reason.NO_CAPACITY, resource, need, free)
        return None

    def find_node(self, flavor: Flavor, shape: Shape, *, only_freed: bool) -> str | None:
        """Return a node of the flavor with room for one more of this shape, fullest first; None when there is none."""
        key = (flavor.name, shape, only_freed)
        if key not in self._searches:
            allowed = self._snapshot.nodes.allowed(flavor, shape.constraints)
            if only_freed:
                allowed &= self._snapshot.freed
            self._searches[key] = self._room.search(flavor.name, shape.requests, allowed)
        search = self._searches[key]
        if search is None:
            return None
        node = self._room.find(search)
        if node is None:
            self._searches[key] = None
        return node

    def free(self, node: str) -> Mapping[str, int]:
        """Amounts left on a node, this decision's admissions included."""
        return self._room.free(node)

    @property
    def nodes_looked_at(self) -> int:
        """How many nodes were compared with a shape: what finding room cost."""
        return self._room.looked_at

    def spend(self, queue: str, flavor: Flavor, shape: Shape, node: str | None) -> None:
        """Take one of this shape from the queue's quota and from the room it was promised."""
        if node is not None:
            self._room.take(node, shape.requests)
        for resource, need in shape.requests:
            key = (queue, flavor.name, resource)
            self._spent[key] = self._spent.get(key, 0) + need
            if flavor.mode is CapacityMode.STATIC:
                total = (flavor.name, resource)
                self._spent_of_flavor[total] = self._spent_of_flavor.get(total, 0) + need
