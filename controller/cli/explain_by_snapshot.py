"""Explanations by a decision that is made here, on a cluster that is listed or on a file."""

from __future__ import annotations

from controller.cli.asking import Source, found_out
from controller.cli.explained import Explained
from controller.cli.targets import nothing_named
from controller.core.snapshot import Snapshot
from controller.runtime.operator_action_targets import Target
from controller.visibility.explanation_rows import QueueExplanation
from controller.visibility.explanations import explain
from controller.visibility.queue_explanations import explain_cluster_queue, explain_local_queue
from controller.visibility.targets import all_targets, find


def explain_by_snapshot(source: Source, wanted: Target, *, was_evicted: bool) -> Explained | None:
    """Explain a pod, Job or group; None: it is gone, for it was evicted. Raises ClickException and KubeError."""
    with source.snapshot() as snapshot:
        found = find(snapshot, found_out(snapshot), wanted.kind, wanted.name, source.namespaces)
        if found is None and was_evicted:
            return None
        if found is None:
            known = all_targets(snapshot.running.pods.values(), snapshot.running.jobs, source.namespaces)
            raise nothing_named(wanted, known, source.namespaces)
        first = None if found.workload is None else explain(snapshot, found.workload)
        return Explained(found.namespace, found.sentence, found.waiting, first)


def explain_queue_by_snapshot(source: Source, wanted: Target) -> QueueExplanation:
    """Explain a queue. Raises ClickException where there is none, and KubeError."""
    with source.snapshot() as snapshot:
        return _queue(snapshot, wanted, source)


def _queue(snapshot: Snapshot, wanted: Target, source: Source) -> QueueExplanation:
    findings = found_out(snapshot)
    if wanted.kind == "clusterqueue":
        known = [f"clusterqueue/{name}" for name in snapshot.queues.cluster_queues]
        found = explain_cluster_queue(snapshot, findings, wanted.name)
    else:
        spaces = source.namespaces or sorted({namespace for namespace, _ in snapshot.queues.local_queues})
        known = [f"queue/{name}" for namespace, name in snapshot.queues.local_queues if namespace in spaces]
        every = (explain_local_queue(snapshot, findings, namespace, wanted.name) for namespace in spaces)
        found = next((one for one in every if one is not None), None)
    if found is None:
        raise nothing_named(wanted, known, None if wanted.kind == "clusterqueue" else source.namespaces)
    return found
