"""The six boards: what they ask Prometheus, and how it is shown."""

from __future__ import annotations

from typing import Final

from deploy.observability.panels import Board, Form, Panel

_QUEUES: Final = 'cluster_queue=~"$cluster_queue"'
_OF_QUEUE: Final = {"cluster_queue": "penstock_quota_nominal"}


_NOT_ACTIVE: Final = 'count(penstock_cluster_queue_condition{condition="Active"} == 0) or vector(0)'


def _sum(metric: str, by: str, where: str) -> str:
    return f"sum by ({by}) ({metric}{{{where}}})"


def _rate(metric: str, by: str, where: str = "") -> str:
    return f"sum by ({by}) (rate({metric}{{{where}}}[$__rate_interval]))"


def _share(part: float, metric: str, by: str = "", where: str = "") -> str:
    labels = ", ".join(filter(None, ("le", by)))
    return f"histogram_quantile({part}, sum by ({labels}) (rate({metric}_bucket{{{where}}}[$__rate_interval])))"


def _times(metric: str) -> dict[str, str]:
    return {"half": _share(0.5, metric), "99 of 100": _share(0.99, metric)}


def _number(title: str, query: str, *, unit: str = "short", red: float | None = None, text: str = "") -> Panel:
    return Panel(title, {"": query}, text, Form.NUMBER, unit, width=4, height=4, red=red)


_WAITING: Final = Panel(
    "Waiting pods by reason",
    {"{{reason}}": f"sum by (reason) (penstock_pending_workloads{{{_QUEUES}}})"},
    "Why pods wait; docs/reasons.md says what each reason means.",
    is_stacked=True,
)
_WAIT_TIME: Final = Panel(
    "Wait of admitted pods",
    {
        "half": _share(0.5, "penstock_admission_wait_seconds", where=_QUEUES),
        "9 of 10": _share(0.9, "penstock_admission_wait_seconds", where=_QUEUES),
    },
    "From the creation of a pod to its release.",
    unit="s",
)
_USED: Final = Panel(
    "Used of the quota",
    {
        "{{cluster_queue}} {{flavor}} {{resource}}": (
            f"penstock_quota_used{{{_QUEUES}}} / (penstock_quota_nominal{{{_QUEUES}}} > 0)"
        )
    },
    "More than 100 %: the queue borrows, or its quota was lowered.",
    unit="percentunit",
)
_RELEASED: Final = Panel(
    "Released pods",
    {"{{cluster_queue}} {{flavor}}": _rate("penstock_admitted_workloads_total", "cluster_queue, flavor", _QUEUES)},
    unit="ops",
)

OVERVIEW: Final = Board(
    "overview",
    "Overview",
    "Whether Penstock works, what waits and what runs.",
    {
        "Now": (
            _number("Leaders", "sum(penstock_leading)", text="One, always."),
            _number("Waiting pods", "sum(penstock_pending_workloads) or vector(0)"),
            _number("Running pods", 'sum(penstock_admitted_pods{phase="running"})'),
            _number("Queues that admit nothing", _NOT_ACTIVE, red=1),
            _number("Releases in doubt", "sum(penstock_releases_in_doubt)", red=1),
            _number("Oldest data", "max(penstock_source_stale_seconds)", unit="s", red=60),
        ),
        "Work": (_WAITING, _WAIT_TIME, _RELEASED, _USED),
    },
    _OF_QUEUE,
)

QUEUES: Final = Board(
    "queues",
    "Queues",
    "All ClusterQueues beside each other: quota, usage, what is borrowed, what waits, and their conditions.",
    {
        "Quota": (
            _USED,
            Panel(
                "Borrowed",
                {"{{cluster_queue}} {{flavor}} {{resource}}": f"penstock_quota_borrowed{{{_QUEUES}}} > 0"},
                "Beyond what the queue and those below it own. The sum over a tree is what is lent there.",
            ),
            Panel(
                "Admitted pods",
                {"{{cluster_queue}} {{phase}}": f"penstock_admitted_pods{{{_QUEUES}}}"},
                is_stacked=True,
            ),
            Panel(
                "Requests that wait",
                {
                    "{{cluster_queue}} {{resource}}": _sum(
                        "penstock_pending_requests", "cluster_queue, resource", _QUEUES
                    )
                },
                "cpu in cores, memory in bytes.",
            ),
        ),
        "Waiting": (_WAITING, _WAIT_TIME),
        "Conditions": (
            Panel(
                "Conditions",
                {"": f"penstock_cluster_queue_condition{{{_QUEUES}}}"},
                "1 is true. `kubectl describe clusterqueue` has the reason and the message.",
                Form.TABLE,
                width=24,
            ),
        ),
    },
    _OF_QUEUE,
)

TENANT: Final = Board(
    "tenant",
    "One queue",
    "One ClusterQueue, as the team that uses it wants to see it.",
    {
        "Now": (
            _number("Running pods", f'sum(penstock_admitted_pods{{{_QUEUES}, phase="running"}})'),
            _number("On no node yet", f'sum(penstock_admitted_pods{{{_QUEUES}, phase="reserved"}})'),
            _number("Waiting pods", f"sum(penstock_pending_workloads{{{_QUEUES}}}) or vector(0)"),
            _number("Half wait less than", _share(0.5, "penstock_admission_wait_seconds", where=_QUEUES), unit="s"),
            _number("Budget used", f"max(penstock_budget_used_ratio{{{_QUEUES}}})", unit="percentunit", red=1),
            _number("Budget lasts", f"min(penstock_budget_left_seconds{{{_QUEUES}}})", unit="s"),
        ),
        "Why pods wait": (_WAITING, _WAIT_TIME),
        "Quota and budget": (
            Panel(
                "Used",
                {
                    "{{flavor}} {{resource}}": f"penstock_quota_used{{{_QUEUES}}}",
                    "{{flavor}} {{resource}}, quota": f"penstock_quota_nominal{{{_QUEUES}}}",
                },
            ),
            Panel("Budget used", {"{{budget}}": f"penstock_budget_used_ratio{{{_QUEUES}}}"}, unit="percentunit", red=1),
        ),
        "Forecasts": (
            Panel(
                "Starts beside their first forecast",
                {"{{range}}": f"sum by (range) (increase(penstock_forecast_starts_total{{{_QUEUES}}}[1h]))"},
                "within: between the 20th and the 90th percentile, where seven of ten should be.",
                is_stacked=True,
            ),
            Panel(
                "How late starts were",
                {
                    "half": _share(0.5, "penstock_forecast_error_seconds", where=_QUEUES),
                    "9 of 10": _share(0.9, "penstock_forecast_error_seconds", where=_QUEUES),
                },
                "Beside the median of their first forecast. Negative: earlier.",
                unit="s",
                is_signed=True,
            ),
        ),
    },
    _OF_QUEUE,
    is_of_one=True,
)

FAIRNESS: Final = Board(
    "fairness",
    "Fairness and preemption",
    "Who has which share of a tree, and who is evicted.",
    {
        "Shares": (
            Panel(
                "Weighted share",
                {"{{cluster_queue}}": f"penstock_weighted_share{{{_QUEUES}}}"},
                "Of trees that share fairly. The higher, the more a queue borrows for its weight.",
            ),
            Panel("Borrowed", {"{{cluster_queue}} {{flavor}} {{resource}}": f"penstock_quota_borrowed{{{_QUEUES}}}"}),
        ),
        "Evictions": (
            Panel(
                "Evicted pods",
                {
                    "{{cluster_queue}} {{cause}}": (
                        "sum by (cluster_queue, cause) "
                        f'(increase(penstock_evictions_total{{{_QUEUES}, result="evicted"}}[5m]))'
                    )
                },
                is_stacked=True,
            ),
            Panel(
                "Pods that went for a queue",
                {
                    "{{beneficiary}} from {{cluster_queue}}": (
                        "sum by (beneficiary, cluster_queue) "
                        '(increase(penstock_evictions_total{cause="Preempted", result="evicted"}[5m]))'
                    )
                },
                "Preempted pods, by the ClusterQueue whose workload needed their place.",
                is_stacked=True,
            ),
            Panel(
                "Evictions that were refused",
                {
                    "{{cluster_queue}} {{result}}": (
                        "sum by (cluster_queue, result) "
                        f'(increase(penstock_evictions_total{{{_QUEUES}, result=~"refused|unanswered"}}[5m]))'
                    )
                },
                "By a PodDisruptionBudget, or an apiserver that gave no answer.",
            ),
            Panel(
                "Pods that wait for others to go",
                {
                    "{{cluster_queue}}": _sum(
                        "penstock_pending_workloads", "cluster_queue", f'{_QUEUES}, reason="Preempting"'
                    )
                },
            ),
        ),
    },
    _OF_QUEUE,
)

CONTROLLER: Final = Board(
    "controller",
    "Controller and apiserver",
    "What the controller does, how long it takes, and how the apiserver answers.",
    {
        "Now": (
            _number("Leaders", "sum(penstock_leading)"),
            _number("Age of the Lease", "max(penstock_lease_age_seconds)", unit="s", red=7),
            _number("Releases that wait to be sent", "sum(penstock_releases_waiting)"),
            _number("Oldest doubt", "max(penstock_oldest_release_doubt_seconds)", unit="s", red=60),
            _number("Oldest data", "max(penstock_source_stale_seconds)", unit="s", red=60),
            _number("Lost pods", "max(penstock_lost_pods)", red=1),
        ),
        "Decisions": (
            Panel(
                "Time of a decision",
                _times("penstock_decision_seconds"),
                unit="s",
            ),
            Panel("Decisions", {"": "sum(rate(penstock_decision_seconds_count[$__rate_interval]))"}, unit="ops"),
        ),
        "Apiserver": (
            Panel(
                "From a decision to its release",
                _times("penstock_release_seconds"),
                "How long releases wait for their turn, and for the answer of the apiserver.",
                unit="s",
            ),
            Panel(
                "Time of a release patch",
                _times("penstock_release_patch_seconds"),
                unit="s",
            ),
            Panel(
                "Release patches",
                {"{{result}}": _rate("penstock_release_patches_total", "result")},
                unit="ops",
                is_stacked=True,
            ),
            Panel(
                "Events, conditions and statuses",
                {"{{kind}} {{result}}": _rate("penstock_side_writes_total", "kind, result")},
                unit="ops",
            ),
            Panel(
                "Lists and watches that were started again",
                {"{{resource}} {{cause}}": "sum by (resource, cause) (increase(penstock_watch_troubles_total[5m]))"},
            ),
        ),
        "Beside decisions": (
            Panel("Forecasts", {"{{result}}": "sum by (result) (increase(penstock_forecast_rounds_total[5m]))"}),
            Panel(
                "Notifications",
                {"{{receiver}} {{result}}": "sum by (receiver, result) (increase(penstock_notifications_total[5m]))"},
            ),
            Panel(
                "History",
                {
                    "{{result}}": "sum by (result) (increase(penstock_history_writes_total[5m]))",
                    "not written yet": "sum(penstock_history_pending)",
                    "lost": "sum(penstock_history_lost)",
                },
            ),
            Panel(
                "A shadow beside the leader",
                {"{{what}} {{result}}": "sum by (what, result) (increase(penstock_observed_decisions_total[5m]))"},
            ),
        ),
    },
)

WEBHOOK: Final = Board(
    "webhook",
    "Webhook",
    "Reviews: how many, how they end, and how long they take; and what policies do to pods.",
    {
        "Reviews": (
            Panel(
                "Reviews",
                {"{{endpoint}} {{result}}": _rate("penstock_webhook_reviews_total", "endpoint, result")},
                "After bad, busy and error the failure policy decides.",
                unit="ops",
            ),
            Panel(
                "Time of a review",
                _times("penstock_webhook_review_seconds"),
                "The apiserver waits 2 s.",
                unit="s",
                red=0.5,
            ),
        ),
        "Policies": (
            Panel(
                "What policies did",
                {"{{policy}} {{result}}": _rate("penstock_webhook_policies_total", "policy, result")},
                unit="ops",
            ),
            Panel(
                "Policies not in effect",
                {"": "max by (kind, name) (penstock_webhook_policies_not_in_effect) > 0"},
                form=Form.TABLE,
            ),
            Panel(
                "Default RuntimeClasses that do not exist",
                {"": "max by (name) (penstock_webhook_missing_default_runtime_class) > 0"},
                form=Form.TABLE,
            ),
            Panel(
                "Out of date",
                {"{{resource}}": "max by (resource) (penstock_webhook_source_stale_seconds)"},
                unit="s",
                red=60,
            ),
            Panel(
                "Time until the certificate ends",
                {"": "min(penstock_webhook_certificate_expiry_timestamp_seconds) - time()"},
                "It is renewed 30 days before.",
                unit="s",
            ),
        ),
    },
)

BOARDS: Final = (OVERVIEW, QUEUES, TENANT, FAIRNESS, CONTROLLER, WEBHOOK)
