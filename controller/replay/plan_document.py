"""A plan in names, as it is stored beside a snapshot, and compared: pods and workloads are by namespace/name."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from controller.core.snapshot import Snapshot
from controller.core.workloads.decisions import NOT_YET, Plan

Json = dict[str, Any]


def plan_document(snapshot: Snapshot, plan: Plan) -> Json:
    """Write what was decided on a snapshot: all of it but the words of a wait.

    A workload of whose class the plan says nothing has the reason Pending.
    """
    key = {uid: pod.key for uid, pod in snapshot.running.pods.items()}
    named = {one.uid: one.name for run in snapshot.waiting.runs.values() for one in run}
    return {
        "complete": plan.is_complete,
        "admits": _admits(key, plan),
        "evicts": [{"pod": one.pod.key, "cause": one.cause.value, "text": one.text} for one in plan.evicts],
        "waits": _waits(snapshot, plan),
        "preemptors": {named[uid]: rounds for uid, rounds in plan.preemptors.items()},
        "held": {
            named[uid]: [[flavor, node, count] for (flavor, node), count in places.items()]
            for uid, places in plan.held.items()
        },
    }


def _admits(key: dict[str, str], plan: Plan) -> list[Json]:
    return [
        {
            "pod": key[one.uid],
            "workload": one.workload.name,
            "clusterQueue": one.cluster_queue,
            "flavor": one.flavor,
            "flavors": list(one.flavors),
            "node": one.node,
            "domains": [asdict(domain) for domain in one.domains],
            "preemptions": one.preemptions,
        }
        for one in plan.admits
    ]


def _waits(snapshot: Snapshot, plan: Plan) -> dict[str, str]:
    admitted = {one.workload.uid for one in plan.admits}
    waits = {
        one.name: plan.waits.get(kind, NOT_YET).of(one.uid).reason.value
        for kind, run in snapshot.waiting.runs.items()
        for one in run
        if one.uid not in admitted
    }
    return dict(sorted(waits.items()))
