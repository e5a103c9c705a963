"""Which admitted pods to evict now, and why: every rule that takes a pod back, the first that names it first."""

from __future__ import annotations

from itertools import chain

from controller.core.decisions import Evict
from controller.core.draining import drains
from controller.core.reservations import overdue_evictions
from controller.core.returns import Returns
from controller.core.snapshot import Snapshot


def evictions(snapshot: Snapshot) -> tuple[Evict, ...]:
    """Return as many as may be under way beside those that are; none that is under way or was refused just now."""
    found: dict[str, Evict] = {}
    returns = Returns(snapshot)
    for evict in chain(drains(snapshot, returns), overdue_evictions(snapshot, returns)):
        if len(found) >= snapshot.evictions_left:
            break
        if evict.pod.uid not in snapshot.evicting and evict.pod.uid not in found:
            found[evict.pod.uid] = evict
            returns.take(evict.pod)
    return tuple(found.values())
