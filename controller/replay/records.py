"""The form of a snapshot file: what `core.snapshot.Snapshot` holds, without what can be worked out from it.

Names and types of the fields are those of the values of the core. Whoever changes these raises `VERSION`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final
from zoneinfo import ZoneInfo

from msgspec import Struct

from controller.api.time_zones import load_zone
from controller.cache.usage.usage_sums import Remembered as PastSum
from controller.core.budgets.periods import CalendarPeriod, CalendarUnit, Period, SlidingPeriod
from controller.core.calendar.wall_clock import Zone
from controller.core.evictions.leaving import Leaving
from controller.core.forecasts.expected_ends import Holding
from controller.core.kubernetes.amounts import Requests
from controller.core.kubernetes.nodes import Node
from controller.core.kubernetes.owners import Job
from controller.core.kubernetes.quota_resources import AS_REQUESTED, QuotaResources
from controller.core.queueing.effective import WrittenQueue
from controller.core.queueing.past_usage import PastUsage
from controller.core.queueing.queues import ClusterQueue, Flavor, LocalQueue
from controller.core.quota.used_up import UsedUp
from controller.core.workloads.charges import Charge
from controller.core.workloads.decisions import DrySpell
from controller.core.workloads.groups import GroupKey, PodGroup
from controller.core.workloads.kept_places import KeptPlace
from controller.core.workloads.pods import Pod
from controller.core.workloads.workload import OrderKey, QueueKey, WorkloadClass

VERSION: Final = 2
READ: Final = (1, VERSION)
"""Version 1 has no `written`: it can be decided on, and not played forward."""


class WorkloadRecord(Struct):
    """A workload that waits; `kind` is the place of its class among `classes`."""

    kind: int
    uid: str
    name: str
    order: OrderKey
    since: float
    members: tuple[str, ...] = ()
    counts: tuple[int, ...] = ()


class RunRecord(Struct):
    """A pod that succeeded: its LocalQueue, what it asked for, when it ended (epoch seconds) and how long it took."""

    queue: QueueKey
    requests: Requests
    ended: int
    uid: str
    seconds: int


class ForecastRecord(Struct):
    """What is expected to end when, where a queue backfills.

    Of those in `without_end` nobody knows: JSON has no number for that, so their `at` says nothing.
    """

    depth: int
    ends: list[Holding]
    without_end: list[Holding]
    runs: list[RunRecord]
    outrun: dict[str, str]


class KeptRecord(Struct):
    """Places that are kept for members of a gang, and the uids of its workloads that wait, in order."""

    places: list[KeptPlace]
    workloads: list[str]


class WrittenRecord(Struct):
    """What `as_written.AsWritten` holds: mappings by what names an entry are lists of pairs."""

    cluster_queues: list[WrittenQueue]
    pod_groups: list[PodGroup]
    budgets: list[tuple[str, str, str, int, list[tuple[int, int]]]]
    past_usage: list[tuple[QueueKey, PastSum]]
    dry_spells: dict[str, DrySpell]


class SnapshotRecord(Struct, forbid_unknown_fields=True):
    """All of a snapshot file but its version. Fields are those of Snapshot; what names itself is listed."""

    now: float
    cluster_queues: list[ClusterQueue]
    faulty_queues: dict[str, str]
    local_queues: list[LocalQueue]
    flavors: list[Flavor]
    namespaces: dict[str, dict[str, str]]
    nodes: list[Node]
    jobs: dict[str, Job]
    pods: list[Pod]
    charges: list[tuple[str, Charge]]
    classes: list[WorkloadClass]
    workloads: list[WorkloadRecord]
    priority_classes: dict[str, int]
    budgets: dict[str, list[UsedUp]]
    past_usage: list[tuple[QueueKey, PastUsage]]
    overdue: list[str]
    dry: dict[str, DrySpell]
    unprovided: dict[str, list[str]]
    rejected: list[str]
    leaving: Leaving
    preemptors: dict[str, int]
    held: dict[str, list[tuple[str, str | None, int]]]
    kept: list[KeptRecord]
    loose_groups: list[GroupKey]
    forecast: ForecastRecord | None
    written: WrittenRecord | None = None
    quota_resources: QuotaResources = AS_REQUESTED
    class_run_times: dict[str, int] = {}


class Envelope(Struct):
    """What is read first: any version has it."""

    version: int


def to_plain(value: Any) -> Any:
    """Write what msgspec does not know: fractions as text, and nothing for a time zone, whose name stands beside it."""
    if isinstance(value, Fraction):
        return str(value)
    if hasattr(value, "offset_at") or isinstance(value, ZoneInfo):
        return None
    raise NotImplementedError(f"a snapshot file has no {type(value).__name__}")


def from_plain(kind: type, value: Any) -> Any:
    """Read it back. Raises ValueError."""
    if kind is Fraction:
        return Fraction(value)
    if kind is Period:
        return _period(value)
    if kind is Zone:
        return load_zone(value["name"])
    raise NotImplementedError(f"a snapshot file has no {kind.__name__}")


def _period(value: dict[str, Any]) -> Period:
    if "seconds" in value:
        return SlidingPeriod(value["seconds"])
    return CalendarPeriod(CalendarUnit(value["unit"]), load_zone(value["zone_name"]), value["zone_name"])
