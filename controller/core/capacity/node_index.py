"""Which nodes are of which flavor, and which of them a pod may use. Free room is not here: `room`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

import numpy as np
from numpy.typing import NDArray

from controller.core.kubernetes.labels import Operator, Requirement, Term
from controller.core.kubernetes.nodes import Node
from controller.core.kubernetes.taints import Taint, Toleration, are_tolerated
from controller.core.queueing.queues import CapacityMode, Flavor
from controller.core.workloads.shapes import Constraints, Shape

NodeNumbers = NDArray[np.intp]
"""Nodes of one flavor by their place among its usable ones, ascending (`NodeIndex.in_order`)."""

_NOWHERE: frozenset[str] = frozenset()


class _Usable:
    """Usable nodes of one flavor by label and taints: what pods ask for is answered once a value, not once a node."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._labels = {node.name: node.labels for node in nodes}
        self.names = frozenset(self._labels)
        self.in_order = tuple(self._labels)
        self.places = {name: place for place, name in enumerate(self.in_order)}
        self._by_name: dict[str | None, AbstractSet[str]] = {name: {name} for name in self._labels}
        self._by_label: dict[str, dict[str | None, AbstractSet[str]]] = {}
        self._by_taints: dict[tuple[Taint, ...], set[str]] = {}
        for node in nodes:
            self._by_taints.setdefault(node.taints, set()).add(node.name)

    def allowing(self, constraints: Constraints, tolerations: Sequence[Toleration]) -> frozenset[str]:
        """Names of the nodes that selector, required affinity and tolerations allow."""
        tolerated = (names for taints, names in self._by_taints.items() if are_tolerated(taints, tolerations))
        found = _NOWHERE.union(*tolerated)
        for key, value in constraints.node_selector:
            found &= self._labelled(key).get(value, _NOWHERE)
        if constraints.terms is not None:
            found &= _NOWHERE.union(*map(self._meeting, constraints.terms))
        return found

    def _meeting(self, term: Term) -> frozenset[str]:
        found = _NOWHERE if term.is_empty else self.names
        for requirement in term.expressions:
            found &= _holding(requirement, self._labelled(requirement.key))
        for requirement in term.fields:
            is_name = requirement.key == "metadata.name"
            found &= _holding(requirement, self._by_name if is_name else {None: self.names})
        return found

    def _labelled(self, key: str) -> Mapping[str | None, AbstractSet[str]]:
        """Names by the label's value; those without the label under None."""
        known = self._by_label.get(key)
        if known is None:
            by_value: dict[str | None, set[str]] = {}
            for name, labels in self._labels.items():
                by_value.setdefault(labels.get(key), set()).add(name)
            known = self._by_label[key] = dict(by_value)
        return known


def _holding(requirement: Requirement, by_value: Mapping[str | None, AbstractSet[str]]) -> frozenset[str]:
    if requirement.operator is Operator.IN:
        return _NOWHERE.union(*(by_value.get(value, _NOWHERE) for value in requirement.values))
    key = requirement.key
    said = ((names, {} if value is None else {key: value}) for value, names in by_value.items())
    return _NOWHERE.union(*(names for names, labels in said if requirement.matches(labels)))


class NodeIndex:
    """One state of nodes and flavors: membership and eligibility, each answer worked out once.

    A node that several flavors select belongs to the one that says most about it: that has most requirements, all of
    which it meets, then comes first in the queues, then by name. Replaced as a whole when a node's labels, taints,
    allocatable or usability change, a flavor does, or the order of a queue's; pods coming and going leave it as it is.
    """

    def __init__(
        self, nodes: Mapping[str, Node], flavors: Mapping[str, Flavor], orders: Collection[Sequence[str]] = ()
    ) -> None:
        """`orders` are those in which queues list flavors."""
        self.nodes = nodes
        self._orders = orders
        self._first_of: dict[tuple[str, ...], str] = {}
        """Of flavors that say as much, by name, the one that has the nodes."""
        self._flavors = flavors
        self._members: dict[str, list[str]] = {name: [] for name in flavors}
        self.flavor_of: dict[str, str] = {}
        self.overlaps: dict[str, set[str]] = {}
        self.taken: dict[str, Counter[str]] = {}
        """Of flavors how many of the nodes that they select belong to which others."""
        self._usable: dict[str, _Usable] = {}
        self._allowed: dict[tuple[str, Constraints], frozenset[str]] = {}
        self._places: dict[tuple[str, Constraints], NodeNumbers] = {}
        self._largest: dict[tuple[str, Constraints, str], int] = {}
        self._most: dict[tuple[str, Shape], int] = {}
        self._place_of: dict[str, tuple[str, int]] | None = None
        by_name = [flavors[name] for name in sorted(flavors) if flavors[name].mode is not CapacityMode.STATIC]
        for name in sorted(nodes):
            self._place(nodes[name], by_name)

    def _place(self, node: Node, flavors: Iterable[Flavor]) -> None:
        selecting = [flavor for flavor in flavors if flavor.selects(node.labels)]
        if not selecting:
            return
        most = max(one.says for one in selecting)
        owner = self._first(tuple([one.name for one in selecting if one.says == most]))
        self.flavor_of[node.name] = owner
        self._members[owner].append(node.name)
        for name in [one.name for one in selecting if one.name != owner]:
            self.overlaps.setdefault(name, set()).add(owner)
            self.overlaps.setdefault(owner, set()).add(name)
            self.taken.setdefault(name, Counter())[owner] += 1

    def _first(self, names: tuple[str, ...]) -> str:
        """Return the one before which the queues list fewest of the others; the first of these by name."""
        if len(names) == 1:
            return names[0]
        known = self._first_of.get(names)
        if known is None:
            behind = {one: sum(self._is_before(other, one) for other in names if other != one) for one in names}
            known = self._first_of[names] = min(names, key=lambda one: (behind[one], one))
        return known

    def _is_before(self, one: str, other: str) -> bool:
        """Whether more of the queues that list both list the one first."""
        both = [order for order in self._orders if one in order and other in order]
        first = sum(order.index(one) < order.index(other) for order in both)
        return 2 * first > len(both)

    def members(self, flavor: str) -> list[str]:
        """Names of the nodes of a flavor, usable or not, by name."""
        return self._members.get(flavor, [])

    def nodes_of(self, flavor: str) -> list[Node]:
        """Return the nodes of a flavor, usable or not, by name."""
        return [self.nodes[name] for name in self.members(flavor)]

    def usable(self, flavor: str) -> frozenset[str]:
        """Names of the flavor's nodes to which new pods can go as far as the nodes themselves are concerned."""
        return self._usable_of(flavor).names

    def allowed(self, flavor: Flavor, constraints: Constraints) -> frozenset[str]:
        """Names of the flavor's usable nodes that the pod's selector, affinity and tolerations allow."""
        key = (flavor.name, constraints)
        known = self._allowed.get(key)
        if known is None:
            held = (*constraints.tolerations, *flavor.tolerations)
            known = self._allowed[key] = self._usable_of(flavor.name).allowing(constraints, held)
        return known

    def in_order(self, flavor: str) -> tuple[str, ...]:
        """Names of the flavor's usable nodes, ascending: what stands at a place."""
        return self._usable_of(flavor).in_order

    @property
    def place_of(self) -> Mapping[str, tuple[str, int]]:
        """The flavor of every usable node and its place there; to others no pod is to go."""
        if self._place_of is None:
            members = ((flavor, self._usable_of(flavor).places) for flavor in self._members)
            self._place_of = {name: (flavor, place) for flavor, places in members for name, place in places.items()}
        return self._place_of

    def places(self, flavor: Flavor, constraints: Constraints) -> NodeNumbers:
        """Return where the `allowed` nodes stand; not to be changed."""
        key = (flavor.name, constraints)
        known = self._places.get(key)
        if known is None:
            known = self._places[key] = self.places_of(flavor.name, self.allowed(flavor, constraints))
        return known

    def places_of(self, flavor: str, names: Iterable[str]) -> NodeNumbers:
        """Return where these nodes stand, so far as they are usable ones of the flavor."""
        known = self._usable_of(flavor).places
        return np.array(sorted(known[name] for name in names if name in known), dtype=np.intp)

    def largest(self, flavor: Flavor, constraints: Constraints, resource: str) -> int:
        """Say how much of a resource the largest of the allowed nodes has when nothing runs on it."""
        key = (flavor.name, constraints, resource)
        known = self._largest.get(key)
        if known is None:
            names = self.allowed(flavor, constraints)
            known = max((self.nodes[name].allocatable.get(resource, 0) for name in names), default=0)
            self._largest[key] = known
        return known

    def most(self, flavor: Flavor, shape: Shape) -> int:
        """Say how many pods of a shape the allowed nodes hold together when nothing runs on them."""
        key = (flavor.name, shape)
        if key not in self._most:
            names = self.allowed(flavor, shape.constraints)
            self._most[key] = sum(self.nodes[name].holds(shape.requests) for name in names)
        return self._most[key]

    def _usable_of(self, flavor: str) -> _Usable:
        known = self._usable.get(flavor)
        if known is None:
            known = self._usable[flavor] = _Usable([node for node in self.nodes_of(flavor) if node.is_usable])
        return known
