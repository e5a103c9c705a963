"""What a Job that was admitted as a whole holds for those of its pods that do not show yet.

Quota: for each pod that it is to keep alive and that nobody has seen. Room: where the decision planned it, for each pod
that is on no node yet. One template cannot pin each pod to a node, so kube-scheduler may choose others: a pod on a
planned node takes the room that was planned there, any other the room that was planned last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from controller.core.kubernetes.amounts import Requests, times

PlannedNodes = Sequence[tuple[str | None, int]]
"""Nodes, each with the number of pods for which room was found there; None: in the sums of a flavor."""


@dataclass(frozen=True, slots=True)
class SeenPods:
    """Pods of a Job that live, that is, neither ended nor being deleted; `on_nodes` those of them that are bound."""

    count: int = 0
    on_nodes: Mapping[str, int] | None = None


def unseen(width: int, seen: SeenPods) -> int:
    """Return for how many pods the Job itself is charged. `width`: so many it is to keep alive."""
    return max(0, width - seen.count)


def planned_rooms(one: Requests, width: int, planned: PlannedNodes, seen: SeenPods) -> tuple[tuple[str, Requests], ...]:
    """Return what is kept on each node for pods that are on none; `one` is what each of them asks for."""
    bound = Counter(seen.on_nodes or {})
    left = max(0, width - bound.total())
    rooms = {node: max(0, count - bound[node]) for node, count in planned if node is not None}
    found: list[tuple[str, Requests]] = []
    for node, count in rooms.items():
        taken = min(count, left)
        left -= taken
        if taken:
            found.append((node, times(one, taken)))
    return tuple(found)
