"""PodDisruptionBudgets, and of pods what these go by, from the apiserver's bytes."""

from __future__ import annotations

from msgspec import DecodeError, Raw, Struct, field
from msgspec.json import Decoder

from controller.core.kubernetes.disruption_budgets import DisruptionBudget, GuardedPod
from controller.core.kubernetes.labels import LabelSelector, Operator, Requirement
from controller.kube import wire
from controller.kube.errors import UnreadableObject


class _Selector(Struct, rename="camel"):
    match_labels: dict[str, str] | None = None
    match_expressions: list[wire.SelectorRequirement] | None = None


class _Spec(Struct, rename="camel"):
    selector: _Selector | None = None
    unhealthy_pod_eviction_policy: str | None = None


class _Status(Struct, rename="camel"):
    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0


class _Budget(Struct):
    metadata: wire.Owned
    spec: _Spec = field(default_factory=_Spec)
    status: _Status = field(default_factory=_Status)


class _PodStatus(Struct):
    phase: str = ""
    conditions: list[wire.Condition] | None = None


class _Pod(Struct):
    metadata: wire.PodMeta
    status: _PodStatus = field(default_factory=_PodStatus)


_budget = Decoder(_Budget)
_pod = Decoder(_Pod)


def decode_disruption_budget(raw: bytes | Raw) -> DisruptionBudget:
    """Return the budget; raise UnreadableObject when the bytes are none."""
    try:
        found = _budget.decode(raw)
        selector = _selector(found.spec.selector)
    except (DecodeError, ValueError) as error:
        raise UnreadableObject(f"poddisruptionbudget: {error}") from error
    status = found.status
    return DisruptionBudget(
        name=found.metadata.name,
        selector=selector,
        allowed=status.disruptions_allowed,
        healthy=status.current_healthy,
        desired=status.desired_healthy,
        lets_unready_go=found.spec.unhealthy_pod_eviction_policy == "AlwaysAllow",
    )


def decode_guarded_pod(raw: bytes | Raw) -> GuardedPod:
    """Return the pod; raise UnreadableObject when the bytes are none."""
    try:
        found = _pod.decode(raw)
    except DecodeError as error:
        raise UnreadableObject(f"pod: {error}") from error
    meta, status = found.metadata, found.status
    return GuardedPod(
        uid=meta.uid,
        labels=meta.labels or {},
        # as the Eviction API has it, which asks no budget for any other
        runs=status.phase not in ("Pending", "Succeeded", "Failed") and meta.deletion_timestamp is None,
        is_ready=any(one.type == "Ready" and one.status == "True" for one in status.conditions or ()),
    )


def _selector(written: _Selector | None) -> LabelSelector | None:
    if written is None:
        return None
    equal = (Requirement(key, Operator.IN, (value,)) for key, value in (written.match_labels or {}).items())
    listed = (
        Requirement(one.key, Operator(one.operator), tuple(one.values or ())) for one in written.match_expressions or ()
    )
    return LabelSelector((*equal, *listed))
