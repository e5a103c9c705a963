"""Advice: what the apiserver will refuse in an update of a queued pod, in words that say what would be legal.

The apiserver validates an update after mutating admission and before validating admission, so this is the only moment
to speak. It is said in warnings, and the verdict stays the apiserver's: another version may allow more than the one
that `core.pod_update` mirrors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.core.pod_update import may_change
from webhook.pods import directives
from webhook.pods.limits import ENTRIES_MOST, TooMuch
from webhook.pods.updates import is_gated
from webhook.reviews.admission import Answer, Request


def advise(request: Request) -> Answer:
    """Warn of each thing that cannot be changed on the gated pod. Nothing is changed."""
    if request.old is None or not is_gated(request.old) or request.subresource:
        return Answer()
    if not (_is_short(request.old) and _is_short(request.pod)):
        return Answer()
    return Answer(warnings=tuple(str(violation) for violation in may_change(request.old, request.pod)))


def _is_short(pod: Mapping[str, Any]) -> bool:
    """Whether the pod is compared in no time: advice is not worth that others wait."""
    metadata, spec = pod.get("metadata") or {}, pod.get("spec") or {}
    try:
        is_readable = directives.read(spec) is not None
    except TooMuch:
        return False
    lists = [value for value in (*metadata.values(), *spec.values()) if isinstance(value, list)]
    return is_readable and all(len(entries) <= ENTRIES_MOST for entries in lists)
