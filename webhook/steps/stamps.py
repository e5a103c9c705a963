"""Step: take away what only Penstock may write. Users' templates carry our stamps when they are copied from a pod.

What is written at create is not among it: other steps keep it true (`noted`, `users`).
"""

from __future__ import annotations

from typing import Any

from controller.core.keys import STAMPED_ANNOTATIONS, STAMPED_LABELS, WRITTEN_AT_CREATE
from controller.core.kubernetes.pointers import escape
from webhook.reviews.admission import NOTHING, Answer, Request
from webhook.reviews.lookups import ReviewLookups

_STAMPS = (
    ("labels", tuple(STAMPED_LABELS)),
    ("annotations", tuple(key for key in STAMPED_ANNOTATIONS if key not in WRITTEN_AT_CREATE)),
)


def strip_stamps(request: Request, _: ReviewLookups) -> Answer:
    """Remove our stamped labels and annotations from a pod that is being created, with a warning that names them."""
    metadata = request.pod.get("metadata") or {}
    found = [(kind, key) for kind, keys in _STAMPS if (written := metadata.get(kind)) for key in keys if key in written]
    if not found:
        return NOTHING
    operations: tuple[dict[str, Any], ...] = tuple(
        {"op": "remove", "path": f"/metadata/{kind}/{escape(key)}"} for kind, key in found
    )
    names = ", ".join(key for _, key in found)
    return Answer(
        operations=operations,
        warnings=(f"removed {names}: only Penstock writes these, when it admits the pod",),
        audit=(("stripped", names),),
    )
