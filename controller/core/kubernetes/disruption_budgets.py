"""How many pods PodDisruptionBudgets let go together. The Eviction API asks them for one pod at a time.

Mirrors what pkg/registry/core/pod/storage (EvictionREST) takes from a budget: one for each pod that runs, but for one
that is not ready where that costs the application nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from controller.core.kubernetes.labels import LabelSelector


@dataclass(frozen=True, slots=True)
class GuardedPod:
    """Of a pod what a budget goes by. `runs`: it has begun on its node, has not ended and is not being deleted."""

    uid: str
    labels: Mapping[str, str]
    runs: bool
    is_ready: bool


@dataclass(frozen=True, slots=True)
class DisruptionBudget:
    """A PodDisruptionBudget as its controller counted last. `selector` None selects no pod.

    `allowed`: how many pods may be disrupted now; `healthy` and `desired`: how many are ready, and have to be.
    `lets_unready_go`: its unhealthyPodEvictionPolicy is AlwaysAllow.
    """

    name: str
    selector: LabelSelector | None
    allowed: int = 0
    healthy: int = 0
    desired: int = 0
    lets_unready_go: bool = False

    def pays_for(self, pod: GuardedPod) -> bool:
        """Say whether one less may go once this pod is evicted."""
        if not pod.runs or self.selector is None or not self.selector.matches(pod.labels):
            return False
        return pod.is_ready or not (self.lets_unready_go or self.healthy >= self.desired > 0)


def too_narrow(budgets: Iterable[DisruptionBudget], pods: Sequence[GuardedPod]) -> str:
    """Name the first budget that does not let all of these pods of one gang go now; empty: there is none."""
    for budget in budgets:
        count = sum(budget.pays_for(pod) for pod in pods)
        if count > budget.allowed:
            return (
                f"PodDisruptionBudget {budget.name} lets {max(0, budget.allowed)} more go now, and of this gang, which "
                f"goes as a whole, {count} have to"
            )
    return ""
