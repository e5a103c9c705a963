"""Who creates a pod: judged by what only they can be where a step leaves the pod alone for it."""

from __future__ import annotations

from controller.core.gate.protection import Actor
from controller.core.gate.users import JOB_MAKERS
from controller.core.keys import ADMITTED_JOB
from controller.core.workloads.held_sets import object_of_set
from webhook.reviews.admission import Request
from webhook.reviews.lookups import ReviewLookups

_MIRROR = "kubernetes.io/config.mirror"
_NODES = "system:nodes"
_DAEMON_SET_CONTROLLER = "system:serviceaccount:kube-system:daemon-set-controller"


def is_mirror_pod(request: Request) -> bool:
    """A static pod's image in the API: only a kubelet may make one, and it runs already."""
    metadata = request.pod.get("metadata") or {}
    return _NODES in request.groups and _MIRROR in (metadata.get("annotations") or {})


def is_daemon_set_pod(request: Request) -> bool:
    """By its creator, not by its owner reference alone: anybody can write that."""
    owners = (request.pod.get("metadata") or {}).get("ownerReferences") or ()
    is_owned = any(owner.get("kind") == "DaemonSet" and owner.get("controller") for owner in owners)
    return is_owned and request.user == _DAEMON_SET_CONTROLLER


def is_of_admitted_job(request: Request) -> bool:
    """A pod that was admitted with its Job: our release wrote the Job's uid into the template, which nobody else may.

    By its creator too: only the Job controller makes pods of that template, and anybody can write the rest on a pod.
    Of an object of a WorkloadKind, whose controller made the Job, it is the uid of a pod set.
    """
    metadata = request.pod.get("metadata") or {}
    uid = (metadata.get("annotations") or {}).get(ADMITTED_JOB)
    if not uid or request.user not in JOB_MAKERS:
        return False
    return any(
        owner.get("controller")
        and owner.get("kind") == "Job"
        and str(owner.get("apiVersion")).startswith("batch/")
        and (owner.get("uid") == uid or object_of_set(uid) is not None)
        for owner in metadata.get("ownerReferences") or ()
    )


def has_controller(request: Request) -> bool:
    """By the owner reference alone, which anybody can write: nothing may be granted for it."""
    owners = (request.pod.get("metadata") or {}).get("ownerReferences") or ()
    return any(owner.get("controller") for owner in owners)


def actor(request: Request, world: ReviewLookups) -> Actor:
    """Return who asks, as the rules that keep the gate ours tell people apart."""
    if world.breaks_glass(request.groups):
        return Actor.BREAK_GLASS
    if world.trusts(request.user):
        return Actor.CONTROLLER
    if is_mirror_pod(request):
        return Actor.MIRRORING_NODE
    if is_of_admitted_job(request):
        return Actor.ADMITTED_JOB
    return Actor.DAEMON_SET_CONTROLLER if is_daemon_set_pod(request) else Actor.ANYBODY
