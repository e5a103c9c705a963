"""Objects of real operators in a queue: two pod sets in two flavors, a gang, preempted once, and admitted again."""

from __future__ import annotations

import copy
from collections.abc import Mapping

import pytest

from controller.core.keys import ADMITTED_JOB, FLAVOR, PRIORITY_CLASS
from controller.kube.errors import Forbidden
from tests.integration.operators.operated import Json, Operated
from tests.integration.operators.queued.objects import QUEUED, a_cluster, a_ray_job, a_training, is_suspended
from tests.support.eventually import eventually
from tests.support.team import Team

pytestmark = pytest.mark.integration


EACH = pytest.mark.parametrize(
    ("kind", "spec", "running"),
    [
        ("RayCluster", a_cluster(), {"head": "cpu", "worker": "gpu"}),
        ("RayJob", a_ray_job(), {"head": "cpu", "worker": "gpu"}),
        ("PyTorchJob", a_training(), {"master": "cpu", "worker": "gpu"}),
    ],
    ids=["RayCluster", "RayJob", "PyTorchJob"],
)


def role_of(pod: Json) -> str:
    labels = pod["metadata"]["labels"]
    return str(labels.get("ray.io/node-type") or labels.get("training.kubeflow.org/replica-type") or "submitter")


def by_user(found: Json) -> Json:
    """The spec, but for what KubeRay adds to worker groups when it first writes to a RayJob."""
    spec = copy.deepcopy(found["spec"])
    for group in spec.get("rayClusterSpec", {}).get("workerGroupSpecs", ()):
        if group.get("scaleStrategy") == {}:
            del group["scaleStrategy"]
    return dict(spec)


async def until_runs(queued: Operated, team: Team, name: str, flavors: Mapping[str, str]) -> None:
    """Wait until a head and two workers of this object are on nodes of their flavors, by the object's admission."""

    async def runs() -> bool:
        every = [pod for pod in await queued.every("Pod") if "deletionTimestamp" not in pod["metadata"]]
        pods = [pod for pod in every if pod["metadata"]["name"].startswith(name) and role_of(pod) in flavors]
        assert len(pods) == 3, [pod["metadata"]["name"] for pod in every]
        for pod in pods:
            assert pod["spec"].get("nodeName"), pod["status"]
            assert pod["metadata"]["labels"][FLAVOR] == team.full(flavors[role_of(pod)])
            assert "/" in pod["metadata"]["annotations"][ADMITTED_JOB]
        return True

    await eventually(runs, seconds=90, message=f"the pods of {name} do not run")


async def until_suspended(queued: Operated, kind: str, name: str) -> Json:
    async def waits() -> Json:
        found = await queued.get(kind, name)
        assert is_suspended(kind, found)
        assert [pod for pod in await queued.every("Pod") if pod["metadata"]["name"].startswith(name)] == []
        return found

    return await eventually(waits, seconds=90, message=f"{kind} {name} does not wait")


@EACH
async def test_one_of_an_operator_is_queued(
    queued: Operated, team: Team, kind: str, spec: Json, running: Mapping[str, str]
) -> None:
    await team.ready({"cpu": {"cpu": 2}, "gpu": {"cpu": 3}}, preemption={"withinClusterQueue": "LowerPriority"})
    await team.make("workloadpriorityclasses", "WorkloadPriorityClass", team.full("high"), {"value": 1000})
    before = await queued.make(kind, "low", spec, labels=QUEUED)
    assert is_suspended(kind, before)
    await until_runs(queued, team, "low", running)

    high = {**QUEUED, PRIORITY_CLASS: team.full("high")}
    await queued.make(kind, "urgent", spec, labels=high)
    await until_suspended(queued, kind, "low")
    await until_runs(queued, team, "urgent", running)

    async def is_as_written() -> bool:
        low = await queued.get(kind, "low")
        assert by_user(low) == by_user(before)
        return True

    await eventually(is_as_written, message="the templates are not as the user wrote them")
    await queued.delete(kind, "urgent")
    await until_runs(queued, team, "low", running)


async def test_all_pod_sets_wait_for_the_largest(queued: Operated, team: Team) -> None:
    await team.ready({"cpu": {"cpu": 4}, "gpu": {"cpu": 3}})
    await queued.make("RayCluster", "large", a_cluster(workers=4), labels=QUEUED)
    await queued.make("RayCluster", "small", a_cluster(), labels=QUEUED)
    await until_runs(queued, team, "small", {"head": "cpu", "worker": "gpu"})
    await until_suspended(queued, "RayCluster", "large")


async def test_what_the_operator_cannot_suspend_is_refused(queued: Operated) -> None:
    with pytest.raises(Forbidden, match=r"spec\.shutdownAfterJobFinishes: has to be true"):
        await queued.make("RayJob", "job", {**a_ray_job(), "shutdownAfterJobFinishes": False}, labels=QUEUED)
    fewer = a_cluster()
    fewer["workerGroupSpecs"][0]["minReplicas"] = 5
    with pytest.raises(Forbidden, match="replicas has to be between"):
        await queued.make("RayCluster", "ray", fewer, labels=QUEUED)
