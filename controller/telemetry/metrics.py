"""Every metric of the controller, in one place: prefix, unit, help text, bounded labels (never a pod's name)."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from controller.telemetry.queue_metrics import QueueMetrics
from controller.telemetry.sources import SourceGauges

_WAIT_BUCKETS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 14400, 86400)
_FAST_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)
_ERROR_BUCKETS = (-14400, -3600, -900, -300, -60, -10, 0, 10, 60, 300, 900, 3600, 14400)
_REQUEST_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class PatchResult(StrEnum):
    """How a release patch ended."""

    RELEASED = "released"
    CONFLICT = "conflict"
    """The pod had changed; it is decided again."""
    REJECTED = "rejected"
    """The apiserver or admission refused it; it is tried again later."""
    GONE = "gone"
    """The pod was deleted."""
    UNKNOWN = "unknown"
    """No answer; a later read decided."""


class EvictionResult(StrEnum):
    """How an eviction ended."""

    EVICTED = "evicted"
    REFUSED = "refused"
    """By a PodDisruptionBudget or admission; it is tried again while it is wanted."""
    UNANSWERED = "unanswered"
    """The apiserver was away or busy, or did not know us; so too."""
    GONE = "gone"
    """The pod was gone already."""


class ObservedKind(StrEnum):
    """What a shadow controller compares with what the leader does."""

    ADMISSION = "admission"
    EVICTION = "eviction"


class Observed(StrEnum):
    """What a shadow controller found of a decision."""

    AGREED = "agreed"
    """The leader did the same."""
    OTHERWISE = "otherwise"
    """The leader released the pod for another ClusterQueue, or onto other flavors."""
    NOT_RELEASED = "not_released"
    """The shadow decided on an admission that the leader did not make within the patience."""
    RELEASED_FIRST = "released_first"
    """The leader released a pod that the shadow's decisions had left waiting for longer than the patience."""
    NOT_COMPARED = "not_compared"
    """The leader released a pod before the shadow could decide on it: no difference."""
    NOT_EVICTED = "not_evicted"
    """The shadow decided on an eviction that did not begin within the patience."""


OBSERVED: Final = {
    ObservedKind.ADMISSION: (
        Observed.AGREED,
        Observed.OTHERWISE,
        Observed.NOT_RELEASED,
        Observed.RELEASED_FIRST,
        Observed.NOT_COMPARED,
    ),
    ObservedKind.EVICTION: (Observed.AGREED, Observed.NOT_EVICTED),
}
"""Which results each kind of decision has."""


class ControllerMetrics:
    """The controller's metrics, in a registry of their own so that tests do not share them."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        self.decision_seconds = Histogram(
            "penstock_decision_seconds",
            "Time of one decision, from snapshot to plan.",
            registry=registry,
            buckets=_FAST_BUCKETS,
        )
        self.leading = Gauge("penstock_leading", "1 while this process leads, else 0.", registry=registry)
        self.lease_age = Gauge(
            "penstock_lease_age_seconds",
            "How long ago this process renewed the Lease; 0 while it does not lead.",
            registry=registry,
        )
        self.watch_troubles = Counter(
            "penstock_watch_troubles_total",
            "Lists and watches that had to be started again, by resource and cause.",
            ["resource", "cause"],
            registry=registry,
        )
        self.sources = SourceGauges("penstock", "controller", registry)
        self.queues = QueueMetrics(registry)
        self._count_releases(registry)
        self._count_other_writes(registry)
        self._count_observed(registry)
        self._measure_doubts(registry)
        self._measure_queues(registry)
        self._count_forecasts(registry)
        self._measure_history(registry)
        self._count_notifications(registry)

    def _count_notifications(self, registry: CollectorRegistry) -> None:
        self.notifications = Counter(
            "penstock_notifications_total",
            "Notifications that are over, by receiver, type and result (sent, failed, dropped, withdrawn).",
            ["receiver", "type", "result"],
            registry=registry,
        )
        self.notifications_pending = Gauge(
            "penstock_notifications_pending",
            "Notifications that are not sent yet, by receiver.",
            ["receiver"],
            registry=registry,
        )
        self.notifications_faulty = Gauge(
            "penstock_notifications_file_faulty",
            "1 while the file of receivers cannot be used, and the one before it counts; else 0.",
            registry=registry,
        )

    def _measure_history(self, registry: CollectorRegistry) -> None:
        self.history_writes = Counter(
            "penstock_history_writes_total",
            "Batches written to the database of the history, by result (done, failed).",
            ["result"],
            registry=registry,
        )
        for result in ("done", "failed"):
            self.history_writes.labels(result)
        self.history_pending = Gauge(
            "penstock_history_pending", "Changes that are not in the history yet.", registry=registry
        )
        self.history_lost = Gauge(
            "penstock_history_lost",
            "Changes dropped because the history accepted none for too long.",
            registry=registry,
        )

    def _count_forecasts(self, registry: CollectorRegistry) -> None:
        self.forecast_starts = Counter(
            "penstock_forecast_starts_total",
            "Releases of pods whose start was forecast, by their place in the first forecast range (p20 to p90).",
            ["cluster_queue", "range"],
            registry=registry,
        )
        self.forecast_error = Histogram(
            "penstock_forecast_error_seconds",
            "Seconds by which a release came after the median (p50) of the first forecast of a pod; negative: before.",
            ["cluster_queue"],
            registry=registry,
            buckets=_ERROR_BUCKETS,
        )
        self.forecast_rounds = Counter(
            "penstock_forecast_rounds_total",
            "Rounds of forecasts for all waiting workloads, by result (done, failed).",
            ["result"],
            registry=registry,
        )
        for result in ("done", "failed"):
            self.forecast_rounds.labels(result)
        self.forecast_cpu_seconds = Counter(
            "penstock_forecast_cpu_seconds_total", "CPU time of forecasts.", registry=registry
        )

    def _count_releases(self, registry: CollectorRegistry) -> None:
        self.admitted = Counter(
            "penstock_admitted_workloads_total",
            "Pods released, by cluster queue and flavor.",
            ["cluster_queue", "flavor"],
            registry=registry,
        )
        self.wait_seconds = Histogram(
            "penstock_admission_wait_seconds",
            "Time from a pod's creation to its release.",
            ["cluster_queue"],
            registry=registry,
            buckets=_WAIT_BUCKETS,
        )
        self.patches = Counter(
            "penstock_release_patches_total", "Release patches, by result.", ["result"], registry=registry
        )
        for result in PatchResult:
            self.patches.labels(result.value)
        self.release_seconds = Histogram(
            "penstock_release_seconds",
            "Time from the decision on a pod until its release patch is answered, or proves needless.",
            registry=registry,
            buckets=_REQUEST_BUCKETS,
        )
        self.patch_seconds = Histogram(
            "penstock_release_patch_seconds",
            "Time of one release patch at the apiserver.",
            registry=registry,
            buckets=_REQUEST_BUCKETS,
        )

    def _count_other_writes(self, registry: CollectorRegistry) -> None:
        self.evictions = Counter(
            "penstock_evictions_total",
            "Evictions, by cluster queue, cause, result and beneficiary (the queue that preempts; else empty).",
            ["cluster_queue", "cause", "result", "beneficiary"],
            registry=registry,
        )
        self.side_writes = Counter(
            "penstock_side_writes_total",
            "Writes other than release patches, by kind and result (written, failed, dropped, left_out).",
            ["kind", "result"],
            registry=registry,
        )

    def _count_observed(self, registry: CollectorRegistry) -> None:
        self.observed = Counter(
            "penstock_observed_decisions_total",
            "Decisions of a shadow controller, compared with what the leader did, by what was decided and result.",
            ["what", "result"],
            registry=registry,
        )

    def _measure_doubts(self, registry: CollectorRegistry) -> None:
        self.releases_waiting = Gauge(
            "penstock_releases_waiting", "Releases that are decided on and wait to be sent.", registry=registry
        )
        self.doubts = Gauge(
            "penstock_releases_in_doubt",
            "Release patches that got no answer and whose result is not known; their quota stays charged.",
            registry=registry,
        )
        self.oldest_doubt = Gauge(
            "penstock_oldest_release_doubt_seconds",
            "For how long the oldest release patch has been in doubt; 0 if there is none.",
            registry=registry,
        )

    def _measure_queues(self, registry: CollectorRegistry) -> None:
        self.pending = Gauge(
            "penstock_pending_workloads",
            "Waiting pods, by cluster queue and reason.",
            ["cluster_queue", "reason"],
            registry=registry,
        )
        self.requests = Gauge(
            "penstock_pending_requests",
            "Requests of waiting pods, by cluster queue, reason and resource (cpu in cores, memory in bytes).",
            ["cluster_queue", "reason", "resource"],
            registry=registry,
        )
        self.lost = Gauge(
            "penstock_lost_pods",
            "Deleted pods that still exist and are no longer charged: their node is not Ready, or is gone.",
            registry=registry,
        )
        by_resource = ["cluster_queue", "flavor", "resource"]
        unit = "by cluster queue, flavor and resource (cpu in cores, memory in bytes)."
        self.used = Gauge("penstock_quota_used", f"Amount charged, {unit}", by_resource, registry=registry)
        self.quota = Gauge("penstock_quota_nominal", f"Nominal quota, {unit}", by_resource, registry=registry)
