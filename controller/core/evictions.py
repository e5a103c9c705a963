"""Which admitted pods to evict now, and why: every rule that takes a pod back, the first that names it first."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

from controller.core.decisions import Evict
from controller.core.draining import drains
from controller.core.reservations import overdue_evictions
from controller.core.returns import Returns
from controller.core.snapshot import Snapshot
from controller.core.stock_outs import dry_evictions


def evictions(snapshot: Snapshot, preempted: Iterable[Evict]) -> tuple[Evict, ...]:
    """Return as many as may be under way beside those that are; none that is under way or was refused just now."""
    found: dict[str, Evict] = {}
    returns = Returns(snapshot)
    rules = (drains, overdue_evictions, dry_evictions)
    for evict in chain(chain.from_iterable(rule(snapshot, returns) for rule in rules), preempted):
        if len(found) >= snapshot.leaving.evictions_left:
            break
        if evict.pod.uid not in snapshot.leaving.evicting and evict.pod.uid not in found:
            found[evict.pod.uid] = evict
            returns.take(evict.pod)
    return tuple(found.values())
