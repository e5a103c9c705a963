"""Metrics of ClusterQueues beyond quota and usage: what is borrowed, admitted, shared and budgeted."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Gauge

_AMOUNTS = "(cpu in cores, memory in bytes)"


class QueueMetrics:
    """Gauges that are set when somebody scrapes; what a queue does not have, it has no series of."""

    def __init__(self, registry: CollectorRegistry) -> None:
        by_resource = ["cluster_queue", "flavor", "resource"]
        self.borrowed = Gauge(
            "penstock_quota_borrowed",
            f"Amount borrowed by the queue with those below it, by cluster queue, flavor and resource {_AMOUNTS}.",
            by_resource,
            registry=registry,
        )
        self.pods = Gauge(
            "penstock_admitted_pods",
            "Admitted pods of the queue itself, by cluster queue and phase (running; reserved: on no node yet).",
            ["cluster_queue", "phase"],
            registry=registry,
        )
        self.conditions = Gauge(
            "penstock_cluster_queue_condition",
            "1 while a condition of the queue's status is true, 0 while it is false, by cluster queue and condition.",
            ["cluster_queue", "condition"],
            registry=registry,
        )
        self.share = Gauge(
            "penstock_weighted_share",
            "Weighted share of a queue whose tree shares fairly, as in its status, by cluster queue.",
            ["cluster_queue"],
            registry=registry,
        )
        self._measure_budgets(registry)

    def _measure_budgets(self, registry: CollectorRegistry) -> None:
        by_budget = ["cluster_queue", "budget"]
        self.budget_used = Gauge(
            "penstock_budget_used_ratio",
            "Part of a budget that is used in its period, by cluster queue and budget.",
            by_budget,
            registry=registry,
        )
        self.budget_left = Gauge(
            "penstock_budget_left_seconds",
            "Seconds until a budget is used up at the present rate, by cluster queue and budget; none where it lasts.",
            by_budget,
            registry=registry,
        )

    def clear(self) -> None:
        """Drop all series: queues, budgets and reasons come and go."""
        gauges = (self.borrowed, self.pods, self.conditions, self.share, self.budget_used, self.budget_left)
        for gauge in gauges:
            gauge.clear()
