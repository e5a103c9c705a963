"""What waits: workloads in order, why each class does, what is known to be blocked, and groups being put together."""

from __future__ import annotations

from collections.abc import Mapping

from controller.cache.blocked import Blocked
from controller.cache.gangs import Gangs
from controller.cache.reasons import Reasons
from controller.core.backlog import Backlog
from controller.core.gangs import Assembly
from controller.core.groups import GroupKey
from controller.core.pods import Pod
from controller.core.workloads import Workload, WorkloadClass


class Waiting:
    """The backlog and what is remembered about it. `pods` is the cache's own, and only read."""

    def __init__(self, pods: Mapping[str, Pod]) -> None:
        self._pods = pods
        self.backlog = Backlog()
        self.reasons = Reasons()
        self.blocked = Blocked()
        self.gangs = Gangs()

    def put(self, workload: Workload) -> bool:
        """Let a workload wait, or wait as another one; say whether that changes anything."""
        former = self.backlog.get(workload.uid)
        if not self.backlog.put(workload):
            return False
        self.mark_due(workload)
        if former is not None and former.kind != workload.kind:
            self._left(former.kind)
        return True

    def take_out(self, uid: str) -> bool:
        """Let a workload wait no longer; say whether it did."""
        removed = self.backlog.remove(uid)
        if removed is not None:
            self._left(removed.kind)
        return removed is not None

    def mark_due(self, workload: Workload) -> None:
        """Note that the conditions of its pods may differ from what they should say."""
        for uid in workload.pods:
            pod = self._pods.get(uid)
            if pod is not None:
                self.reasons.mark(uid, created=pod.created, said=pod.said)

    def put_group(self, key: GroupKey, made: Assembly) -> None:
        """Let a group wait as these workloads, and as no others any more."""
        uids = {workload.uid for workload in made.workloads}
        for uid in self.gangs.wait_as(key, uids, again_at=made.again_at):
            self.take_out(uid)
        for workload in made.workloads:
            self.put(workload)

    def _left(self, kind: WorkloadClass) -> None:
        if kind not in self.backlog.runs:
            self.blocked.open([kind])
            self.reasons.forget([kind])
