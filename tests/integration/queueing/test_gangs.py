"""Gangs on a real control plane: on tight nodes, as a Job's pods, and when one of them is made again."""

from __future__ import annotations

import pytest

from controller.core.keys import GANG, POD_GROUP, POD_GROUP_MIN, POD_GROUP_SIZE, PRIORITY_CLASS, QUEUE_NAME
from tests.support.eventually import eventually
from tests.support.team import Json, Team, is_gated

pytestmark = pytest.mark.integration


async def member(team: Team, name: str, cpu: str, group: str, size: int) -> None:
    await team.pod(name, cpu, labels={POD_GROUP: group}, annotations={POD_GROUP_SIZE: str(size)})


async def test_a_gang_of_unlike_pods_fits_on_tight_nodes(team: Team) -> None:
    await team.nodes("large", cpu="4", labels={"pool": "spot"})
    await team.nodes("small", cpu="2", labels={"pool": "spot"})
    await team.flavor("spot", nodeLabels={"pool": "spot", "test.penstock.dev/team": team.id})
    await team.cluster_queue({"spot": {"cpu": 6}})
    await team.local_queue()
    await member(team, "worker", "2", "train", 2)
    message = await team.until_waiting("worker", "GangIncomplete")
    assert message == "1 of the 2 members of pod group train exist; they are admitted together"
    await member(team, "driver", "4", "train", 2)
    pods = await team.until_bound("driver", "worker")
    nodes = {name: pods[name]["spec"]["nodeName"].removeprefix(f"{team.id}-") for name in ("driver", "worker")}
    assert nodes["driver"].startswith("large")
    assert nodes["worker"].startswith("small")


async def test_pods_of_a_job_come_together_and_a_new_one_first(team: Team) -> None:
    await team.ready({"spot": {"cpu": 2}})
    await team.pod("small")
    await team.until_bound("small")
    await team.job("train", parallelism=2, completions=2, template=gang_template())
    pods = await eventually(lambda: of_job(team, 2), message="the Job did not make its pods")
    message = await team.until_waiting(pods[0], "QuotaExceeded")
    assert message.endswith("needs 2 cpu, more than is free of its quota")
    await team.end("small")
    await team.until_bound(*pods)
    await team.make("workloadpriorityclasses", "WorkloadPriorityClass", team.full("high"), {"value": 1000})
    await team.pod("urgent", labels={PRIORITY_CLASS: team.full("high")})
    await team.until_waiting("urgent", "QuotaExceeded")
    # its place is kept until the Job has made another
    await team.delete(pods[0])
    again = await eventually(lambda: of_job(team, 2, other_than=pods[0]), seconds=60, message="no new pod")
    bound = await team.until_bound(*again)
    assert is_gated(bound["urgent"])


async def test_a_gang_starts_with_its_minimum_and_others_follow(team: Team) -> None:
    await team.ready({"spot": {"cpu": 3}})
    await team.pod("small")
    await team.until_bound("small")
    notes = {**gang_template()["metadata"]["annotations"], POD_GROUP_MIN: "2"}
    template = {**gang_template(), "metadata": {"labels": {QUEUE_NAME: "main"}, "annotations": notes}}
    await team.job("train", parallelism=4, completions=4, template=template)

    async def admitted(count: int) -> bool:
        pods = [pod for name, pod in (await team.all()).items() if name.startswith("train-")]
        return len(pods) == 4 and sum(not is_gated(pod) for pod in pods) == count

    await eventually(lambda: admitted(2), message="the minimum of the gang was not admitted")
    await team.end("small")
    await eventually(lambda: admitted(3), message="no third pod followed")


def gang_template() -> Json:
    containers = [{"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}]
    metadata = {"labels": {QUEUE_NAME: "main"}, "annotations": {GANG: "true", "run-for": "1h"}}
    return {"metadata": metadata, "spec": {"restartPolicy": "Never", "containers": containers}}


async def of_job(team: Team, count: int, *, other_than: str = "") -> list[str]:
    """The names of the Job's pods that live, once there are so many."""
    names = [name for name in await team.all() if name.startswith("train-") and name != other_than]
    return sorted(names) if len(names) == count else []
