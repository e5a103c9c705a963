"""Configurations of Kueue's generator: which queues they make, and which workloads come when."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from controller.simulator.kueue_configs import generated_jobs, generated_queues, has_topology, parse_config
from controller.simulator.traces import TracedJob, TraceError

CONFIG = """
cohorts:
- className: cohort
  count: 2
  queuesSets:
  - className: cq
    count: 2
    nominalQuota: 20
    borrowingLimit: 100
    reclaimWithinCohort: Any
    withinClusterQueue: LowerPriority
    workloadsSets:
    - count: 2
      creationIntervalMs: 100
      workloads:
      - {className: small, runtimeMs: 200, priority: 50, request: 1}
      - {className: tiny, runtimeMs: 50, priority: 50, request: 500m}
    - count: 1
      creationIntervalMs: 1200
      workloads:
      - {className: large, runtimeMs: 1000, priority: 200, request: 20}
"""
QUEUE = "cq-0-0-cohort-0/cq-0-0-cohort-0"


def with_template(**fields: Any) -> Any:
    body = yaml.safe_load(CONFIG)
    body["cohorts"][0]["queuesSets"][0]["workloadsSets"][0]["workloads"][0].update(fields)
    return body


def test_queues_are_named_as_kueue_names_them() -> None:
    queues = list(generated_queues(parse_config(yaml.safe_load(CONFIG))))
    assert [(one.name, one.cohort) for one in queues] == [
        ("cq-0-0-cohort-0", "cohort-0"),
        ("cq-0-1-cohort-0", "cohort-0"),
        ("cq-0-0-cohort-1", "cohort-1"),
        ("cq-0-1-cohort-1", "cohort-1"),
    ]
    assert {(one.made_from.nominal_quota, one.made_from.reclaim_within_cohort) for one in queues} == {(20, "Any")}


def test_each_set_of_a_queue_creates_one_workload_after_another() -> None:
    jobs = list(generated_jobs(parse_config(yaml.safe_load(CONFIG))))
    assert len(jobs) == 4 * 5
    assert jobs[:5] == [
        TracedJob(0.1, 0.2, {"cpu": "1"}, priority=50, user="small", queue=QUEUE),
        TracedJob(0.2, 0.05, {"cpu": "500m"}, priority=50, user="tiny", queue=QUEUE),
        TracedJob(0.3, 0.2, {"cpu": "1"}, priority=50, user="small", queue=QUEUE),
        TracedJob(0.4, 0.05, {"cpu": "500m"}, priority=50, user="tiny", queue=QUEUE),
        TracedJob(1.2, 1.0, {"cpu": "20"}, priority=200, user="large", queue=QUEUE),
    ]


def test_pods_are_counted_where_a_topology_is_asked_for() -> None:
    """As Kueue's generator does: without one, it makes workloads of one pod."""
    plain = parse_config(with_template(podCount=4))
    spread = parse_config(with_template(podCount=4, tasLevel="rack", tasConstraint="balanced", sliceSize=2))
    assert (next(generated_jobs(plain)).pods, has_topology(plain)) == (1, False)
    assert (next(generated_jobs(spread)).pods, has_topology(spread)) == (4, True)


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (None, "Expected `object`, got `null`"),
        ({"cohorts": []}, "cohorts: must name at least one"),
        (with_template(runtimeMs="long"), "Expected `int`, got `str`"),
        (with_template(runtime=1), "Object contains unknown field `runtime`"),
    ],
)
def test_what_is_no_configuration_is_said(body: Any, fault: str) -> None:
    with pytest.raises(TraceError) as raised:
        parse_config(body)
    assert fault in str(raised.value)
