"""A shadow in tests: a cache, what compares its decisions, and what the leader does, told by hand."""

from __future__ import annotations

from typing import Any

from structlog.testing import capture_logs

from controller.cache.cluster import ClusterCache
from controller.core.workloads.pods import Pod
from controller.runtime.observing.admissions import ObservedAdmissions
from controller.runtime.observing.differences import Differences
from controller.runtime.observing.evictions import ObservedEvictions
from controller.runtime.observing.shadow import ObservedPods
from controller.telemetry.metrics import ControllerMetrics
from controller.visibility.start_forecasts import StartForecasts
from tests.support.builders import a_cache, decided
from tests.support.fake_time import FakeTime


class AShadow:
    """Pods come in by `put`, as from the watch; `decide` decides once and hands over."""

    def __init__(self, time: FakeTime, *pods: Pod, ahead: int = 100, **world: Any) -> None:
        self.time = time
        self.is_due = False
        self.cache: ClusterCache = a_cache(on_change=self._changed, **world)
        self.metrics = ControllerMetrics()
        differences = Differences(self.metrics)
        self.admissions = ObservedAdmissions(self.cache, differences, ahead=ahead)
        self.evictions = ObservedEvictions(self.cache, differences, wake=lambda: None)
        self.forecasts = StartForecasts()
        self.pods = ObservedPods(
            self.cache, self.admissions, self.evictions, self.forecasts, is_due=lambda: self.is_due
        )
        self.logged: list[dict[str, Any]] = []
        self.put(*pods)

    def _changed(self) -> None:
        self.is_due = True

    def put(self, *pods: Pod) -> None:
        """Let the watch bring these."""
        with capture_logs() as lines:
            for pod in pods:
                self.pods.put_pod(pod)
        self.logged += [dict(line) for line in lines]

    def decide(self) -> set[str]:
        """Decide once; return who would be released."""
        self.cache.advance(self.time.now)
        plan = decided(self.cache, limit=self.admissions.room())
        for admit in plan.admits:
            self.admissions.submit(admit)
        self.evictions.submit(plan.evicts)
        self.is_due = False
        return {admit.uid for admit in plan.admits}

    def after(self, seconds: float) -> None:
        """Let time go by, and look."""
        self.time.now += seconds
        self.cache.advance(self.time.now)
        with capture_logs() as lines:
            self.admissions.look()
            self.evictions.look()
        self.logged += [dict(line) for line in lines]

    @property
    def results(self) -> dict[tuple[str, str], int]:
        """What was counted, without zeros."""
        samples = [one for metric in self.metrics.observed.collect() for one in metric.samples]
        return {
            (one.labels["what"], one.labels["result"]): int(one.value)
            for one in samples
            if one.name.endswith("_total") and one.value
        }

    @property
    def charged(self) -> int:
        """Milli-cpu in use of the flavor spot."""
        return self.cache.usage.by_queue.get(("team-a", "spot", "cpu"), 0)
