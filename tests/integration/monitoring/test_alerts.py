"""Each alert fires when it should, and no other with it; boards ask what Prometheus reads: by promtool."""

from __future__ import annotations

from typing import Any

import pytest

from deploy.observability.catalog import BOARDS
from deploy.observability.panels import Board
from tests.support import promtool

pytestmark = [pytest.mark.integration, pytest.mark.more]  # promtool takes minutes to build

Json = dict[str, Any]
ALERTS = promtool.alerts()

LEADS = {"penstock_leading": "1x40", "penstock_decision_seconds_count": "0+6x40"}
"""What is well: a controller leads and decides."""
REJECTED, ENTRY = "apiserver_admission_webhook_rejection_count", "queued-pods.penstock.dev"
FIRES: dict[str, tuple[dict[str, str], Json]] = {
    "PenstockNoLeader": ({"penstock_leading": "0x40"}, {}),
    "PenstockNotDeciding": ({"penstock_decision_seconds_count": "7x40"}, {}),
    "PenstockReleasesRejected": ({'penstock_release_patches_total{result="rejected"}': "0x15 1x25"}, {}),
    "PenstockReleasesInDoubt": ({"penstock_oldest_release_doubt_seconds": "0x15 61x25"}, {}),
    "PenstockDataOutOfDate": ({'penstock_source_stale_seconds{resource="pods"}': "0x15 70x25"}, {"resource": "pods"}),
    "PenstockEvictionsRefused": (
        {'penstock_evictions_total{cluster_queue="a", cause="Preempted", result="refused"}': "1+1x40"},
        {"cluster_queue": "a", "cause": "Preempted"},
    ),
    "PenstockQueueInvalid": (
        {'penstock_pending_workloads{cluster_queue="a", reason="QueueInvalid"}': "3x40"},
        {"cluster_queue": "a", "value": "3"},
    ),
    "PenstockOverQuota": (
        {'penstock_cluster_queue_condition{cluster_queue="a", condition="OverQuota"}': "1x40"},
        {"cluster_queue": "a"},
    ),
    "PenstockQueueNotFound": (
        {'penstock_pending_workloads{cluster_queue="", reason="QueueNotFound"}': "2x40"},
        {"value": "2"},
    ),
    "PenstockFlavorDry": (
        {'penstock_pending_workloads{cluster_queue="a", reason="FlavorDry"}': "4x40"},
        {"cluster_queue": "a", "value": "4"},
    ),
    "PenstockLostPods": ({"penstock_lost_pods": "1x40"}, {"value": "1"}),
    "PenstockWebhookAway": (
        {f'{REJECTED}{{name="{ENTRY}", error_type="calling_webhook_error"}}': "1+1x40"},
        {"name": ENTRY},
    ),
    "PenstockWebhookCertificateExpires": ({"penstock_webhook_certificate_expiry_timestamp_seconds": "0x40"}, {}),
    "PenstockWebhookErrors": (
        {'penstock_webhook_reviews_total{endpoint="mutate", result="error"}': "0x10 15+0x30"},
        {},
    ),
    "PenstockWebhookSlow": (
        {
            'penstock_webhook_review_seconds_bucket{endpoint="mutate", le="0.5"}': "0x40",
            'penstock_webhook_review_seconds_bucket{endpoint="mutate", le="2"}': "0+60x40",
            'penstock_webhook_review_seconds_bucket{endpoint="mutate", le="+Inf"}': "0+60x40",
        },
        {"value": "1.985s"},
    ),
    "PenstockWebhookFlooded": ({'penstock_webhook_reviews_total{endpoint="mutate", result="busy"}': "0x15 1x25"}, {}),
    "PenstockWebhookDataOutOfDate": (
        {'penstock_webhook_source_stale_seconds{resource="pods"}': "0x15 70x25"},
        {"resource": "pods"},
    ),
    "PenstockPolicyNotInEffect": (
        {'penstock_webhook_policies_not_in_effect{kind="SchedulingPolicy", name="a"}': "1x40"},
        {"kind": "SchedulingPolicy", "name": "a"},
    ),
    "PenstockRuntimeClassMissing": (
        {'penstock_webhook_missing_default_runtime_class{name="a"}': "1x40"},
        {"name": "a"},
    ),
    "PenstockHistoryNotWritten": ({'penstock_history_writes_total{result="failed"}': "0x15 1x25"}, {}),
    "PenstockNotificationsFileFaulty": ({"penstock_notifications_file_faulty": "1x40"}, {}),
    "PenstockNotificationsFail": (
        {'penstock_notifications_total{receiver="a", type="t", result="failed"}': "0x15 30x25"},
        {"receiver": "a", "value": "30"},
    ),
}


def test_nothing_fires_where_all_is_well() -> None:
    assert promtool.trouble(LEADS, {}, "20m") == ""


@pytest.mark.parametrize("name", ALERTS)
def test_it_fires_alone_when_it_should(name: str) -> None:
    series, labels = FIRES[name]
    assert promtool.trouble({**LEADS, **series}, {name: [labels]}, "20m") == ""


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.uid)
def test_prometheus_reads_all_that_a_board_asks(board: Board) -> None:
    assert promtool.unreadable([query for panel in board.panels() for query in panel.queries.values()]) == ""
    assert "unclosed left parenthesis" in promtool.unreadable(["bad("])
