"""Taints and tolerations. Mirrors `Toleration.ToleratesTaint` of k8s.io/api/core/v1."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

_REPELLING = ("NoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint of a node."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True)
class Toleration:
    """A toleration of a pod or a flavor; empty key, operator, effect mean what Kubernetes lets them mean."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    seconds: int | None = None

    def tolerates(self, taint: Taint) -> bool:
        """Say whether the taint does not repel a pod with this toleration.

        The numeric operators of KEP-5471 are alpha and off by default; they tolerate nothing here.
        """
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        if self.operator == "Exists":
            return True
        return self.operator in ("", "Equal") and bool(self.key) and self.value == taint.value


def are_tolerated(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> bool:
    """Say whether every taint that keeps pods off (NoSchedule, NoExecute) is tolerated."""
    held = tuple(tolerations)
    return all(any(t.tolerates(taint) for t in held) for taint in taints if taint.effect in _REPELLING)
