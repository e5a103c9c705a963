"""The world of the second load: a thousand namespaces, and a hundred policies of three kinds, a few for each pod."""

from __future__ import annotations

from typing import Any, Final

NAMESPACES: Final = 1_000
_TIERS: Final = 20
_VERSION: Final = "penstock.dev/v1alpha1"


def team(number: int) -> dict[str, Any]:
    """A namespace, in one of 20 tiers."""
    return {"metadata": {"name": f"team-{number:04}", "labels": {"tier": f"tier-{number % _TIERS}"}}}


def policies() -> list[dict[str, Any]]:
    """60 cluster-wide policies for pods, 20 of single namespaces, and 20 SchedulingPolicies with who may use them."""
    pods = [*(_wide(number) for number in range(60)), *(_narrow(number) for number in range(20))]
    return [*pods, *(one for number in range(20) for one in _scheduling(number))]


def _wide(number: int) -> dict[str, Any]:
    """Of a tier, for all its pods or for one of its ten apps."""
    pods: dict[str, Any] = {} if number < 2 * _TIERS else {"matchLabels": {"app": f"app-{number % 10}"}}
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


def _scheduling(number: int) -> list[dict[str, Any]]:
    """A SchedulingPolicy for the accounts of every twentieth namespace, and one for all."""
    name = f"tier-{number:02}"
    policy = {
        "apiVersion": _VERSION,
        "kind": "SchedulingPolicy",
        "metadata": {"name": name},
        "spec": {
            "allowed": {
                "schedulerNames": ["default-scheduler"],
                "nodeSelectors": {"zone": ["a", "b"]},
                "tolerations": [{"keys": [], "operators": ["Exists"], "effects": ["NoSchedule"]}],
                "affinities": {"nodeAffinities": {}},
            },
            "default": {"nodeSelector": {"zone": "a"}},
        },
    }
    accounts = [f"system:serviceaccounts:{team(one)['metadata']['name']}" for one in range(number, NAMESPACES, _TIERS)]
    return [policy, *_use(name, accounts if number else ["system:authenticated"])]


def _use(name: str, groups: list[str]) -> list[dict[str, Any]]:
    """Who may use a SchedulingPolicy."""
    rbac = "rbac.authorization.k8s.io"
    return [
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": name},
            "rules": [
                {
                    "apiGroups": ["penstock.dev"],
                    "resources": ["schedulingpolicies"],
                    "verbs": ["use"],
                    "resourceNames": [name],
                }
            ],
        },
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "Group", "apiGroup": rbac, "name": group} for group in groups],
        },
    ]


def _narrow(number: int) -> dict[str, Any]:
    return {
        "apiVersion": _VERSION,
        "kind": "PodSchedulingPolicy",
        "metadata": {"name": "own", "namespace": f"team-{number * 50:04}"},
        "spec": {"podSelector": {}, "nodeSelector": {"zone": "a"}},
    }
