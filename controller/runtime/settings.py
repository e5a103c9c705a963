"""What of a controller can be set from outside."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from controller.core.kubernetes.quota_resources import AS_REQUESTED, QuotaResources
from controller.kube.lease import Election
from controller.runtime.history_lane import History
from controller.telemetry.http import Address


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What can be set from outside.

    At most `workers` release patches are under way, and `backfill_depth` workloads have a reservation. Gangs keep the
    places of members that are made anew for `keeps_places` seconds. `record` is a file into which decisions are
    written, at most `record_most` of them. `visibility` is where the API of what is known listens; None: there is none.
    `forecast_share` is the part of one core for forecasts of starts, which the API shows, and by which notifications
    tell who is late. `history` is where runs are kept; None: nowhere. `notifications` is the file that says who
    is told what; None: nobody. `resources` is what pods are charged beside, and instead of, what they request.
    """

    kubeconfig: str | None
    context: str | None
    address: Address
    visibility: Address | None
    workers: int
    backfill_depth: int
    keeps_places: int
    election: Election
    record: Path | None = None
    record_most: int = 0
    forecast_share: float = 0.0
    history: History | None = None
    notifications: Path | None = None
    resources: QuotaResources = AS_REQUESTED
