"""The world of the second load: a thousand namespaces, and a hundred policies of which a pod gets a handful."""

from __future__ import annotations

from typing import Any, Final

NAMESPACES: Final = 1_000
_TIERS: Final = 20
_VERSION: Final = "penstock.dev/v1alpha1"


def team(number: int) -> dict[str, Any]:
    """A namespace, in one of 20 tiers."""
    return {"metadata": {"name": f"team-{number:04}", "labels": {"tier": f"tier-{number % _TIERS}"}}}


def policies() -> list[dict[str, Any]]:
    """80 cluster-wide policies, of which a pod gets five, and 20 of single namespaces."""
    wide = [_wide(number) for number in range(80)]
    return [*wide, *(_narrow(number) for number in range(20))]


def _wide(number: int) -> dict[str, Any]:
    """Of a tier, for all its pods or for one of its ten apps."""
    pods = {} if number < 4 * _TIERS // 2 else {"matchLabels": {"app": f"app-{number % 10}"}}
    term = {"matchExpressions": [{"key": f"pool-{number // _TIERS}", "operator": "In", "values": ["a", "b"]}]}
    return {
        "apiVersion": _VERSION,
        "kind": "ClusterPodSchedulingPolicy",
        "metadata": {"name": f"wide-{number:03}"},
        "spec": {
            "namespaceSelector": {"matchLabels": {"tier": f"tier-{number % _TIERS}"}},
            "podSelector": pods,
            "affinity": {
                "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
            },
            "tolerations": [{"key": f"taint-{number // _TIERS}", "operator": "Exists", "effect": "NoSchedule"}],
        },
    }


def _narrow(number: int) -> dict[str, Any]:
    return {
        "apiVersion": _VERSION,
        "kind": "PodSchedulingPolicy",
        "metadata": {"name": "own", "namespace": f"team-{number * 50:04}"},
        "spec": {"podSelector": {}, "nodeSelector": {"zone": "a"}},
    }
