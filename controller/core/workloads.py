"""The unit of admission and its place in the order.

A workload is a demand (count x shape) that some patch can release; nothing here assumes that its pods exist. Today
each queued pod is a workload of count one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from controller.core.reasons import Reason
from controller.core.shapes import Shape

_Rank = tuple[int, float, int, float, str, str]
OrderKey = tuple[int, float, int, float, str, str, tuple[()] | _Rank]
"""(negated priority, creation of the owner, completion index, creation, namespace/name, uid), times in epoch seconds:
ascending is first come, and total. Last, of who stands `behind` another whose place the rest is: its own.
"""

QueueKey = tuple[str, str]
"""(namespace, name) of a local queue."""


@dataclass(frozen=True, slots=True)
class Hold:
    """A fault of the workload itself that keeps it from being looked at; `text` says which and what to do."""

    reason: Reason
    text: str


@dataclass(frozen=True, slots=True)
class WorkloadClass:
    """Workloads that differ only in their place in the order: one queue, one shape, one hold."""

    queue: QueueKey
    shape: Shape
    hold: Hold | None = None
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.queue, self.shape, self.hold)))

    def __hash__(self) -> int:
        return self._hash


@dataclass(frozen=True, slots=True)
class Workload:
    """What waits. `uid` is the pod's uid, `name` its namespace/name."""

    uid: str
    name: str
    kind: WorkloadClass
    order: OrderKey


def order_key(*, priority: int, created: float, name: str, uid: str, since: float, index: int = 0) -> OrderKey:
    """Build the place in the order: priority; the creation of its owner, `since`; completion index; its own creation.

    So a pod that an owner makes again keeps the place of the one before. Times have a resolution of 1 s: name and uid
    decide what is left.
    """
    return (-priority, since, index, created, name, uid, ())


def behind(front: OrderKey, own: OrderKey) -> OrderKey:
    """Return the place right behind `front`, before whoever comes after that; several there go by their own places."""
    return (*front[:6], own[:6])
