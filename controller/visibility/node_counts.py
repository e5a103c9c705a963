"""What is counted for the rows of flavors and nodes: who takes how much where. It can be done in parts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import merge

from controller.core.kubernetes.amounts import Requests
from controller.core.kubernetes.nodes import Node
from controller.core.snapshot import Snapshot
from controller.core.workloads.charges import Charge

_PART = 200
"""So many names are sorted at once."""


@dataclass(slots=True)
class Taken:
    """What pods take of a node: `used` those of queues, `others` those of none."""

    pods: int = 0
    other_pods: int = 0
    used: Counter[str] = field(default_factory=Counter)
    others: Counter[str] = field(default_factory=Counter)

    def free(self, resource: str, amount: int) -> int:
        """Return what is left of so much; never less than nothing, whatever was placed there around us."""
        return max(0, amount - self.used[resource] - self.others[resource])


@dataclass(slots=True)
class Members:
    """The nodes of a flavor together, what those that pods may go to have (`capacity`), and the others."""

    nodes: int = 0
    ready: int = 0
    schedulable: int = 0
    other_pods: int = 0
    capacity: Counter[str] = field(default_factory=Counter)
    used: Counter[str] = field(default_factory=Counter)
    others: Counter[str] = field(default_factory=Counter)
    free: Counter[str] = field(default_factory=Counter)
    unavailable: Counter[str] = field(default_factory=Counter)

    def add(self, node: Node, taken: Taken) -> None:
        """Count a node in."""
        self.nodes += 1
        self.ready += node.is_ready
        self.schedulable += node.is_usable
        self.other_pods += taken.other_pods
        if not node.is_usable:
            self.unavailable.update(node.known)
            return
        self.capacity.update(node.known)
        self.used.update(taken.used)
        self.others.update(taken.others)
        for resource, amount in node.known.items():
            self.free[resource] += taken.free(resource, amount)


class NodeCounts:
    """The sums of one snapshot: by node, by flavor of nodes, and by flavor that pods are charged to."""

    def __init__(self) -> None:
        self.names: list[str] = []
        """All nodes, by name."""
        self.taken: defaultdict[str, Taken] = defaultdict(Taken)
        self.members: defaultdict[str, Members] = defaultdict(Members)
        self.pods: Counter[str] = Counter()
        """How many pods are charged to each flavor."""
        self.used: defaultdict[str, Counter[str]] = defaultdict(Counter)
        """What they are charged with, by flavor and resource."""
        self.quota: defaultdict[str, Counter[str]] = defaultdict(Counter)
        """What ClusterQueues give, by flavor and resource."""

    def count(self, snapshot: Snapshot) -> Iterator[None]:
        """Count, in parts as this is gone through."""
        for charge in list(snapshot.usage.charges.values()):
            self._charge(charge)
            yield
        index = snapshot.nodes.index
        for node in index.nodes.values():
            flavor = index.flavor_of.get(node.name)
            if flavor is not None:
                self.members[flavor].add(node, self.taken.get(node.name) or Taken())
            yield
        for queue in snapshot.queues.cluster_queues.values():
            for quota in queue.flavors:
                self.quota[quota.flavor].update(quota.nominal)
            yield
        yield from self._sort(snapshot)

    def _charge(self, charge: Charge) -> None:
        is_of_queue = bool(charge.cluster_queue)
        for flavor in charge.flavors if is_of_queue else ():
            self.pods[flavor] += 1
            _add(self.used[flavor], charge.requests)
        if charge.node is None:
            return
        taken = self.taken[charge.node]
        taken.pods += is_of_queue
        taken.other_pods += not is_of_queue
        _add(taken.used if is_of_queue else taken.others, charge.requests)

    def _sort(self, snapshot: Snapshot) -> Iterator[None]:
        names, parts = list(snapshot.nodes.index.nodes), list[list[str]]()
        for begin in range(0, len(names), _PART):
            parts.append(sorted(names[begin : begin + _PART]))
            yield
        for name in merge(*parts):
            self.names.append(name)
            yield


def counted(snapshot: Snapshot) -> NodeCounts:
    """Count at once."""
    counts = NodeCounts()
    for _ in counts.count(snapshot):
        pass
    return counts


def _add(sums: Counter[str], requests: Requests) -> None:
    for resource, amount in requests:
        sums[resource] += amount
