"""A snapshot as a file, and back: what one decision saw, so that it can be decided again elsewhere.

Pods are as the core knows them: without their environment, their secrets, and annotations that are not ours. What
`decide` works out from the rest is left out, and so is what earlier decisions found blocked: it only saves time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from inspect import isfunction
from itertools import chain
from math import inf
from typing import Any, Final

import msgspec

from controller.cache.snapshots import usage_view
from controller.cache.usage.usage import Usage
from controller.core.capacity.node_index import NodeIndex
from controller.core.capacity.room import Room
from controller.core.decision.decide import decide
from controller.core.evictions.leaving import Leaving
from controller.core.forecasts.expected_ends import ExpectedEnds
from controller.core.forecasts.forecast import Forecast
from controller.core.forecasts.run_history import RunHistory
from controller.core.queueing.past_usage import PastUsage
from controller.core.quota.quota_tree import QuotaTree
from controller.core.quota.used_up import UsedUpBudgets
from controller.core.snapshot import NodeView, QueueView, RunningView, Snapshot, WaitingView
from controller.core.workloads.kept_places import KeptPlaces
from controller.core.workloads.workload import QueueKey, Workload, WorkloadClass
from controller.replay.as_written import AsWritten, from_written_record, written_record
from controller.replay.records import (
    READ,
    VERSION,
    Envelope,
    ForecastRecord,
    KeptRecord,
    RunRecord,
    SnapshotRecord,
    WorkloadRecord,
    from_plain,
    to_plain,
)

CAN_READ: Final = isfunction(decide)
"""Not where the core is compiled: by then its values have lost the types of their fields."""


class SnapshotFileError(ValueError):
    """The bytes are no snapshot that can be read here; the text says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Saved:
    """All of a file. `written` None: it is of version 1, or was written without: nothing says what comes later."""

    snapshot: Snapshot
    written: AsWritten | None = None


def to_bytes(snapshot: Snapshot, written: AsWritten | None = None) -> bytes:
    """Write a snapshot as JSON, with what a later time rests on unless nobody asks for that."""
    record = _record(snapshot)
    record.written = None if written is None else written_record(written)
    plain = msgspec.to_builtins(record, enc_hook=to_plain)
    return msgspec.json.encode({"version": VERSION, **_without_hashes(plain)})


def from_bytes(data: bytes) -> Snapshot:
    """Read a snapshot. Raises SnapshotFileError."""
    return read_saved(data).snapshot


def read_saved(data: bytes) -> Saved:
    """Read all of a file. Raises SnapshotFileError."""
    if not CAN_READ:
        raise SnapshotFileError("a compiled Penstock, as its image has it, reads no snapshots: read it in a checkout")
    try:
        version = msgspec.json.decode(data, type=Envelope).version
        if version not in READ:
            known = " and ".join(map(str, READ))
            raise SnapshotFileError(f"version {version}: this Penstock reads versions {known}; read it by its own")
        plain = msgspec.json.decode(data)
        del plain["version"]
        record = msgspec.convert(plain, SnapshotRecord, dec_hook=from_plain)
        written = None if record.written is None else from_written_record(record.written)
        return Saved(_snapshot(record), written)
    except SnapshotFileError:
        raise
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SnapshotFileError(f"not a snapshot of Penstock: {error}") from None
    except RecursionError:
        raise SnapshotFileError("not a snapshot of Penstock: it is nested too deeply") from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        told = f"{type(error).__name__}: {error}"
        raise SnapshotFileError(f"not a snapshot of Penstock: its parts contradict each other ({told})") from None


def _without_hashes(value: Any) -> Any:
    """Leave out the hashes that values keep: they are others in another process."""
    if isinstance(value, dict):
        return {key: _without_hashes(one) for key, one in value.items() if key != "_hash" or not isinstance(one, int)}
    if isinstance(value, list | tuple):
        return [_without_hashes(one) for one in value]
    return value


def _record(snapshot: Snapshot) -> SnapshotRecord:
    places = {kind: place for place, kind in enumerate(snapshot.waiting.runs)}
    return SnapshotRecord(
        now=snapshot.now,
        cluster_queues=list(snapshot.queues.cluster_queues.values()),
        faulty_queues=dict(snapshot.queues.faulty),
        local_queues=list(snapshot.queues.local_queues.values()),
        flavors=list(snapshot.queues.flavors.values()),
        namespaces={name: dict(labels) for name, labels in snapshot.queues.namespaces.items()},
        nodes=list(snapshot.nodes.index.nodes.values()),
        jobs=dict(snapshot.running.jobs),
        pods=list(snapshot.running.pods.values()),
        charges=[(uid, snapshot.usage.charges[uid]) for uid in _in_order(snapshot)],
        classes=list(places),
        workloads=[
            WorkloadRecord(places[kind], one.uid, one.name, one.order, one.since, one.members, one.counts)
            for kind, run in snapshot.waiting.runs.items()
            for one in run
        ],
        priority_classes=dict(snapshot.queues.priority_classes),
        class_run_times=dict(snapshot.queues.class_run_times),
        budgets={queue: list(those) for queue, those in snapshot.usage.budgets.by_queue.items()},
        past_usage=_past_usage(snapshot),
        overdue=list(snapshot.running.overdue),
        dry=dict(snapshot.nodes.dry),
        unprovided={flavor: list(uids) for flavor, uids in snapshot.running.unprovided.items()},
        rejected=sorted(snapshot.waiting.rejected),
        leaving=_plain_leaving(snapshot.running.leaving),
        preemptors=dict(snapshot.waiting.preemptors),
        held={uid: [(*place, count) for place, count in held.items()] for uid, held in snapshot.waiting.held.items()},
        kept=[KeptRecord(list(one.places), [it.uid for it in one.workloads]) for one in snapshot.waiting.kept],
        loose_groups=list(snapshot.waiting.loose_groups),
        forecast=None if snapshot.running.forecast is None else _forecast_record(snapshot.running.forecast),
        quota_resources=snapshot.queues.tree.resources,
    )


def _in_order(snapshot: Snapshot) -> Iterable[str]:
    """Return the uids of all that are charged, those of each cluster queue in the order in which they came."""
    return dict.fromkeys(chain(*snapshot.usage.charged.values(), snapshot.usage.charges))


def _past_usage(snapshot: Snapshot) -> list[tuple[QueueKey, PastUsage]]:
    """Return what orders each LocalQueue, and the users in it: the cache works each out when it is asked for."""
    found = ((key, snapshot.usage.past.get(key)) for key in snapshot.queues.local_queues)
    known = ((key, used) for key, used in found if used is not None)
    return [(key, used if used.users is None else replace(used, users=dict(used.users))) for key, used in known]


def _plain_leaving(leaving: Leaving) -> Leaving:
    """Return the same with sets of its own: those of the cache are views."""
    return replace(
        leaving,
        evicting=frozenset(leaving.evicting),
        refused=frozenset(leaving.refused),
        lately_refused=frozenset(leaving.lately_refused),
        terminating=frozenset(leaving.terminating),
        stuck=frozenset(leaving.stuck),
    )


def _forecast_record(forecast: Forecast) -> ForecastRecord:
    ends = [one for one in forecast.ends if one.at != inf]
    without_end = [replace(one, at=0.0) for one in forecast.ends if one.at == inf]
    runs = [RunRecord(queue, requests, *run) for queue, requests, run in forecast.history]
    return ForecastRecord(forecast.depth, ends, without_end, runs, dict(forecast.outrun))


def _snapshot(record: SnapshotRecord) -> Snapshot:
    queues = {one.name: one for one in record.cluster_queues}
    flavors = {one.name: one for one in record.flavors}
    tree, usage = QuotaTree(queues, record.faulty_queues, record.quota_resources), Usage()
    for uid, charge in record.charges:
        usage.set(uid, charge)
    usage.plant(tree)
    orders = [order for one in record.cluster_queues if len(order := tuple(it.flavor for it in one.flavors)) > 1]
    nodes = NodeIndex({one.name: one for one in record.nodes}, flavors, orders)
    return Snapshot(
        queues=QueueView(
            cluster_queues=queues,
            tree=tree,
            local_queues={(one.namespace, one.name): one for one in record.local_queues},
            flavors=flavors,
            namespaces=record.namespaces,
            faulty=record.faulty_queues,
            priority_classes=record.priority_classes,
            class_run_times=record.class_run_times,
        ),
        usage=usage_view(usage, UsedUpBudgets(record.budgets), dict(record.past_usage)),
        nodes=NodeView(
            index=nodes, used=usage.by_node, room=Room(nodes, usage.by_node), bound=usage.bound, dry=record.dry
        ),
        waiting=_waiting(record),
        running=RunningView(
            pods={one.uid: one for one in record.pods},
            jobs=record.jobs,
            overdue=dict.fromkeys(record.overdue),
            unprovided=record.unprovided,
            leaving=record.leaving,
            forecast=None if record.forecast is None else _forecast(record.forecast),
        ),
        now=record.now,
    )


def _waiting(record: SnapshotRecord) -> WaitingView:
    runs = _runs(record)
    by_uid = {one.uid: one for run in runs.values() for one in run}
    return WaitingView(
        runs=runs,
        rejected=frozenset(record.rejected),
        loose_groups=frozenset(record.loose_groups),
        preemptors=record.preemptors,
        held={uid: _counted(places) for uid, places in record.held.items()},
        kept=[KeptPlaces(one.places, [by_uid[uid] for uid in one.workloads]) for one in record.kept],
    )


def _counted(places: list[tuple[str, str | None, int]]) -> Counter[tuple[str, str | None]]:
    return Counter({(flavor, node): count for flavor, node, count in places})


def _runs(record: SnapshotRecord) -> dict[WorkloadClass, list[Workload]]:
    runs: dict[WorkloadClass, list[Workload]] = {kind: [] for kind in record.classes}
    for one in record.workloads:
        kind = record.classes[one.kind]
        runs[kind].append(Workload(one.uid, one.name, kind, one.order, one.since, one.members, one.counts))
    return runs


def _forecast(record: ForecastRecord) -> Forecast:
    ends, history = ExpectedEnds(), RunHistory()
    for one in (*record.ends, *(replace(one, at=inf) for one in record.without_end)):
        ends.put(one)
    for run in record.runs:
        history.note(run.queue, run.requests, (run.ended, run.uid, run.seconds))
    return Forecast(ends, history, record.depth, record.outrun)
