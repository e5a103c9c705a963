"""The quota tree: what each queue may use of its own, what it lends, and what it may borrow. Static numbers.

The arithmetic is Kueue's (pkg/cache/scheduler/resource_node.go), with its names: a queue's subtree quota is what it and
those below it own together; the part that its lendingLimit keeps back is its local quota. A queue without a parent is a
tree of its own. Python's integers are exact at any size, so nothing saturates. Usage is not here: `quota.tree_usage`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from controller.core.kubernetes.quota_resources import AS_REQUESTED, QuotaResources
from controller.core.queueing.fair_sharing_policy import USUAL, Strategy
from controller.core.queueing.past_usage import PastUsageRule
from controller.core.queueing.queues import ClusterQueue

Column = tuple[str, ...]
"""(flavor, resource)."""

UsageKey = tuple[str, ...]
"""(cluster queue, flavor, resource); flavor empty: all that the queue and those below it use, of whichever flavor."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One column of one queue. `potential` is what it could use at most, if nobody used anything.

    `local` is the part of `subtree` that no other queue ever gets; `borrowing_limit` None: no limit.
    """

    subtree: int
    local: int
    borrowing_limit: int | None
    potential: int


@dataclass(frozen=True, slots=True)
class Link:
    """One column of one queue on the way up: where its usage is kept, and its numbers.

    `total` is where the usage of the resource in all flavors is kept, None where the queue has no limit on it.
    """

    key: UsageKey
    cell: Cell | None
    total: UsageKey | None


class QuotaTree:
    """All cluster queues and who is whose parent. Replaced as a whole when one of them changes.

    `resources`: what pods are charged beside, and instead of, what they request.

    `faults` says of each queue in a broken part of the tree why that part cannot be used; such a queue stands alone.
    `fair_roots` are those whose tree shares fairly.
    """

    def __init__(
        self,
        queues: Mapping[str, ClusterQueue],
        invalid: Mapping[str, str] | None = None,
        resources: QuotaResources = AS_REQUESTED,
    ) -> None:
        """`invalid` are queues that exist and cannot be used as written, with the reason."""
        self.resources = resources
        self._queues = queues
        self._invalid = invalid or {}
        self.faults: dict[str, str] = {}
        self._paths: dict[str, tuple[str, ...]] = {}
        self._children: dict[str, list[str]] = {}
        self._heights: dict[str, int] = {}
        self._cells: dict[str, dict[Column, Cell]] = {}
        self._chains: dict[tuple[str, Column], tuple[Link, ...]] = {}
        for name in sorted(queues):
            self._find_path(name)
        for name in sorted(self._paths):
            if len(self._paths[name]) > 1:
                self._children.setdefault(self._paths[name][1], []).append(name)
        self._changing = {
            (self._paths[name][-1], quota.flavor, resource)
            for name in self._paths
            for quota in queues[name].flavors
            for resource in quota.changing
        }
        self.fair_roots = frozenset(
            path[-1] for path in self._paths.values() if queues[path[-1]].fair_sharing is not None
        )
        by_depth = sorted(self._paths, key=lambda name: len(self._paths[name]))
        own: dict[str, dict[Column, tuple[int, int]]] = {}
        for name in reversed(by_depth):
            own[name] = self._sum(queues[name], [own[child] for child in self.children(name)])
            self._heights[name] = max((self._heights[child] + 1 for child in self.children(name)), default=0)
        for name in by_depth:
            self._cells[name] = self._complete(queues[name], own[name])

    def _find_path(self, name: str) -> None:
        path = [name]
        while parent := self._queues[path[-1]].parent:
            fault = self._fault(path, parent)
            if fault is not None:
                self.faults[name] = fault
                break
            path.append(parent)
        self._paths[name] = (name,) if name in self.faults else tuple(path)

    def _fault(self, path: list[str], parent: str) -> str | None:
        whose = "spec.parent" if len(path) == 1 else f"spec.parent of ClusterQueue {path[-1]}"
        if parent in path:
            return f"{whose}: {' → '.join([*path[path.index(parent) :], parent])} is a circle; make one of them a root"
        if parent in self._queues:
            return None
        if parent in self._invalid:
            return f"{whose}: ClusterQueue {parent} cannot be used as written: {self._invalid[parent]}"
        return f"{whose}: ClusterQueue {parent} does not exist; create it, or name another"

    def _sum(
        self, queue: ClusterQueue, children: Iterable[Mapping[Column, tuple[int, int]]]
    ) -> dict[Column, tuple[int, int]]:
        """Return subtree quota and local quota by column, from the queue's own and its children's."""
        subtree: dict[Column, int] = {
            (quota.flavor, name): amount for quota in queue.flavors for name, amount in quota.nominal.items()
        }
        for child in children:
            for column, (whole, local) in child.items():
                subtree[column] = subtree.get(column, 0) + whole - local
        lending: dict[Column, int] = {
            (quota.flavor, name): limit for quota in queue.flavors for name, limit in quota.lending.items()
        }
        return {
            column: (whole, max(0, whole - lending[column]) if column in lending else 0)
            for column, whole in subtree.items()
        }

    def _complete(self, queue: ClusterQueue, own: Mapping[Column, tuple[int, int]]) -> dict[Column, Cell]:
        borrowing: dict[Column, int] = {
            (quota.flavor, name): limit for quota in queue.flavors for name, limit in quota.borrowing.items()
        }
        above = self._cells.get(self._paths[queue.name][1]) if len(self._paths[queue.name]) > 1 else None
        cells: dict[Column, Cell] = {}
        for column, (subtree, local) in own.items():
            potential, limit = subtree, borrowing.get(column)
            if above is not None:
                offered = above[column].potential
                potential = local + (offered if limit is None else min(offered, subtree - local + limit))
            cells[column] = Cell(subtree, local, limit, potential)
        return cells

    def path(self, name: str) -> tuple[str, ...]:
        """Return the queue and those above it, the root last; the queue alone where its part of the tree is broken."""
        return self._paths.get(name, (name,))

    def children(self, name: str) -> list[str]:
        """Return the queues directly below, by name."""
        return self._children.get(name, [])

    def height(self, name: str) -> int:
        """Return how many levels of queues are below: 0 for one that takes pods."""
        return self._heights.get(name, 0)

    def cell(self, name: str, column: Column) -> Cell | None:
        """Return the numbers of a column; None where neither the queue nor one below it has such a quota."""
        cells = self._cells.get(name)
        return None if cells is None else cells.get(column)

    def cells(self, name: str) -> Mapping[Column, Cell]:
        """Return the numbers of all columns of which the queue or one below it has a quota."""
        return self._cells.get(name, {})

    def chain(self, name: str, column: Column) -> tuple[Link, ...]:
        """Return the column's links from the queue up to its root, worked out once: they are asked for all the time."""
        known = self._chains.get((name, column))
        if known is None:
            known = self._chains[name, column] = tuple(
                Link(
                    (one, *column),
                    self.cell(one, column),
                    (one, "", column[1]) if column[1] in self.limits(one) else None,
                )
                for one in self.path(name)
            )
        return known

    def is_changing(self, name: str, column: Column) -> bool:
        """Say whether a quota of this column, anywhere in the queue's tree, may be another one later by itself."""
        return (self.path(name)[-1], *column) in self._changing

    def strategies(self, name: str) -> tuple[Strategy, ...]:
        """Return by which strategies queues of its tree take from each other what they borrow; none: not by shares."""
        root = self.path(name)[-1]
        if root not in self.fair_roots:
            return ()
        return (self._queues[root].fair_sharing or USUAL).strategies

    def past_usage(self, name: str) -> PastUsageRule | None:
        """Return how past usage orders the LocalQueues of a queue, as the root says; None: it does not."""
        root = self._queues.get(self.path(name)[-1])
        rule = None if root is None or root.fair_sharing is None else root.fair_sharing.past_usage
        return None if rule is None else replace(rule, resources=self.resources)

    @property
    def names(self) -> Iterable[str]:
        """All queues."""
        return self._queues

    def weight(self, name: str) -> Fraction:
        """Return what the queue counts for beside the others of its parent."""
        queue = self._queues.get(name)
        return USUAL.weight if queue is None or queue.fair_sharing is None else queue.fair_sharing.weight

    def limits(self, name: str) -> Mapping[str, int]:
        """Return the most of each resource, of whichever flavor, that the queue and those below it may use."""
        queue = self._queues.get(name)
        return {} if queue is None else queue.limits

    def user_limits(self, name: str) -> Mapping[str, int]:
        """Return the most of each resource that one user may use of the queue and those below it."""
        queue = self._queues.get(name)
        return {} if queue is None else queue.user_limits

    def is_limit_changing(self, name: str, resource: str) -> bool:
        """Say whether the queue's limit may be another one later by itself."""
        return resource in self._queues[name].changing_limits

    def is_user_limit_changing(self, name: str, resource: str) -> bool:
        """Say whether what the queue gives each user may be another amount later by itself."""
        return resource in self._queues[name].changing_user_limits

    @property
    def limits_users(self) -> bool:
        """Whether any queue limits what one user may use."""
        return any(queue.user_limits for queue in self._queues.values())

    def flavors(self, name: str) -> list[str]:
        """Return the flavors that the queue itself names."""
        queue = self._queues.get(name)
        return [] if queue is None else [quota.flavor for quota in queue.flavors]

    def columns(self, name: str) -> Iterable[Column]:
        """Return the columns of which the queue or one below it has a quota."""
        return self._cells.get(name, {})

    def below(self, name: str) -> list[str]:
        """Return the queue and all those below it."""
        found = [name]
        for one in found:
            found += self.children(one)
        return found

    def relatives(self, name: str) -> list[str]:
        """Return all queues of its tree: what one gives back another may borrow."""
        return self.below(self.path(name)[-1])
