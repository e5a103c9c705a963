"""What one pod is charged with."""

from __future__ import annotations

from dataclasses import dataclass, field

from controller.core.kubernetes.amounts import Requests
from controller.core.workloads.pods import Phase
from controller.core.workloads.workload import QueueKey


@dataclass(frozen=True, slots=True)
class Charge:
    """What one pod takes. Without `cluster_queue` it only takes room on its node (a pod that is not ours)."""

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

    @property
    def flavors(self) -> tuple[str, ...]:
        """All flavors that hold quota for it, the one that pays first."""
        return (self.flavor, *self.also)
