"""Which updates of a pod are judged at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webhook.reviews.admission import Request
from webhook.reviews.lookups import ReviewLookups


def is_judged_update(request: Request, world: ReviewLookups) -> bool:
    """An update, of a pod that is there to stay, by somebody who is not trusted.

    Nothing may hold up a pod that is being deleted. Penstock's own controller is trusted: what its release patch adds
    is the flavor's word, which the account of the pod needs no permission for. The break-glass group has to be able to
    do what it must while the webhook is away, so it is not asked when it is there either.
    """
    if request.operation != "UPDATE" or request.old is None:
        return False
    if world.trusts(request.user) or world.breaks_glass(request.groups):
        return False
    return not (request.pod.get("metadata") or {}).get("deletionTimestamp")


def is_gated(pod: Mapping[str, Any]) -> bool:
    """Whether a scheduling gate is on the pod, ours or another."""
    return bool((pod.get("spec") or {}).get("schedulingGates"))
