"""What is left to give while one decision is being made. Starts from a snapshot and only shrinks.

Because it only shrinks, a node that once failed a shape is never asked again for that shape.
"""

from __future__ import annotations

from controller.core.amounts import PODS
from controller.core.decisions import Blocker
from controller.core.queues import CapacityMode, ClusterQueue, Flavor, FlavorQuota
from controller.core.reasons import Reason
from controller.core.shapes import Shape
from controller.core.snapshot import Snapshot


class Ledger:
    """Quota and room that remain; `spend` takes from both."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._spent: dict[tuple[str, str, str], int] = {}
        self._spent_of_flavor: dict[tuple[str, str], int] = {}
        self._free: dict[str, dict[str, int]] = {}
        self._candidates: dict[tuple[str, Shape, bool], list[str]] = {}

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
            # where the quota changes by itself, waiting may well help
            if need > nominal and resource not in quota.changing:
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
        candidates = self._candidates.get(key)
        if candidates is None:
            candidates = self._candidates[key] = self._rank(flavor, shape, only_freed=only_freed)
        while candidates:
            if self._slots(candidates[-1], shape) > 0:
                return candidates[-1]
            candidates.pop()
        return None

    def _rank(self, flavor: Flavor, shape: Shape, *, only_freed: bool) -> list[str]:
        """Nodes with room, the one with room for the fewest at the end: that keeps large holes for large pods."""
        eligible = self._snapshot.nodes.eligible(flavor, shape.constraints)
        if only_freed:
            eligible = tuple(name for name in eligible if name in self._snapshot.freed)
        slots = [(self._slots(name, shape), name) for name in eligible]
        return [name for count, name in sorted(slots, reverse=True) if count > 0]

    def _slots(self, node: str, shape: Shape) -> int:
        """How many more pods of this shape the node could take."""
        free = self.free(node)
        return min((free.get(resource, 0) // need for resource, need in shape.requests), default=0)

    def free(self, node: str) -> dict[str, int]:
        """Amounts left on a node, this decision's admissions included."""
        free = self._free.get(node)
        if free is None:
            used = self._snapshot.node_used.get(node, {})
            allocatable = self._snapshot.nodes.nodes[node].allocatable
            free = self._free[node] = {r: amount - used.get(r, 0) for r, amount in allocatable.items()}
        return free

    def spend(self, queue: str, flavor: Flavor, shape: Shape, node: str | None) -> None:
        """Take one of this shape from the queue's quota and from the room it was promised."""
        free = self.free(node) if node is not None else {}
        for resource, need in shape.requests:
            key = (queue, flavor.name, resource)
            self._spent[key] = self._spent.get(key, 0) + need
            if flavor.mode is CapacityMode.STATIC:
                total = (flavor.name, resource)
                self._spent_of_flavor[total] = self._spent_of_flavor.get(total, 0) + need
            if node is not None:
                free[resource] = free.get(resource, 0) - need
