"""Which admitted pods to evict now, and why: every rule that takes a pod back, the first that names it first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from controller.core.eviction_rules.draining import drains
from controller.core.eviction_rules.over_quota import over_quota_evictions
from controller.core.eviction_rules.reservations import overdue_evictions
from controller.core.eviction_rules.stock_outs import dry_evictions
from controller.core.eviction_rules.whole_gangs import WholeGangs
from controller.core.snapshot import Snapshot
from controller.core.workloads.decisions import Evict


def evictions(snapshot: Snapshot, preempted: Iterable[Sequence[Evict]]) -> tuple[Evict, ...]:
    """Return as many as may be under way beside those that are; none that is under way or was refused just now.

    A gang goes as a whole, whichever rule names one of its pods.

    `preempted` go all that go for one, or none: those that are left might be enough no more, and the others would have
    gone for nothing.
    """
    found: dict[str, Evict] = {}
    returns = snapshot.returns()
    rules = (drains, overdue_evictions, dry_evictions)
    gangs = WholeGangs(snapshot, returns)
    ruled = (gangs.with_others(evict) for rule in rules for evict in rule(snapshot, returns))
    # last, for whoever goes for another reason is too much no more
    for together in chain(ruled, preempted, over_quota_evictions(snapshot, returns, found.keys())):
        if len(found) >= snapshot.running.leaving.evictions_left:
            break
        for evict in together:
            if evict.pod.uid not in snapshot.running.leaving.evicting and evict.pod.uid not in found:
                found[evict.pod.uid] = evict
                returns.take(evict.pod)
    return tuple(found.values())
