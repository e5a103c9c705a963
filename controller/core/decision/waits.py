"""Why classes of workloads wait, as one decision comes to say it."""

from __future__ import annotations

from dataclasses import replace

from controller.core.reasons import Reason
from controller.core.workloads.decisions import Wait
from controller.core.workloads.workload import WorkloadClass


def behind_head(queue: str) -> Wait:
    """Return why all wait behind the head of a StrictFIFO queue."""
    return Wait(Reason.PRIORITY, f"behind others in the StrictFIFO queue {queue}")


class Waits:
    """`of` is what was said of each."""

    def __init__(self) -> None:
        self.of: dict[WorkloadClass, Wait] = {}

    def tell(self, kind: WorkloadClass, wait: Wait) -> None:
        """Say why a class waits; where others go for some of it, why the rest does."""
        first = self.of.get(kind)
        if first is not None and first.preempting:
            self.of[kind] = replace(first, others=wait)
        else:
            self.of[kind] = wait

    def tell_behind(self, first: WorkloadClass, wait: Wait) -> None:
        """Say why the rest of a class waits where others go for its first."""
        if first in self.of and self.of[first].preempting:
            self.tell(first, wait)

    def tell_preempting(self, kind: WorkloadClass, uid: str, wait: Wait) -> None:
        """Say that others go for one of a class: its later ones may find nobody, and must not hide that."""
        before = self.of[kind].preempting if kind in self.of else {}
        self.of[kind] = replace(wait, preempting={**before, uid: wait.text})
