"""What one pod is charged with, or those pods of a Job that is held as a whole which nobody has seen yet."""

from __future__ import annotations

from dataclasses import dataclass, field

from controller.core.kubernetes.amounts import Requests
from controller.core.workloads.pods import Phase
from controller.core.workloads.workload import QueueKey


@dataclass(frozen=True, slots=True)
class Charge:
    """What it takes. Without `cluster_queue` it only takes room on its node (a pod that is not ours)."""

    requests: Requests
    node: str | None = None
    cluster_queue: str = ""
    flavor: str = ""
    local_queue: QueueKey = ("", "")
    phase: Phase = Phase.OTHER
    user: str = ""
    also: tuple[str, ...] = ()
    """Flavors that hold the same quota for it until it is on a node of one of them."""
    is_stamped: bool = field(default=False, compare=False)
    """Whether the pod itself says so: only then it may be preempted."""
    count: int = 1
    """How many pods it is for."""
    rooms: tuple[tuple[str, Requests], ...] = ()
    """Of a Job that is held as a whole: what it takes on each node. Its pods may be seen, and be on no node yet."""

    @property
    def flavors(self) -> tuple[str, ...]:
        """All flavors that hold quota for it, the one that pays first."""
        return (self.flavor, *self.also)

    @property
    def on_nodes(self) -> tuple[tuple[str, Requests], ...]:
        """What it takes on each node where it takes any."""
        return self.rooms if self.node is None else ((self.node, self.requests),)
