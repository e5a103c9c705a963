"""Writes decisions into a file as they are made, so that they can be made again: `replay.decision_log`.

For tests and for reports of a wrong decision: each is written before the next is made, which takes some milliseconds
for a thousand pods.
"""

from __future__ import annotations

import gzip
from pathlib import Path

from controller.core.snapshot import Snapshot
from controller.core.workloads.decisions import Plan
from controller.replay import decision_log
from controller.telemetry import logs

_log = logs.get("recorder")


class DecisionRecorder:
    """Records the decisions that admit or evict anybody, at most so many; those without effect would be most."""

    def __init__(self, file: Path, most: int) -> None:
        self._file = file
        self._left = most

    def take(self, snapshot: Snapshot, plan: Plan, limit: int) -> None:
        """Record a decision, unless there are enough. A file that cannot be written ends it: decisions go on."""
        if self._left <= 0 or not (plan.admits or plan.evicts):
            return
        self._left -= 1
        data = decision_log.line(snapshot, plan, limit)
        try:
            is_new = not self._file.exists()
            with gzip.open(self._file, "ab") as written:
                written.write(decision_log.head() + data if is_new else data)
        except OSError as error:
            self._left = 0
            _log.warning("not_recorded", file=str(self._file), why=error.strerror)
            return
        if not self._left:
            _log.info("recorded_enough", file=str(self._file))
