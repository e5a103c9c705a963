"""What was kept for those who wait, and is given up: reservations that gave way, what preemptors hold no more."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from controller.core.workloads.decisions import Place
from controller.core.workloads.workload import OrderKey


class Reservation(NamedTuple):
    """How many seconds ahead it was, where in the order the workload stood that has it, and what was kept."""

    ahead: float
    order: OrderKey
    places: Collection[Place]

    def gave_way(self, now: Reservation | None) -> bool:
        """Say whether it is gone, further ahead, of one that stands further behind, or elsewhere."""
        return now is None or self.ahead < now.ahead or self.order < now.order or self.places != now.places


@dataclass(slots=True)
class LetGo:
    """What preemptors held and hold no more: room on `nodes`, quota in the trees of cluster `queues`.

    `is_unknown`: and what, or whose, cannot be told, so that it may be anybody's.
    """

    nodes: set[str] = field(default_factory=set)
    queues: set[str] = field(default_factory=set)
    is_unknown: bool = False
    begun: set[tuple[str, str]] = field(default_factory=set)
    """Where others go since for somebody: cluster queue and flavor of what is held, and of those that go."""
    claimed: set[tuple[str, str | None]] = field(default_factory=set)
    """The cluster queues and nodes of what is held so, and of those that go."""
    rebooked: Mapping[str, Collection[str]] = field(default_factory=dict)
    """The workloads whose reservations gave way, with the nodes of these."""
    rebooked_in_a_row: int = 0
    """In how many decisions in a row any did."""

    def add(self, queue: str, places: Iterable[Place]) -> None:
        """Take in what one of a queue (empty: not known any more) held; what is left of a sum is for all trees."""
        if not queue or any(node is None for _, node in places):
            self.is_unknown = True
        else:
            self.queues.add(queue)

    def __bool__(self) -> bool:
        return bool(self.nodes or self.queues or self.is_unknown or self.begun or self.claimed)
