"""Of admitted pods: when that was, and what keeps kube-scheduler from putting them onto a node."""

from __future__ import annotations

from controller.core.keys import ADMITTED_AT
from controller.kube import wire
from controller.kube.clock import epoch

_MESSAGE_ROOM = 500


def admitted_at(annotations: dict[str, str] | None) -> float:
    """Read our stamp; what the break-glass group may have made of it is none."""
    try:
        return epoch(annotations.get(ADMITTED_AT)) if annotations else 0.0
    except (ValueError, OverflowError):
        return 0.0


def unscheduled(status: wire.PodStatus) -> str:
    """Return the message of PodScheduled, empty where there is none; a gated pod's says nothing."""
    for one in status.conditions or ():
        if one.type == "PodScheduled" and one.status == "False" and one.reason != "SchedulingGated":
            return one.message[:_MESSAGE_ROOM]
    return ""
