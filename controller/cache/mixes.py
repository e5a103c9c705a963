"""Which blocked classes may go on since a mix of spot and on-demand moved, by pods that came or went."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from controller.cache.blocked import Blocked
from controller.cache.keyed import put_or_drop
from controller.core.fitting.mixing import rests_on_mix, standing
from controller.core.queueing.queues import ClusterQueue, Flavor
from controller.core.quota.tree_usage import TreeUsage
from controller.core.workloads.workload import WorkloadClass


class Mixes:
    """How each queue with a mix stood when its classes were opened last."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, int]] = {}
        self._mixed: dict[str, str] = {}

    def queue_changed(self, name: str, queue: ClusterQueue | None) -> None:
        """Take in whether a queue has a mix."""
        put_or_drop(self._mixed, name, None if queue is None or queue.mix is None else name)

    def forget(self, queue: str) -> None:
        """Let what waits for the mix of a queue be looked at again: a decision found it with more than is so now."""
        self._seen.pop(queue, None)

    def open(
        self,
        blocked: Blocked,
        queues: Mapping[str, ClusterQueue],
        flavors: Mapping[str, Flavor],
        usage: TreeUsage,
        classes: Callable[[str], Iterable[WorkloadClass]],
    ) -> None:
        """Open what waits for a mix that moved, and what waits for a later flavor: the earlier one may be closed."""
        for queue in map(queues.__getitem__, self._mixed):
            now = standing(flavors, usage, queue)
            if self._seen.get(queue.name) == now:
                continue
            self._seen[queue.name] = now
            blocked.open([kind for kind in classes(queue.name) if _rests_on_mix(blocked, kind)])


def _rests_on_mix(blocked: Blocked, kind: WorkloadClass) -> bool:
    wait = blocked.waits.get(kind)
    return wait is not None and rests_on_mix(wait)
