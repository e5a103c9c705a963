"""Whether the mix of a queue lets pods go to a spot flavor now. What counts are its admitted pods, by their flavors."""

from __future__ import annotations

from collections.abc import Mapping

from controller.core.kubernetes.amounts import PODS
from controller.core.ledgers.booked import AnyLedger
from controller.core.queueing.queues import ClusterQueue, Flavor
from controller.core.quota.tree_usage import TreeUsage
from controller.core.reasons import Reason
from controller.core.workloads.decisions import Blocker


def spot_and_total(flavors: Mapping[str, Flavor], usage: TreeUsage, queue: ClusterQueue) -> tuple[int, int]:
    """Return how many of the queue's admitted pods are on its spot flavors, and how many on all of its flavors."""
    counts = [(quota.flavor, usage.used(queue.name, quota.flavor, PODS)) for quota in queue.flavors]
    spot = sum(count for name, count in counts if name in flavors and flavors[name].is_spot)
    return spot, sum(count for _, count in counts)


def mix_blocker(
    flavors: Mapping[str, Flavor], ledger: AnyLedger, queue: ClusterQueue, flavor: Flavor, count: int
) -> Blocker | None:
    """Say why the mix does not let so many pods more onto a flavor; None: it does, or does not concern it.

    Spot that is held for who waits for others to go is taken; on-demand pods that wait for that let nobody onto spot,
    for they may never come.
    """
    mix = queue.mix
    if mix is None or not flavor.is_spot:
        return None
    if not mix.spot_percent:
        return Blocker(flavor.name, Reason.NEVER_FITS, detail=f"spotPercent of ClusterQueue {queue.name} is 0")
    spot, total = spot_and_total(flavors, ledger.usage, queue)
    total -= ledger.awaited_on_demand(queue.name)
    lacks = mix.lacks(spot, total, count)
    if not lacks:
        return None
    more = f"{lacks} more pod{'s' * (lacks > 1)} of ClusterQueue {queue.name} on-demand first"
    now = f"needs {more}: {spot} of its {total} are on spot"
    detail = f"needs more pods of ClusterQueue {queue.name} on-demand first"
    return Blocker(flavor.name, Reason.MIX_LIMIT, need=lacks, detail=detail, now=now)
