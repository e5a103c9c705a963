"""A pod of a review as SchedulingPolicies see it: what it says, whose account it runs as, what it got unasked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.core.scheduling_policies.levels import Levels
from controller.core.scheduling_policies.pod import Exempt, Pod
from webhook.pods import directives, limits
from webhook.pods.creators import is_daemon_set_pod
from webhook.reviews.admission import Request
from webhook.reviews.lookups import ReviewLookups

_DEFAULT_ACCOUNT = "default"
"""The ServiceAccount admission writes it into pods that name none; only where that is off is there none."""


def account(pod: Mapping[str, Any]) -> str:
    """Return the name of the service account that the pod runs as."""
    return (pod.get("spec") or {}).get("serviceAccountName") or _DEFAULT_ACCOUNT


def levels(request: Request, world: ReviewLookups) -> Levels:
    """Return the policies for the pod's account, by level; none where there is nothing to do."""
    return world.scheduling_policies(request.namespace, account(request.pod))


def read(request: Request, pod: Mapping[str, Any], world: ReviewLookups) -> Pod | None:
    """Read the pod; None when it is not of the form that a pod has."""
    spec = pod.get("spec") or {}
    said = request.directives if pod is request.pod else None
    if said is None:
        said = directives.read(spec)
    else:
        limits.check(said)
    if said is None:
        return None
    runtime_class = spec.get("runtimeClassName") or ""
    return Pod(
        directives=said,
        priority_class=spec.get("priorityClassName") or "",
        runtime_class=runtime_class,
        exempt=_exempt(request, runtime_class, world),
    )


def _exempt(request: Request, runtime_class: str, world: ReviewLookups) -> Exempt:
    # who made a pod is known when it is made: in an update the daemon set controller's tolerations are old anyway
    by_daemon_set = request.operation == "CREATE" and is_daemon_set_pod(request)
    found = world.runtime_classes.get(runtime_class) if world.runtime_classes is not None and runtime_class else None
    if found is None:
        return Exempt(priority_class=world.default_priority_class, is_daemon_set_pod=by_daemon_set)
    return Exempt(
        priority_class=world.default_priority_class,
        node_selector=frozenset(found.node_selector.items()),
        tolerations=found.tolerations or (),
        is_daemon_set_pod=by_daemon_set,
    )
