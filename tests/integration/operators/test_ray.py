"""KubeRay in a sandbox: its kinds reach nodes, and stop and go by their `suspend`."""

from __future__ import annotations

import pytest

from tests.integration.operators.operated import Json, Operated, a_template, is_restricted, restrict
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration

OPERATOR = "system:serviceaccount:ray-system:kuberay-operator"
JOB_CONTROLLER = "system:serviceaccount:kube-system:job-controller"
FOUR = ("head", "worker", "worker", "submitter")


def a_cluster() -> Json:
    """One head and two workers."""
    worker = {"groupName": "main", "replicas": 2, "minReplicas": 1, "maxReplicas": 5, "rayStartParams": {}}
    return {
        "rayVersion": "2.46.0",
        "headGroupSpec": {"rayStartParams": {}, "template": a_template("head")},
        "workerGroupSpecs": [{**worker, "template": a_template("worker")}],
    }


def a_job(**spec: object) -> Json:
    """One that is suspended; no Ray answers, so its submitter has to run for longer than the test."""
    submitter = a_template("submitter", annotations={"run-for": "1h"}, restartPolicy="Never")
    suspended = {"suspend": True, "shutdownAfterJobFinishes": True, "entrypoint": "true", **spec}
    return {"rayClusterSpec": a_cluster(), "submitterPodTemplate": submitter, **suspended}


async def until(operated: Operated, deployment: str) -> Json:
    """Wait until the RayJob says this of itself; return its status."""

    async def says() -> Json:
        status = await operated.status("RayJob", "job")
        assert status["jobDeploymentStatus"] == deployment, status
        return status

    return await eventually(says, message=f"the RayJob is not {deployment}")


async def test_the_head_and_workers_of_a_cluster_run(operated: Operated) -> None:
    await operated.make("RayCluster", "ray", a_cluster(), labels={"on": "top"})
    pods = await operated.until_pods_run("head", "worker", "worker")
    assert [await operated.owners(pod) for pod in pods] == [["RayCluster"]] * 3
    assert all("on" not in pod["metadata"]["labels"] for pod in pods)
    assert operated.creators() == {OPERATOR}
    status = await operated.until_condition("RayCluster", "ray", "RayClusterProvisioned")
    assert (status["state"], status["readyWorkerReplicas"]) == ("ready", 2)


async def test_a_suspended_cluster_has_no_pods(operated: Operated) -> None:
    await operated.make("RayCluster", "ray", {**a_cluster(), "suspend": True})
    await operated.until_condition("RayCluster", "ray", "RayClusterSuspended")
    assert await operated.every("Pod") == []
    changed = a_cluster()
    restrict(changed["headGroupSpec"]["template"])
    restrict(changed["workerGroupSpecs"][0]["template"])
    await operated.change("RayCluster", "ray", {**changed, "suspend": False})
    pods = await operated.until_pods_run("head", "worker", "worker")
    assert all(is_restricted(pod) for pod in pods)
    await operated.change("RayCluster", "ray", {"suspend": True})
    await operated.until_condition("RayCluster", "ray", "RayClusterSuspended")
    await operated.until_empty("Pod")


async def test_a_job_has_a_cluster_while_not_suspended(operated: Operated) -> None:
    await operated.make("RayJob", "job", a_job(), labels={"on": "top"}, annotations={"on": "top"})
    await until(operated, "Suspended")
    assert await operated.every("Pod") == await operated.every("RayCluster") == await operated.every("Job") == []
    await operated.change("RayJob", "job", {"suspend": False})
    pods = await operated.until_pods_run(*FOUR)
    assert operated.creators() == {OPERATOR, JOB_CONTROLLER}
    chains = {pod["metadata"]["labels"]["of"]: await operated.owners(pod) for pod in pods}
    in_cluster = ["RayCluster", "RayJob"]
    assert chains == {"head": in_cluster, "worker": in_cluster, "submitter": ["Job", "RayJob"]}
    (first,) = await operated.every("RayCluster")
    assert (first["metadata"]["labels"]["on"], first["metadata"]["annotations"]["on"]) == ("top", "top")
    (submitter,) = await operated.every("Job")
    assert "on" not in submitter["metadata"]["labels"]
    assert (await until(operated, "Running"))["rayClusterName"] == first["metadata"]["name"]
    await operated.change("RayJob", "job", {"suspend": True})
    assert "rayClusterName" not in await until(operated, "Suspended")
    await operated.until_empty("Pod", "RayCluster", "Job")
    await operated.change("RayJob", "job", {"suspend": False})
    await operated.until_pods_run(*FOUR)
    (second,) = await operated.every("RayCluster")
    assert second["metadata"]["name"] != first["metadata"]["name"]


async def test_a_job_resumes_with_its_templates_of_then(operated: Operated) -> None:
    await operated.make("RayJob", "job", a_job())
    await until(operated, "Suspended")
    changed = a_job(suspend=False)
    restrict(changed["rayClusterSpec"]["headGroupSpec"]["template"])
    restrict(changed["rayClusterSpec"]["workerGroupSpecs"][0]["template"])
    restrict(changed["submitterPodTemplate"])
    await operated.change("RayJob", "job", changed)
    pods = await operated.until_pods_run(*FOUR)
    assert all(is_restricted(pod) for pod in pods)


async def test_a_job_that_keeps_its_cluster_cannot_be_suspended(operated: Operated) -> None:
    await operated.make("RayJob", "job", a_job(shutdownAfterJobFinishes=False))
    assert "is not allowed to be suspended" in (await until(operated, "ValidationFailed"))["message"]
    assert await operated.every("Pod") == []
