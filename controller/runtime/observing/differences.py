"""Counts what a shadow found, and logs each difference: some lines a second at most, however many there are."""

from __future__ import annotations

from typing import Final

from controller.core.workloads.pods import Pod
from controller.kube import clock
from controller.telemetry import logs
from controller.telemetry.metrics import OBSERVED, ControllerMetrics, Observed, ObservedKind

_log = logs.get("observer")

MOST_LINES: Final = 5
"""Lines a second at most; the next line after that says how many were left out."""


class Differences:
    """The counter `penstock_observed_decisions_total`, and the log."""

    def __init__(self, metrics: ControllerMetrics, *, is_logged: bool = True) -> None:
        """`is_logged`: whether each difference is logged; one that stands by is there to answer, and only counts."""
        self._is_logged = is_logged
        self._observed = metrics.observed
        for what, results in OBSERVED.items():
            for result in results:
                self._observed.labels(what.value, result.value)  # so that a rate begins at 0
        self._second = 0
        self._lines = 0
        self._left_out = 0

    def count(self, what: ObservedKind, result: Observed) -> None:
        """Count a decision; of a difference `differs` does."""
        self._observed.labels(what.value, result.value).inc()

    def differs(self, what: ObservedKind, result: Observed, pod: Pod, *, ours: str, theirs: str) -> None:
        """Count and log a difference: what the shadow decided, and what the leader did."""
        self.count(what, result)
        if not self._is_logged:
            return
        second = int(clock.monotonic())
        if second != self._second:
            self._second, self._lines = second, 0
        if self._lines >= MOST_LINES:
            self._left_out += 1
            return
        self._lines += 1
        _log.warning(
            "decided_otherwise",
            what=what.value,
            result=result.value,
            pod=pod.key,
            ours=ours,
            theirs=theirs,
            left_out=self._left_out,
        )
        self._left_out = 0
