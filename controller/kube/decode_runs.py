"""When a pod ran, as its node reports it, and when it is to be gone: in whole seconds, as `metav1.Time` has them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from controller.kube import wire
from controller.kube.clock import epoch

ENDED: Final = ("Succeeded", "Failed")
"""The phases of a pod whose containers have all ended for good."""


def deletion(meta: wire.PodMeta) -> dict[str, Any]:
    """Return what a request to delete a pod makes of the fields of a Pod."""
    return {
        "is_terminating": meta.deletion_timestamp is not None,
        # the grace period is in it: metav1.ObjectMeta, deletionTimestamp
        "gone_by": epoch(meta.deletion_timestamp),
        "grace": meta.deletion_grace_period_seconds or 0,
    }


def started(status: wire.PodStatus) -> int:
    """Return when the kubelet took the pod up, before it pulled images; 0: it did not yet."""
    return int(epoch(status.start_time))


def ended(status: wire.PodStatus, *, is_terminating: bool) -> int:
    """Return when the last container ended; 0: one may still run, or start again, or nobody said when it ended.

    Where the phase says that the pod ended, containers that never ran are not waited for.
    """
    is_over = status.phase in ENDED
    if not is_over and not is_terminating:
        return 0
    ends = [*_ends(status.container_statuses)]
    if is_over:
        return max([*ends, *_ends(status.init_container_statuses)], default=0)
    return max(ends) if ends and all(ends) else 0


def _ends(statuses: Iterable[wire.ContainerStatus] | None) -> Iterable[int]:
    for one in statuses or ():
        terminated = one.state.terminated if one.state is not None else None
        yield 0 if terminated is None else int(epoch(terminated.finished_at))
