"""Of admitted pods: our stamps, and what keeps kube-scheduler from putting them onto a node."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from sys import intern
from typing import Any

from controller.core.keys import (
    ADMITTED_AT,
    ADMITTED_BY,
    CLUSTER_QUEUE,
    FLAVOR,
    FLAVORS,
    PREEMPTIONS,
    RELEASE_ATTEMPT,
)
from controller.kube import wire
from controller.kube.clock import epoch

_MESSAGE_ROOM = 500
_DIGITS = 4


def stamps(labels: Mapping[str, str], notes: Mapping[str, str]) -> dict[str, Any]:
    """Return what our stamps make of the fields of a Pod; of a flavor that has a label no set is read."""
    flavor = labels.get(FLAVOR)
    return {
        "cluster_queue": labels.get(CLUSTER_QUEUE),
        "flavor": flavor,
        "flavors": _flavors(notes[FLAVORS]) if flavor is None and FLAVORS in notes else (),
        "admitted_at": admitted_at(notes.get(ADMITTED_AT)),
        "admitted_by": intern(notes.get(ADMITTED_BY, "")),
        "release_attempt": notes.get(RELEASE_ATTEMPT),
        "preemptions": _preemptions(notes.get(PREEMPTIONS, "")),
    }


@lru_cache(maxsize=1024)
def _flavors(noted: str) -> tuple[str, ...]:
    """The same tuple on pods that carry the same."""
    return tuple(name for name in noted.split(",") if name)


def admitted_at(text: str | None) -> float:
    """Read our stamp; what the break-glass group may have made of it is none."""
    try:
        return epoch(text)
    except (ValueError, OverflowError):
        return 0.0


def _preemptions(text: str) -> int:
    """Read our stamp; what the break-glass group may have made of it is none."""
    return int(text) if len(text) < _DIGITS and text.isascii() and text.isdecimal() else 0


def unscheduled(status: wire.PodStatus) -> str:
    """Return the message of PodScheduled, empty where there is none; a gated pod's says nothing."""
    for one in status.conditions or ():
        if one.type == "PodScheduled" and one.status == "False" and one.reason != "SchedulingGated":
            return one.message[:_MESSAGE_ROOM]
    return ""
