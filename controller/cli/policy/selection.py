"""Why a policy does not concern a pod: the first requirement of its selectors that fails, in words."""

from __future__ import annotations

from collections.abc import Mapping

from controller.core.kubernetes.labels import LabelSelector, Operator, Requirement
from controller.core.pod_policies.policies import Policy

Labels = Mapping[str, str]


def why_not(policy: Policy, namespace: str, namespace_labels: Labels, pod_labels: Labels) -> str | None:
    """Say why the policy does not select a pod with these labels; None when it does."""
    if policy.namespace:
        if policy.namespace != namespace:
            return f"it is of namespace {policy.namespace!r}"
    elif found := _unmet("namespaceSelector", "namespace", policy.namespaces, namespace_labels):
        return found
    return _unmet("podSelector", "pod", policy.pods, pod_labels)


def _unmet(field: str, noun: str, selector: LabelSelector | None, labels: Labels) -> str | None:
    if selector is None:
        return f"{field} is left out, which selects nothing; {{}} would select everything"
    failed = next((one for one in selector.requirements if not one.matches(labels)), None)
    if failed is None:
        return None
    has = f"has {failed.key}={labels[failed.key]}" if failed.key in labels else f"has no label {failed.key}"
    return f"{field}: the {noun} {has}, {_wanted(failed)}"


def _wanted(requirement: Requirement) -> str:
    values = ", ".join(map(repr, requirement.values))
    match requirement.operator:
        case Operator.IN:
            return f"wanted is {values}" if len(requirement.values) == 1 else f"wanted is one of {values}"
        case Operator.NOT_IN:
            return f"wanted is any value but {values}"
        case Operator.EXISTS:
            return "wanted is any value"
        case Operator.DOES_NOT_EXIST:
            return "wanted is that there is none"
        case _:
            return f"wanted is {requirement.operator} {values}"
