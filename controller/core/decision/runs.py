"""In which order the workloads of each class take their turns in one decision."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from controller.core.snapshot import Snapshot
from controller.core.turns.heads import Head, Heads
from controller.core.workloads.workload import Workload, WorkloadClass


class Runs:
    """Those of one decision: as the snapshot has them, but for those that went already, or have begun to preempt."""

    def __init__(self, snapshot: Snapshot, heads: Heads) -> None:
        self._snapshot = snapshot
        self._heads = heads
        self._of: dict[WorkloadClass, Sequence[Workload]] = {}

    def of(self, kind: WorkloadClass) -> Sequence[Workload]:
        """Return the workloads of a class in their order."""
        found = self._of.get(kind)
        return self._snapshot.waiting.runs[kind] if found is None else found

    def leave_out(self, kind: WorkloadClass, uids: Collection[str]) -> None:
        """Take in that these of a class went."""
        self._of[kind] = [one for one in self.of(kind) if one.uid not in uids]

    def head(self, kind: WorkloadClass) -> Head | None:
        """Return the first of a class, those before all others who have begun to preempt; None: nobody is left."""
        run = self.of(kind)
        reordered = self._heads.preemptors_first(run) if self._heads.is_any_begun else None
        if reordered is not None:
            run = self._of[kind] = reordered
        return self._heads.of(run, 0) if run else None
