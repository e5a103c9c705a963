"""What the apiserver writes into a pod before it asks the webhook, where the pod does not say it itself.

Mirrors the defaults of core/v1 and the admission plugins ServiceAccount, Priority, DefaultTolerationSeconds and
RuntimeClass, as far as scheduling goes. RuntimeClass is done by the webhook's own step, which mirrors the plugin.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from controller.cli.policy.surroundings import Surroundings
from controller.core.kubernetes.directives import DEFAULT_SCHEDULER
from webhook.reviews.admission import Request
from webhook.reviews.patching import applied
from webhook.steps.runtime_class import assign_runtime_class

_SECONDS: Final = 300
_TAINTS: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


@dataclass(frozen=True, slots=True)
class Filled:
    """The pod as the webhook gets it. `denial`: the apiserver refuses it before that."""

    pod: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    denial: str | None = None


def fill(request: Request, surroundings: Surroundings) -> Filled:
    """Fill in what the apiserver would."""
    pod, notes = _defaulted(request, surroundings)
    name = pod["spec"].get("runtimeClassName")
    if not name:
        return Filled(pod, notes)
    if surroundings.classes.get(name) is None:
        note = (
            f"RuntimeClass {name!r} is not known here, so what it demands is left out; where it does not exist, the "
            "apiserver refuses the pod"
        )
        return Filled(pod, (*notes, note))
    answer = assign_runtime_class(replace(request, pod=pod), surroundings.apiserver)
    if answer.denial is not None:
        return Filled(pod, notes, answer.denial)
    return Filled(applied(pod, answer.operations), notes)


def _defaulted(request: Request, surroundings: Surroundings) -> tuple[dict[str, Any], tuple[str, ...]]:
    pod = request.pod
    spec = {name: value for name, value in (pod.get("spec") or {}).items() if value is not None}
    notes: tuple[str, ...] = ()
    filled: dict[str, Any] = {**spec, "schedulerName": spec.get("schedulerName") or DEFAULT_SCHEDULER}
    filled["serviceAccountName"] = spec.get("serviceAccountName") or spec.get("serviceAccount") or "default"
    priority = surroundings.priorities.fields(spec)
    if priority is not None:
        # a priority that contradicts its class is refused by the apiserver; nothing here goes by it
        filled = {**priority, **filled}
    elif surroundings.priorities.are_known:
        notes = (f"PriorityClass {spec['priorityClassName']!r} is not known here, so spec.priority is left out",)
    tolerations = [*(spec.get("tolerations") or ()), *_lacking(spec.get("tolerations") or ())]
    if tolerations:
        filled["tolerations"] = tolerations
    return {**pod, "metadata": {**(pod.get("metadata") or {}), "namespace": request.namespace}, "spec": filled}, notes


def _lacking(tolerations: list[Mapping[str, Any]] | tuple[()]) -> list[dict[str, Any]]:
    def tolerates(taint: str) -> bool:
        return any(
            one.get("key") in (taint, "", None) and one.get("effect") in ("NoExecute", "", None) for one in tolerations
        )

    return [
        {"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _SECONDS}
        for taint in _TAINTS
        if not tolerates(taint)
    ]
