"""Who creates a pod: judged by what only they can be where a step leaves the pod alone for it."""

from __future__ import annotations

from controller.core.gate.protection import Actor
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
    return Actor.DAEMON_SET_CONTROLLER if is_daemon_set_pod(request) else Actor.ANYBODY
