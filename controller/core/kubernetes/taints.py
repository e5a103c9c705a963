"""Taints and tolerations: who is repelled, and how two lists of tolerations become one.

Mirrors `Toleration.ToleratesTaint` of k8s.io/api/core/v1, and `MergeTolerations` with `isSuperset` of
k8s.io/kubernetes/pkg/util/tolerations.
"""

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

    def includes(self, other: Toleration) -> bool:
        """Say whether this one covers `other`, as the apiserver's merge sees it.

        Mirrors `isSuperset`, the oddities too: an empty operator covers a written `Equal`, but not the other way
        round; seconds count only for the effect NoExecute; the numeric operators cover nothing but their equal.
        """
        if self == other:
            return True
        if other.key != self.key and (self.key or self.operator != "Exists"):
            return False
        if other.effect != self.effect and self.effect:
            return False
        if self.effect == "NoExecute" and _lasts_longer(other.seconds, self.seconds):
            return False
        if self.operator in ("", "Equal"):
            return other.operator == "Equal" and other.value == self.value
        return self.operator == "Exists"


def are_tolerated(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> bool:
    """Say whether every taint that keeps pods off (NoSchedule, NoExecute) is tolerated."""
    held = tuple(tolerations)
    return all(any(t.tolerates(taint) for t in held) for taint in taints if taint.effect in _REPELLING)


def merge_tolerations(first: Iterable[Toleration], second: Iterable[Toleration]) -> tuple[Toleration, ...]:
    """Unite two lists: of equal ones the first stays, and one that another covers goes.

    Mirrors `MergeTolerations`, which is what the apiserver does with those of a pod and of its RuntimeClass.
    """
    every = (*first, *second)
    merged: list[Toleration] = []
    for index, one in enumerate(every):
        if any(kept.includes(one) for kept in merged):
            continue
        if any(later != one and later.includes(one) for later in every[index + 1 :]):
            continue
        merged.append(one)
    return tuple(merged)


def _lasts_longer(one: int | None, other: int | None) -> bool:
    """Without seconds a toleration lasts for ever."""
    return other is not None and (one is None or one > other)
