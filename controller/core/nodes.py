"""Nodes, and which of them a pod may use. Free room is not here: it changes with every pod (`ledger`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from controller.core.queues import CapacityMode, Flavor
from controller.core.shapes import Constraints
from controller.core.taints import Taint, are_tolerated


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """What placement needs of a node."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    allocatable: Mapping[str, int] = field(default_factory=dict)
    is_ready: bool = True
    not_ready_since: int = 0
    """When it stopped being Ready, seconds since 1970; means nothing while it is Ready."""
    is_cordoned: bool = False

    @property
    def is_usable(self) -> bool:
        """Whether new pods can go there as far as the node itself is concerned."""
        return self.is_ready and not self.is_cordoned


class NodeIndex:
    """One state of nodes and flavors: membership and eligibility, each answer worked out once.

    A node that several flavors select belongs to the first of them by name. Replaced as a whole when a node's labels,
    taints, allocatable or usability change, or a flavor does; pods coming and going leave it as it is.
    """

    def __init__(self, nodes: Mapping[str, Node], flavors: Mapping[str, Flavor]) -> None:
        self.nodes = nodes
        self._flavors = flavors
        self._members: dict[str, list[str]] = {name: [] for name in flavors}
        self.flavor_of: dict[str, str] = {}
        self.overlaps: dict[str, set[str]] = {}
        self._eligible: dict[tuple[str, Constraints], tuple[str, ...]] = {}
        by_name = [flavors[name] for name in sorted(flavors) if flavors[name].mode is CapacityMode.NODES]
        for name in sorted(nodes):
            self._place(nodes[name], by_name)

    def _place(self, node: Node, flavors: Iterable[Flavor]) -> None:
        selecting = [flavor.name for flavor in flavors if flavor.selects(node.labels)]
        if not selecting:
            return
        self.flavor_of[node.name] = selecting[0]
        self._members[selecting[0]].append(node.name)
        for one in selecting[1:]:
            self.overlaps.setdefault(one, set()).add(selecting[0])
            self.overlaps.setdefault(selecting[0], set()).add(one)

    def members(self, flavor: str) -> list[str]:
        """Names of the nodes of a flavor, usable or not, by name."""
        return self._members.get(flavor, [])

    def eligible(self, flavor: Flavor, constraints: Constraints) -> tuple[str, ...]:
        """Names of the flavor's usable nodes that the pod's selector, affinity and tolerations allow."""
        key = (flavor.name, constraints)
        known = self._eligible.get(key)
        if known is None:
            held = (*constraints.tolerations, *flavor.tolerations)
            usable = (node for node in map(self.nodes.__getitem__, self.members(flavor.name)) if node.is_usable)
            known = tuple(
                node.name
                for node in usable
                if constraints.allow(node.name, node.labels) and are_tolerated(node.taints, held)
            )
            self._eligible[key] = known
        return known
