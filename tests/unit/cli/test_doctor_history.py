"""What `penstock doctor` makes of what the leader says of its history. Real databases: tests/integration."""

from __future__ import annotations

import pytest

from controller.cli.doctor_checks.every import examine
from controller.cli.doctor_checks.history import HISTORY
from controller.core import keys
from controller.history.health import HistoryHealth
from tests.support.still_cluster import Json, StillClient

LEASE = "/apis/coordination.k8s.io/v1/namespaces/penstock-system/leases/penstock-controller"
AWAY = "postgresql://db/penstock: connection refused"


def a_lease(annotations: dict[str, str], holder: str = "one") -> StillClient:
    lease: Json = {"metadata": {"annotations": annotations}, "spec": {"holderIdentity": holder}}
    return StillClient({LEASE: lease})


@pytest.mark.parametrize(
    ("health", "expected"),
    [
        (HistoryHealth(), []),
        (HistoryHealth(behind_seconds=10, unwritten=1, error=AWAY), []),
        (
            HistoryHealth(behind_seconds=75, unwritten=3, error=AWAY),
            [("Error", f"was not written for 1m15s; 3 changes wait: {AWAY}")],
        ),
        (HistoryHealth(behind_seconds=60, unwritten=9), []),
        (HistoryHealth(behind_seconds=61, unwritten=9), [("Warning", "is behind for 1m1s; 9 changes wait")]),
        (HistoryHealth(lost=7), [("Warning", "has lost 7 changes since the leader started")]),
    ],
)
async def test_what_is_not_written_is_found(health: HistoryHealth, expected: list[tuple[str, str]]) -> None:
    (result,) = await examine(a_lease(health.annotations()).cluster, (HISTORY,))
    assert result.is_done
    assert [(one.severity.value, one.what) for one in result.findings] == expected
    assert {one.where for one in result.findings} <= {"the history"}


@pytest.mark.parametrize(
    "client",
    [
        StillClient({}),
        a_lease({}),
        a_lease({keys.HISTORY: "yes"}),
        a_lease(HistoryHealth(behind_seconds=600, error=AWAY).annotations(), holder=""),
    ],
)
async def test_where_no_leader_keeps_one_nothing_is_found(client: StillClient) -> None:
    (result,) = await examine(client.cluster, (HISTORY,))
    assert (result.findings, result.unseen) == ((), "no controller leads that keeps a history")


def test_a_long_error_does_not_fill_the_lease() -> None:
    (text,) = HistoryHealth(error="x" * 10_000).annotations().values()
    assert 300 < len(text) < 500
