"""What is recorded of a cluster is decided on as its running controller decides: each scenario, step by step.

But for what only that controller's memory has (docs/replay.md): the scenarios of that are named here.
"""

from __future__ import annotations

import asyncio
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

import orjson
import pytest

from controller.core.decision.decide import decide
from controller.replay.outcome import Outcome, outcome_of
from controller.replay.recording import record
from tests.scenarios.events import Stage
from tests.scenarios.model import load
from tests.scenarios.play import undecided
from tests.scenarios.world import Cluster
from tests.support.fake_lists import FakeLists

_SCENARIOS = Path(__file__).parents[2] / "scenarios"
_FILES = sorted(_SCENARIOS.glob("*/*.yaml"))
FOLDERS = {folder: list(files) for folder, files in groupby(_FILES, key=lambda file: file.parent.name)}
OURS = "/apis/penstock.dev/v1alpha1"
GROUPS = "/apis/scheduling.k8s.io/v1alpha2"
OF_MEMORY = {
    # used since the status was written, by pods that ended
    "fair-sharing/past-usage",
    "fair-sharing/usage-of-users",
    "fair-sharing/usage-of-users-of-a-namespace",
    "fair-sharing/usage-weights",
    # places that gangs keep
    "gangs/place-is-kept",
    "gangs/places-of-all-are-kept",
    # releases that were refused
    "gangs/torn-and-one-is-done",
    "gangs/torn-by-a-refusal",
    "gates/refused",
    "gates/refused-in-a-strict-queue",
    "lifecycle/restart-after-a-refusal",
    "remedies/own-faults",
    # flavors in which pods that came back found no node
    "remedies/time",
    "reservations/next-flavor",
    "reservations/next-flavor-of-a-gang",
    "reservations/next-flavor-of-another-queue",
}
Decided = tuple[list[tuple[str, str | None]], list[str]]
"""Who is admitted, and where, in order; and who is evicted."""
KINDS = {
    "ResourceFlavor": "resourceflavors",
    "ClusterQueue": "clusterqueues",
    "LocalQueue": "localqueues",
    "WorkloadPriorityClass": "workloadpriorityclasses",
}


def served(cluster: Cluster) -> FakeLists:
    """The documents of a scenario's cluster, as lists."""
    objects: dict[str, list[Any]] = {
        "/api/v1/namespaces": [
            {"metadata": {"name": name, "uid": name, "labels": labels}} for name, labels in cluster.namespaces.items()
        ],
        "/api/v1/nodes": list(cluster.nodes.values()),
        "/api/v1/pods": list(cluster.pods.values()),
        "/apis/batch/v1/jobs": list(cluster.jobs.values()),
        "/api/v1/limitranges": [],
        "/apis/node.k8s.io/v1/runtimeclasses": [],
        "/apis/scheduling.k8s.io/v1/priorityclasses": [],
        f"{GROUPS}/podgroups": list(cluster.pod_groups.values()),
        **{f"{OURS}/{plural}": [] for plural in KINDS.values()},
    }
    for (kind, _), document in cluster.objects.items():
        objects[f"{OURS}/{KINDS[kind]}"].append(document)
    return FakeLists(objects, {GROUPS: orjson.dumps({"resources": [{"name": "podgroups"}]})})


def outcome(cluster: Cluster) -> Outcome:
    resources = cluster.cache.resources.rules
    recorded = asyncio.run(record(served(cluster).as_client, resources=resources, now=lambda: cluster.now))
    assert not recorded.unreadable
    return outcome_of(recorded.snapshot, decide(recorded.snapshot, limit=sys.maxsize))


def replayed(cluster: Cluster) -> Decided:
    found = outcome(cluster)
    admitted = [(one.pod.partition("/")[2], one.node) for one in found.admissions]
    return admitted, [one.pod.partition("/")[2] for one in found.evictions]


def came_of(cluster: Cluster) -> Decided:
    """What the controller does until nothing moves: what its first decision says comes first."""
    released = [(name, admit.node) for name, admit in cluster.settle()]
    return released, list(cluster.evicted)


def end_of(file: Path) -> tuple[Cluster, list[tuple[Decided, Decided]]]:
    """Play a scenario; return its cluster as it is left, and for each step what was replayed and what came."""
    steps, stage = list[tuple[Decided, Decided]](), Stage()
    for stage in undecided(load(file)):
        steps.append((replayed(stage.cluster), came_of(stage.cluster)))
    return stage.cluster, steps


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_recorded_cluster_is_decided_on_as_the_running_one(folder: str) -> None:
    for file in FOLDERS[folder]:
        cluster, steps = end_of(file)
        are_same = all(found == came[: len(found)] for (found, _), (came, _) in steps)
        assert are_same == (f"{folder}/{file.stem}" not in OF_MEMORY), file
        assert all(set(gone) <= set(came) for (_, gone), (_, came) in steps), file
        # at the end of no scenario is anything decided by what is remembered
        found = outcome(cluster)
        assert (found.admissions, found.evictions) == ((), ()), file
        waits = {one.pod.partition("/")[2]: one.reason for one in found.waiting}
        assert waits == {name: wait.reason for name, wait in cluster.waits().items()}, file


def test_many_scenarios_are_recorded() -> None:
    assert len(_FILES) > 250
    assert {"budgets", "fair-sharing", "gangs", "preemption", "reservations", "topology"} <= set(FOLDERS)
