"""Step: take away what only Penstock may write. Users' templates carry our stamps when they are copied from a pod.

What is written at create is not among it: other steps keep it true (`noted`, `users`).
"""

from __future__ import annotations

from controller.core.gate.protection import stamps_on
from controller.core.kubernetes.pointers import escape
from webhook.pods.creators import is_of_admitted_job
from webhook.reviews.admission import NOTHING, Answer, Request
from webhook.reviews.lookups import ReviewLookups


def strip_stamps(request: Request, _: ReviewLookups) -> Answer:
    """Remove our stamped labels and annotations from a pod that is being created, with a warning that names them."""
    found = stamps_on(request.pod.get("metadata") or {})
    if not found or is_of_admitted_job(request):
        return NOTHING
    names = ", ".join(key for _, key in found)
    return Answer(
        operations=tuple({"op": "remove", "path": f"/metadata/{part}/{escape(key)}"} for part, key in found),
        warnings=(f"removed {names}: only Penstock writes these, when it admits the pod",),
        audit=(("stripped", names),),
    )
