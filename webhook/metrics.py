"""Every metric of the webhook, in one place: prefix, unit, help text, bounded labels (never a pod's name)."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from controller.telemetry.sources import SourceGauges

_BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2)
_REFUSED = ("denied", "unreadable", "bad", "busy", "error")
_RESULTS = {
    "mutate": ("changed", "unchanged", *_REFUSED),
    "mutate_template": ("changed", "unchanged", *_REFUSED),
    "mutate_user": ("changed", "unchanged", *_REFUSED),
    "validate_user": ("allowed", *_REFUSED),
    "validate": ("allowed", *_REFUSED),
}
_NAMED_MOST: Final = 100
_OTHERS: Final = "(others)"
_COUNTED_MOST: Final = 1000
"""Policies with a counter of their own: whoever may write policies could else make ever new ones."""


class WebhookMetrics:
    """The webhook's metrics, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.reviews = self._counter(
            "penstock_webhook_reviews_total",
            "Admission reviews, by endpoint and result: changed, unchanged or allowed; denied, unreadable, bad, busy, "
            "error.",
            "endpoint",
            "result",
        )
        self._reviews = {(e, r): self.reviews.labels(e, r) for e, results in _RESULTS.items() for r in results}
        self.policies = self._counter(
            "penstock_webhook_policies_total",
            "Pod scheduling policies that applied to a pod or template, by policy and result.",
            "policy",
            "result",
        )
        self._counted: dict[str, dict[str, Counter]] = {}
        self.seconds = Histogram(
            "penstock_webhook_review_seconds",
            "Time from a review's body to its answer, by endpoint.",
            ["endpoint"],
            registry=self.registry,
            buckets=_BUCKETS,
        )
        self._seconds = {endpoint: self.seconds.labels(endpoint) for endpoint in _RESULTS}
        self._know_world()

    def _know_world(self) -> None:
        """Make the gauges of what the webhook knows of the cluster."""
        self.sources = SourceGauges("penstock_webhook", "webhook", self.registry)
        self.policies_not_in_effect = self._gauge(
            "penstock_webhook_policies_not_in_effect",
            "Policies that break the rules of their kind and so have no effect, by kind and name.",
            "kind",
            "name",
        )
        self.missing_defaults = self._gauge(
            "penstock_webhook_missing_default_runtime_class",
            "Default RuntimeClasses, of the cluster or of namespaces, that do not exist, by name.",
            "name",
        )

        self.certificate_expires = self._gauge(
            "penstock_webhook_certificate_expiry_timestamp_seconds",
            "When the certificate that the webhook serves ends, in seconds since 1970; 0 while it has none.",
        )

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(name, text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(name, text, labels, registry=self.registry)

    def count_review(self, endpoint: str, result: str) -> None:
        """Count a review and what came of it."""
        self._reviews[endpoint, result].inc()

    def observe_review(self, endpoint: str, seconds: float) -> None:
        """Note how long a review took."""
        self._seconds[endpoint].observe(seconds)

    def count_policy(self, policy: str, result: str) -> None:
        """Count what became of a policy, by itself or, beyond a thousand of them, with the others."""
        counters = self._counted.get(policy)
        if counters is None and len(self._counted) >= _COUNTED_MOST:
            self.policies.labels(_OTHERS, result).inc()
            return
        if counters is None:
            counters = self._counted[policy] = {}
        if result not in counters:
            counters[result] = self.policies.labels(policy, result)
        counters[result].inc()

    def forget_policies(self, existing: Container[str]) -> None:
        """End the counters of policies that are gone."""
        for name in [name for name in self._counted if name not in existing]:
            for result in self._counted.pop(name):
                self.policies.remove(name, result)

    def refresh_faulty(self, policies: Iterable[tuple[str, str]]) -> None:
        """Name the policies (kind, name) that are not in effect; beyond a hundred, say only how many there are."""
        _name(self.policies_not_in_effect, sorted(policies))

    def refresh_missing_defaults(self, names: Iterable[str]) -> None:
        """Name the default classes that do not exist, the first hundred; of the rest, say only how many there are."""
        _name(self.missing_defaults, ((name,) for name in names))


def _name(gauge: Gauge, rows: Iterable[tuple[str, ...]]) -> None:
    """Set a gauge to 1 for each row of labels, of which the last is the name."""
    gauge.clear()
    for number, (*labels, name) in enumerate(rows):
        gauge.labels(*labels, name if number < _NAMED_MOST else _OTHERS).inc()
