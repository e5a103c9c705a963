"""What people wrote becomes a variant; what cannot be tried is told by its place, and how much there may be of it."""

from __future__ import annotations

from typing import Any

import pytest

from controller.core.keys import QUEUE_NAME
from controller.core.queueing.effective import WrittenQueue
from controller.simulator.variants import Part, VariantError, variant_of
from tests.support.builders import a_cluster_queue, a_node, a_quota
from tests.support.simulated_worlds import a_world

WORLD = a_world(nodes=[a_node()], queues=[WrittenQueue(a_cluster_queue("team-a", a_quota(cpu="4")))])


def a_job(name: str, pods: int = 1) -> dict[str, Any]:
    template = {
        "metadata": {"labels": {QUEUE_NAME: "main"}},
        "spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "2"}}}]},
    }
    spec = {"template": template, "parallelism": pods, "completions": pods}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}


def test_changes_apply_in_order_and_jobs_are_added() -> None:
    changes = ["quota:team-a/spot/cpu=8", "quota:team-a/spot/cpu=+1"]
    found = variant_of(WORLD, changes, [a_job("one"), a_job("two", 2)])
    assert found is not None
    assert found.world.queues["team-a"].queue.flavors[0].nominal == {"cpu": 9_000}
    assert [(job.name, len(pods)) for job, pods in found.jobs] == [("one", 1), ("two", 2)]


def test_nothing_to_try_is_no_variant() -> None:
    assert variant_of(WORLD, [], []) is None


@pytest.mark.parametrize(
    ("changes", "jobs", "part", "number", "why"),
    [
        (["nodes:spot=+1", "lost:none"], [], Part.CHANGES, 1, "lost:none: there is no flavor none"),
        (["nodes:spot=+9"], [], Part.CHANGES, 0, "nodes:spot=.9: there would be 10 nodes; 5 can be simulated"),
        ([], [a_job("one"), {"kind": "Pod"}], Part.JOBS, 1, "is a Pod; write a Job of batch/v1"),
        ([], [a_job("one"), a_job("one")], Part.JOBS, 1, "Job default/one is there already"),
        ([], [a_job("one", 3), a_job("two", 2)], Part.JOBS, 1, "creates 2 pods at first; from 0 to 1 can be added"),
        ([], [a_job("one", -1)], Part.JOBS, 0, "creates -1 pods at first"),
        (
            [],
            [{**a_job("one"), "spec": {"template": {"metadata": {"labels": ["a"]}}}}],
            Part.JOBS,
            0,
            "labels: must be",
        ),
    ],
)
def test_what_cannot_be_tried_is_told(
    changes: list[str], jobs: list[dict[str, Any]], part: Part, number: int, why: str
) -> None:
    with pytest.raises(VariantError, match=why) as caught:
        variant_of(WORLD, changes, jobs, most=4)
    assert (caught.value.part, caught.value.number) == (part, number)
