"""More nodes, and labels on those that there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from controller.core.kubernetes.amounts import format_amount
from controller.core.kubernetes.nodes import Node
from controller.visibility.changes.change import Change, Cost
from controller.visibility.editing import Case, MadeNode, with_nodes


@dataclass(frozen=True, slots=True)
class MoreNodes(Change):
    """`count` more nodes of a flavor, empty, like `like`. `enlarged`: what such a node has to have, in words.

    They have the labels and taints that the node of that name has in the case: a label that another change sets there
    is not theirs without that change. `is_chosen`: the pods choose nodes by labels, so that it is said like which.
    """

    flavor: str
    like: Node
    count: int = 1
    enlarged: str = ""
    is_chosen: bool = False

    @property
    def cost(self) -> Cost:
        """Somebody has to pay for them."""
        return Cost.NODES

    @property
    def text(self) -> str:
        """How many, like which."""
        like, beside = f"like {self.like.name}", f"with {self.enlarged}"
        what = like if not self.enlarged else f"{like} {beside}" if self.is_chosen else beside
        many = f"{self.count} more nodes" if self.count > 1 else "one more node"
        return f"{many} of flavor {self.flavor} {what}"

    @property
    def key(self) -> tuple[str, ...]:
        """The flavor."""
        return "MoreNodes", self.flavor, self.enlarged

    def plus(self, other: Change) -> Change:
        """Return all of them."""
        return replace(self, count=self.count + other.count) if isinstance(other, MoreNodes) else other

    def for_those_before(self, amounts: Mapping[str, int]) -> Change:
        """Return as many as hold what they ask for, too."""
        has = self.like.allocatable
        parts = (-(-amount // has[resource]) for resource, amount in amounts.items() if has.get(resource))
        return replace(self, count=self.count + max(parts, default=0))

    def apply(self, case: Case) -> Case:
        """Add them, ready and empty."""
        known = case.snapshot.nodes.index.nodes
        as_it_is = known.get(self.like.name, self.like)
        like = replace(self.like, labels=as_it_is.labels, taints=as_it_is.taints, is_ready=True, is_cordoned=False)
        names = [f"new-{self.flavor}-{len(known) + number}" for number in range(self.count)]
        fresh = {name: replace(like, name=name) for name in names}
        made = {**case.made, **dict.fromkeys(names, MadeNode(self.like.name, self.enlarged))}
        return replace(case, snapshot=with_nodes(case.snapshot, fresh), made=made)


@dataclass(frozen=True, slots=True)
class LabelNode(Change):
    """A node has labels that it lacks."""

    node: str
    labels: tuple[tuple[str, str], ...]

    @property
    def cost(self) -> Cost:
        """One object."""
        return Cost.SETUP

    @property
    def text(self) -> str:
        """Which, on which."""
        written = ", ".join(f"{key}={value}" for key, value in self.labels)
        return f"the label{'s' * (len(self.labels) > 1)} {written} on node {self.node}"

    @property
    def command(self) -> str:
        """What sets them."""
        return f"kubectl label node {self.node} {' '.join(f'{key}={value}' for key, value in self.labels)}"

    @property
    def key(self) -> tuple[str, ...]:
        """The node."""
        return "LabelNode", self.node

    def apply(self, case: Case) -> Case:
        """Set them."""
        node = case.snapshot.nodes.index.nodes[self.node]
        return case.with_snapshot(
            with_nodes(case.snapshot, {node.name: replace(node, labels={**node.labels, **dict(self.labels)})})
        )


@dataclass(frozen=True, slots=True)
class UsableNode(Change):
    """A node that is cordoned or not ready takes pods again."""

    node: Node

    @property
    def cost(self) -> Cost:
        """One object."""
        return Cost.SETUP

    @property
    def text(self) -> str:
        """Which."""
        state = "ready" if not self.node.is_ready else "uncordoned"
        return f"node {self.node.name} {state}"

    @property
    def command(self) -> str:
        """What lets it take pods, where it is only cordoned."""
        return f"kubectl uncordon {self.node.name}" if self.node.is_ready else ""

    @property
    def key(self) -> tuple[str, ...]:
        """The node."""
        return "UsableNode", self.node.name

    def apply(self, case: Case) -> Case:
        """Let it take pods."""
        node = case.snapshot.nodes.index.nodes[self.node.name]
        usable = replace(node, is_ready=True, is_cordoned=False)
        return case.with_snapshot(with_nodes(case.snapshot, {usable.name: usable}))


def enlarged(node: Node, resource: str, need: int) -> tuple[Node, str]:
    """Return a node like this that has at least so much of a resource, and that in words."""
    has = max(need, node.allocatable.get(resource, 0))
    return replace(node, allocatable={**node.allocatable, resource: has}), f"{format_amount(resource, need)} {resource}"
