"""Which pods are on their way out, as one decision sees it, and until when others wait for one of them to go."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from controller.core.evictions.lost_pods import LOST_SECONDS
from controller.core.workloads.pods import Pod

_LEAST_WAITED: Final = 300.0
"""Seconds from the request to delete a pod for which others wait for it at least, whatever its grace period."""
_MOST_WAITED: Final = 3600.0
"""Seconds for which they wait at most: a grace period is its user's to choose, and may be years."""


@dataclass(frozen=True, slots=True)
class Leaving:
    """Pods by uid.

    `evicting`: whose eviction is under way, or got no answer or was refused a moment ago, `refused` the last alone,
    `lately_refused` those of the last hour, `evictions_left` how many more may be sent. `terminating` are being
    deleted, `stuck` for long.
    """

    evicting: AbstractSet[str] = frozenset()
    refused: AbstractSet[str] = frozenset()
    lately_refused: AbstractSet[str] = frozenset()
    terminating: AbstractSet[str] = frozenset()
    stuck: AbstractSet[str] = frozenset()
    evictions_left: int = 0


NOBODY: Final = Leaving()


def stuck_at(pod: Pod) -> float | None:
    """Return from when on, epoch seconds, nobody waits any more for a pod to go; None: it is not being deleted.

    Its grace period is waited for, with as much time as its node has to tell that it is gone: who gave up before would
    find others on a part of the room that it waits for, and go on evicting them.
    """
    if not pod.is_terminating or not pod.gone_by or pod.is_finished:
        return None
    waited = max(_LEAST_WAITED, pod.grace + LOST_SECONDS)
    # the apiserver's sum of the two turns over where the period is hundreds of years
    asked = max(pod.gone_by - pod.grace, pod.created)
    return asked + min(waited, _MOST_WAITED)
