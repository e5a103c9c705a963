"""Configurations of the generator of Kueue's performance tests, as traces: who comes when, and which queues there are.

Mirrors test/performance/scheduler/runner/generator of kubernetes-sigs/kueue: the names of its queues, and that each set
of a queue creates one workload after another, each after the same time. A workload of one pod is a Job of one pod, one
with a topology request a gang; the topology itself is not kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from controller.simulator.traces import TracedJob, TraceError


class _Strict(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A misspelt field would be left out unnoticed."""


class WorkloadTemplate(_Strict, frozen=True):
    """Workloads of one class; as in Kueue, `pod_count` counts only with a `tas_level`."""

    class_name: str
    runtime_ms: int
    request: str | int | float
    priority: int = 0
    pod_count: int = 1
    tas_level: str = ""
    tas_constraint: str = ""
    slice_size: int = 0

    @property
    def pods(self) -> int:
        """How many pods it has."""
        return max(1, self.pod_count) if self.tas_level else 1


class WorkloadsSet(_Strict, frozen=True):
    """So many times these workloads, one after another."""

    count: int
    workloads: Sequence[WorkloadTemplate]
    creation_interval_ms: int = 0


class QueuesSet(_Strict, frozen=True):
    """So many equal ClusterQueues of each cohort, which own and may borrow so many cpu."""

    class_name: str
    count: int
    nominal_quota: str | int | float
    borrowing_limit: str | int | float
    workloads_sets: Sequence[WorkloadsSet]
    reclaim_within_cohort: str = "Never"
    within_cluster_queue: str = "Never"


class CohortSet(_Strict, frozen=True):
    """So many equal cohorts."""

    class_name: str
    count: int
    queues_sets: Sequence[QueuesSet]


class KueueConfig(_Strict, frozen=True):
    """A whole generator.yaml; nodes and flavors are those of the cluster that is simulated."""

    cohorts: Sequence[CohortSet]
    topology: Any = None
    resource_flavor: Any = None


@dataclass(frozen=True, slots=True)
class GeneratedQueue:
    """A ClusterQueue; its LocalQueue and its namespace have the same name."""

    name: str
    cohort: str
    made_from: QueuesSet


def parse_config(body: Any) -> KueueConfig:
    """Read a document of YAML. Raises TraceError."""
    try:
        config = msgspec.convert(body, KueueConfig)
    except msgspec.ValidationError as error:
        raise TraceError(f"is no configuration of Kueue's generator: {error}") from None
    if not config.cohorts:
        raise TraceError("cohorts: must name at least one")
    return config


def generated_queues(config: KueueConfig) -> Iterator[GeneratedQueue]:
    """Yield the ClusterQueues of a configuration, named as Kueue's generator names them."""
    for cohorts in config.cohorts:
        for cohort in (f"{cohorts.class_name}-{number}" for number in range(cohorts.count)):
            for index, queues in enumerate(cohorts.queues_sets):
                for number in range(queues.count):
                    yield GeneratedQueue(f"{queues.class_name}-{index}-{number}-{cohort}", cohort, queues)


def generated_jobs(config: KueueConfig) -> Iterator[TracedJob]:
    """Yield the workloads of a configuration; the user of each is its class, so that waits are told by class."""
    for queue in generated_queues(config):
        for workloads in queue.made_from.workloads_sets:
            yield from _jobs_of(workloads, f"{queue.name}/{queue.name}")


def _jobs_of(workloads: WorkloadsSet, queue: str) -> Iterator[TracedJob]:
    created = 0
    for _ in range(workloads.count):
        for one in workloads.workloads:
            created += 1
            yield TracedJob(
                submit=created * workloads.creation_interval_ms / 1000,
                seconds=one.runtime_ms / 1000,
                requests={"cpu": str(one.request)},
                pods=one.pods,
                priority=one.priority,
                user=one.class_name,
                queue=queue,
            )


def has_topology(config: KueueConfig) -> bool:
    """Say whether workloads ask for a topology, which is not simulated."""
    sets = (one for cohorts in config.cohorts for queues in cohorts.queues_sets for one in queues.workloads_sets)
    return any(one.tas_level for workloads in sets for one in workloads.workloads)
