"""When a pod ran, as its node reports it: in whole seconds, as `metav1.Time` has them."""

from __future__ import annotations

from collections.abc import Iterable

from controller.kube import wire
from controller.kube.clock import epoch


def started(status: wire.PodStatus) -> int:
    """Return when the kubelet took the pod up, before it pulled images; 0: it did not yet."""
    return int(epoch(status.start_time))


def ended(status: wire.PodStatus, *, is_over: bool, is_terminating: bool) -> int:
    """Return when the last container ended; 0: one may still run, or start again, or nobody said when it ended.

    `is_over`: the phase says that the pod ended, so that containers that never ran are not waited for.
    """
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
