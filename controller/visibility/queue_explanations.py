"""What a queue waits for: how many of its pods wait for which reason, and of each reason the first in line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from controller.core.reasons import Reason
from controller.core.snapshot import Snapshot
from controller.core.workloads.workload import Workload
from controller.visibility.explanation_rows import QueueExplanation, ReasonRow
from controller.visibility.findings import Findings
from controller.visibility.lines import line
from controller.visibility.queues import cluster_queues, local_queues
from controller.visibility.targets import target_of


def explain_cluster_queue(snapshot: Snapshot, findings: Findings, name: str) -> QueueExplanation | None:
    """Explain a ClusterQueue, with all queues below it; None: there is none of this name."""
    row = next((one for one in cluster_queues(snapshot) if one.name == name), None)
    if row is None:
        return None
    waiting = [one for below in snapshot.queues.tree.below(name) for one in line(snapshot, below)]
    return QueueExplanation(row, tuple(_reasons(snapshot, findings, waiting)))


def explain_local_queue(snapshot: Snapshot, findings: Findings, namespace: str, name: str) -> QueueExplanation | None:
    """Explain a LocalQueue; None: there is none of this name in the namespace."""
    row = next((one for one in local_queues(snapshot, [namespace]) if one.name == name), None)
    if row is None:
        return None
    waiting = [one for one in line(snapshot, row.cluster_queue) if one.kind.queue == (namespace, name)]
    if row.cluster_queue not in snapshot.queues.cluster_queues:
        waiting = [one for kind, run in snapshot.waiting.runs.items() if kind.queue == (namespace, name) for one in run]
    return QueueExplanation(row, tuple(_reasons(snapshot, findings, waiting)))


def _reasons(snapshot: Snapshot, findings: Findings, waiting: Sequence[Workload]) -> Iterator[ReasonRow]:
    pods: dict[Reason, int] = {}
    first: dict[Reason, tuple[Workload, str]] = {}
    for one in waiting:
        reason, text = findings.why(snapshot, one)
        pods[reason] = pods.get(reason, 0) + len(one.pods)
        first.setdefault(reason, (one, text))
    for reason, (one, text) in first.items():
        yield ReasonRow(reason.value, pods[reason], target_of(snapshot, one), one.kind.queue[0], text)
