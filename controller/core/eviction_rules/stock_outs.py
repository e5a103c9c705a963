"""Autoscaled flavors whose nodes do not come: when such a flavor is dry, and which pods it gives back.

Sums say how many nodes may come; only pods that wait in vain say that none do. A flavor that gives nodes to pods that
were admitted later is not dry: what keeps the earlier one from a node is then its own. So it is where any of several
flavors that are open to the pod gives nodes: it could have had one of these.
"""

from __future__ import annotations

from collections.abc import Iterator

from controller.core.calendar.durations import format_duration
from controller.core.evictions.returns import Returns
from controller.core.queueing.queues import CapacityMode, Flavor
from controller.core.snapshot import Snapshot
from controller.core.workloads.decisions import DrySpell, Evict, EvictionCause
from controller.core.workloads.pods import Phase, Pod


def is_unprovided(pod: Pod, flavor: Flavor | None) -> bool:
    """Say whether the pod waits for a node of an Autoscaled flavor: kube-scheduler has tried, and there is none."""
    if flavor is None or flavor.mode is not CapacityMode.AUTOSCALED or not pod.admitted_at:
        return False
    return pod.phase is Phase.RESERVED and bool(pod.unscheduled)


def gives_up_at(pod: Pod, flavor: Flavor, former: DrySpell | None) -> float:
    """Return when such a pod has waited in vain, epoch seconds; a dry spell before is no part of its wait."""
    return max(pod.admitted_at, former.until if former is not None else 0.0) + flavor.provision_timeout


def dry_spell(pod: Pod, flavor: Flavor, landed_at: float, now: float) -> DrySpell | None:
    """Judge a flavor by a pod that has waited in vain; None: it is not dry, others get nodes there.

    `landed_at`: when the last was admitted of those that are on nodes of the flavors that are open to the pod.
    """
    if landed_at > pod.admitted_at:
        return None
    after = format_duration(flavor.provision_timeout)
    return DrySpell(
        now + flavor.cool_down, f"no node came for pod {pod.key} within {after}: {pod.unscheduled.rstrip('. ')}"
    )


def dry_evictions(snapshot: Snapshot, returns: Returns) -> Iterator[Evict]:
    """Say which pods that wait for nodes of dry flavors to return, where that costs their owner nothing."""
    for flavor, spell in snapshot.nodes.dry.items():
        for uid in snapshot.running.unprovided.get(flavor, ()):
            pod = snapshot.running.pods[uid]
            verdict = returns.verdict(pod, pod.cluster_queue or "")
            if verdict.may_return and not pod.is_terminating:
                yield Evict(pod, EvictionCause.FLAVOR_DRY, f"flavor {flavor}: {spell.text}; {verdict.why}")
