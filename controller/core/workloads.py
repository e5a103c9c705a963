"""The unit of admission and its place in the order.

A workload is a demand (count x shape) that some patch can release; nothing here assumes that its pods exist. Today
each queued pod is a workload of count one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from controller.core.reasons import Reason
from controller.core.shapes import Shape

OrderKey = tuple[int, float, str, str]
"""(negated priority, creation in epoch seconds, namespace/name, uid): ascending is first come, and total."""

QueueKey = tuple[str, str]
"""(namespace, name) of a local queue."""


@dataclass(frozen=True, slots=True)
class Hold:
    """A fault of the workload itself that keeps it from being looked at; `text` says which and what to do."""

    reason: Reason
    text: str


@dataclass(frozen=True, slots=True)
class WorkloadClass:
    """Workloads that differ only in their place in the order: one queue, one shape, one hold.

    `waited`: of the queue's `fallback_after` the longest, in seconds, that they have waited; it opens flavors to them.
    """

    queue: QueueKey
    shape: Shape
    hold: Hold | None = None
    waited: int = 0
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.queue, self.shape, self.hold, self.waited)))

    def __hash__(self) -> int:
        return self._hash


@dataclass(frozen=True, slots=True)
class Workload:
    """What waits. `uid` is the pod's uid, `name` its namespace/name, `since` when it was created (epoch seconds)."""

    uid: str
    name: str
    kind: WorkloadClass
    order: OrderKey
    since: float = 0.0


def order_key(*, priority: int, created: float, name: str, uid: str) -> OrderKey:
    """Build the place in the order: priority, then creation, then name and uid (creation has a resolution of 1 s)."""
    return (-priority, created, name, uid)
