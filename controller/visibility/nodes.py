"""Flavors and nodes as people see them: what there is, in which state, who takes how much of it, and what is free."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from controller.core.kubernetes.amounts import CPU, format_amount
from controller.core.kubernetes.nodes import Node
from controller.core.queueing.queues import CapacityMode, Flavor
from controller.core.snapshot import Snapshot
from controller.kube.clock import rfc3339
from controller.visibility.node_counts import Members, NodeCounts, Taken, counted
from controller.visibility.node_rows import FlavorResource, FlavorRow, NodeResource, NodeRow

_FIRST = (CPU, "memory")
"""What most people ask for comes first; the rest by name."""


def flavors(snapshot: Snapshot) -> list[FlavorRow]:
    """Return every ResourceFlavor, by name."""
    rows = NodeRows(snapshot)
    return [rows.flavor(name) for name in rows.flavor_names]


def nodes(snapshot: Snapshot) -> list[NodeRow]:
    """Return every node, by name."""
    rows = NodeRows(snapshot)
    return [rows.node(name) for name in rows.names]


class NodeRows:
    """The rows of one snapshot, one at a time, for who has to give way in between; `names` are those of the nodes."""

    def __init__(self, snapshot: Snapshot, counts: NodeCounts | None = None) -> None:
        """`counts` are those of the snapshot, where they were made before."""
        self.snapshot = snapshot
        self._counts = counted(snapshot) if counts is None else counts
        self.names = self._counts.names
        self.flavor_names = sorted(snapshot.queues.flavors)
        by_nodes = (snapshot.queues.flavors[name] for name in self.flavor_names)
        self._selecting = [one for one in by_nodes if one.mode is not CapacityMode.STATIC]

    def flavor(self, name: str) -> FlavorRow:
        """Return the row of one of `flavor_names`."""
        flavor, members = self.snapshot.queues.flavors[name], self._counts.members.get(name) or Members()
        resources = self._of_sums(flavor) if flavor.is_summed else self._of_nodes(name, members)
        return FlavorRow(
            name=name,
            mode=flavor.mode.value,
            nodes=members.nodes,
            ready=members.ready,
            schedulable=members.schedulable,
            pods=self._counts.pods[name],
            other_pods=members.other_pods,
            resources=tuple(resources),
            message="; ".join(self._messages(flavor, members)),
        )

    def node(self, name: str) -> NodeRow:
        """Return the row of one of `names`."""
        index = self.snapshot.nodes.index
        node, taken = index.nodes[name], self._counts.taken.get(name) or Taken()
        flavor = index.flavor_of.get(name, "")
        others = (one.name for one in self._selecting if one.name != flavor and one.selects(node.labels))
        return NodeRow(
            name=name,
            flavor=flavor,
            other_flavors=tuple(others),
            state=_state(node),
            cordoned=node.is_cordoned,
            not_ready_since="" if node.is_ready else rfc3339(node.not_ready_since),
            pods=taken.pods,
            other_pods=taken.other_pods,
            resources=tuple(_of_node(node, taken)),
        )

    def _of_nodes(self, name: str, members: Members) -> Iterator[FlavorResource]:
        quota = self._counts.quota[name]
        parts = (members.capacity, members.unavailable, members.used, members.others, quota)
        for resource in _ordered(one for part in parts for one, amount in part.items() if amount):
            amounts = (
                members.capacity[resource],
                members.used[resource],
                members.others[resource],
                members.free[resource],
                members.unavailable[resource],
                quota[resource],
            )
            yield FlavorResource(resource, *(format_amount(resource, one) for one in amounts))

    def _of_sums(self, flavor: Flavor) -> Iterator[FlavorResource]:
        """Yield what a flavor has whose room is known by sums: pods of no queue take nothing of these.

        What its sums do not have there is nothing of, but for the number of pods, which is then as large as one likes.
        """
        used, quota = self._counts.used[flavor.name], self._counts.quota[flavor.name]
        for resource in _ordered((*flavor.sums, *used, *quota)):
            if resource not in flavor.sums and self.snapshot.queues.tree.resources.needs_no_quota(resource):
                continue
            whole, taken = flavor.sums.get(resource, 0), used[resource]
            amounts = (whole, taken, 0, max(0, whole - taken), 0, quota[resource])
            yield FlavorResource(resource, *(format_amount(resource, one) for one in amounts))

    def _messages(self, flavor: Flavor, members: Members) -> Iterator[str]:
        if flavor.mode is CapacityMode.NODES and not members.nodes:
            yield "no node is of the flavor, so no pod fits"
        for other, count in sorted(self.snapshot.nodes.index.taken.get(flavor.name, {}).items()):
            belong = "node that it selects belongs" if count == 1 else "nodes that it selects belong"
            yield f"{count} {belong} to flavor {other}"
        spell = self.snapshot.nodes.dry.get(flavor.name)
        if spell is not None:
            yield spell.text


def _state(node: Node) -> str:
    """Return the word of `node_rows.NODE_STATES`: to a node that is not Ready no pod goes, cordoned or not."""
    if not node.is_ready:
        return "NotReady"
    return "Cordoned" if node.is_cordoned else "Ready"


def _of_node(node: Node, taken: Taken) -> Iterator[NodeResource]:
    parts = (node.known, taken.used, taken.others)
    for resource in _ordered(one for part in parts for one, amount in part.items() if amount):
        whole = node.known.get(resource, 0)
        amounts = (whole, taken.used[resource], taken.others[resource], taken.free(resource, whole))
        yield NodeResource(resource, *(format_amount(resource, one) for one in amounts))


def _ordered(resources: Iterable[str]) -> list[str]:
    """Return each of them once, cpu and memory first."""
    named = frozenset(resources)
    return [*(one for one in _FIRST if one in named), *sorted(named.difference(_FIRST))]
