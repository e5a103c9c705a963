"""Advice: what the apiserver will refuse in an update of a queued pod, in words that say what would be legal.

The apiserver validates an update after mutating admission and before validating admission, so this is the only moment
to speak. It is said in warnings, and the verdict stays the apiserver's: another version may allow more than the one
that `core.pod_update` mirrors.
"""

from __future__ import annotations

from controller.core.pod_update import may_change
from webhook.review import Answer, Request
from webhook.updates import is_gated


def advise(request: Request) -> Answer:
    """Warn of each thing that cannot be changed on the gated pod. Nothing is changed."""
    if request.old is None or not is_gated(request.old) or request.subresource:
        return Answer()
    return Answer(warnings=tuple(str(violation) for violation in may_change(request.old, request.pod)))
