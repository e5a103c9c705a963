"""Step: give the pod its RuntimeClass, and merge what the class demands.

The class is the pod's own, else that of its SchedulingPolicies, else the namespace's default, else the cluster's. The
apiserver's own RuntimeClass admission runs before us, and again after us when we set a class; the merge is the same,
so it finds nothing to do. Off (`ReviewLookups.runtime_classes` None) until asked for. Who gets no default, and why:
docs/runtime-classes.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from controller.core.keys import DEFAULT_RUNTIME_CLASS
from controller.core.kubernetes.directives import Directives
from controller.core.kubernetes.documents import toleration_document
from controller.core.kubernetes.pointers import escape
from controller.core.kubernetes.runtime_classes import Additions, Conflict, additions, is_tolerant
from controller.core.kubernetes.taints import Toleration
from controller.core.pod_policies.policies import Result
from controller.core.reasons import first_few
from controller.core.scheduling_policies.levels import enforced
from controller.core.scheduling_policies.pod import Exempt, Pod
from controller.core.scheduling_policies.runtime_class import ChosenClass, ClassSource, choose_class
from webhook.pods import limits, scheduling_pods
from webhook.pods.creators import is_daemon_set_pod, is_mirror_pod
from webhook.pods.noted import entries, scheduling_entry, with_entries
from webhook.reviews.admission import NOTHING, Answer, Request
from webhook.reviews.lookups import ReviewLookups, RuntimeClasses
from webhook.reviews.patching import Operations

_FLAG = "--default-runtime-class"


@dataclass(frozen=True, slots=True)
class Choice:
    """The class that a pod is to have. `set_by` says who made it the default; empty when the pod names it itself.

    `policy` is the SchedulingPolicy that gives it, empty where another or nobody does.
    """

    name: str
    set_by: str = ""
    policy: str = ""

    def __str__(self) -> str:
        return (
            f"the default RuntimeClass {self.name!r} ({self.set_by})" if self.set_by else f"RuntimeClass {self.name!r}"
        )


def choose(request: Request, world: ReviewLookups) -> Choice | None:
    """Say which class the pod is to have; None when it needs none, or when the step is off."""
    spec = request.pod.get("spec")
    classes = world.runtime_classes
    if classes is None or not spec or is_mirror_pod(request):
        return None
    pod = Pod(
        directives=Directives(node_name=str(spec.get("nodeName") or "")),
        runtime_class=str(spec.get("runtimeClassName") or ""),
        exempt=Exempt(is_daemon_set_pod=is_daemon_set_pod(request)),
    )
    first = enforced(scheduling_pods.levels(request, world))
    of_namespace = world.namespace_labels(request.namespace).get(DEFAULT_RUNTIME_CLASS) or ""
    chosen = choose_class(
        pod, first.merged if first else None, of_namespace=of_namespace, of_cluster=classes.default or ""
    )
    return None if chosen is None else _choice(chosen, request.namespace)


def _choice(chosen: ChosenClass, namespace: str) -> Choice:
    by_policy = chosen.policy
    if by_policy is not None:
        return Choice(chosen.name, f"{by_policy.entry} of SchedulingPolicy {by_policy.policy!r}", by_policy.policy)
    match chosen.source:
        case ClassSource.NAMESPACE:
            return Choice(chosen.name, f"set by label {DEFAULT_RUNTIME_CLASS} of namespace {namespace!r}")
        case ClassSource.CLUSTER:
            return Choice(chosen.name, f"set for the cluster by {_FLAG}")
        case _:
            return Choice(chosen.name)


def assign_runtime_class(request: Request, world: ReviewLookups) -> Answer:
    """Set the class where the pod names none, and add the class's selector, tolerations and overhead."""
    choice, classes = choose(request, world), world.runtime_classes
    if choice is None or classes is None:
        return NOTHING
    found = classes.get(choice.name)
    if found is None:
        return Answer(denial=_missing(choice, classes))
    spec = request.pod["spec"]
    tolerations = _tolerations(spec)
    if found.tolerations is not None:
        limits.check_tolerations(tolerations)
    lacking = additions(spec.get("nodeSelector") or {}, tolerations, spec.get("overhead") or {}, found)
    if isinstance(lacking, Conflict):
        return Answer(denial=_contradiction(lacking, choice))
    if not choice.set_by and is_tolerant(tolerations, found):
        # merged before, by us or the apiserver: again would take away what a policy, which comes after, has covered
        lacking = replace(lacking, tolerations=())
    operations = (*_name(choice), *_patch(spec, lacking))
    if not operations:
        return NOTHING
    return Answer(operations=operations, audit=(("runtime-class", choice.name),)) + _by_policy(request, choice)


def _by_policy(request: Request, choice: Choice) -> Answer:
    """What there is to say of a SchedulingPolicy that gave the class; its own step sees a class that is there."""
    if not choice.policy:
        return NOTHING
    entry = scheduling_entry(choice.policy)
    right = sorted({entry, *entries(request.pod, scheduling=True)})
    operations, _ = with_entries(request.pod, right, scheduling=True)
    return Answer(
        operations=operations,
        audit=(("runtime-class-by", choice.set_by),),
        counted=((entry, Result.CHANGED.value),),
    )


def _name(choice: Choice) -> Operations:
    return ({"op": "add", "path": "/spec/runtimeClassName", "value": choice.name},) if choice.set_by else ()


def _patch(spec: Mapping[str, Any], lacking: Additions) -> Operations:
    operations: Operations = ()
    if lacking.node_selector and spec.get("nodeSelector") is None:
        operations += (_set("nodeSelector", dict(lacking.node_selector)),)
    elif lacking.node_selector:
        operations += tuple(_set(f"nodeSelector/{escape(k)}", value) for k, value in lacking.node_selector.items())
    if lacking.tolerations:
        operations += (_set("tolerations", [toleration_document(toleration) for toleration in lacking.tolerations]),)
    if lacking.overhead:
        operations += (_set("overhead", dict(lacking.overhead)),)
    return operations


def _set(path: str, value: object) -> dict[str, Any]:
    return {"op": "add", "path": f"/spec/{path}", "value": value}


def _tolerations(spec: Mapping[str, Any]) -> tuple[Toleration, ...]:
    return tuple(
        Toleration(
            one.get("key") or "",
            one.get("operator") or "",
            one.get("value") or "",
            one.get("effect") or "",
            one.get("tolerationSeconds"),
        )
        for one in spec.get("tolerations") or ()
    )


def _contradiction(conflict: Conflict, choice: Choice) -> str:
    other = "name another class in spec.runtimeClassName" if choice.set_by else "use another class"
    return (
        f"{conflict.path} is {conflict.own}, but {choice} demands {conflict.demanded} ({conflict.demanded_by}); "
        f"{conflict.remedy}, or {other}"
    )


def _missing(choice: Choice, classes: RuntimeClasses) -> str:
    names = sorted(classes.names())
    there = f"there are {first_few(names)}" if names else "there are none"
    if choice.set_by:
        return f"{choice} does not exist: create it, correct the default, or name one in spec.runtimeClassName; {there}"
    return f"spec.runtimeClassName: {choice} does not exist: create it, or name one that does; {there}"
