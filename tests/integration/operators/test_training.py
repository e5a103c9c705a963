"""Kubeflow's training operator in a sandbox: its jobs reach nodes, and stop and go by `runPolicy.suspend`."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.integration.operators.operated import Json, Operated, a_template, is_restricted, restrict
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration

OPERATOR = "system:serviceaccount:kubeflow:training-operator"


def a_job(field: str, container: str, *, first: str) -> Json:
    """A suspended job with one pod of the first role and two workers; its container must have the name of its kind."""
    roles = {first: 1, "Worker": 2}
    replicas = {role: {"replicas": count, "template": a_template(container)} for role, count in roles.items()}
    return {"runPolicy": {"suspend": True}, field: replicas}


KINDS = pytest.mark.parametrize(
    ("kind", "first", "spec"),
    [
        ("PyTorchJob", "Master", a_job("pytorchReplicaSpecs", "pytorch", first="Master")),
        ("MPIJob", "Launcher", a_job("mpiReplicaSpecs", "mpi", first="Launcher")),
    ],
    ids=["pytorch", "mpi"],
)


def resumed(spec: Json) -> Json:
    """The same, unsuspended and with what a queue would add to each template."""
    changed = copy.deepcopy(spec)
    changed["runPolicy"]["suspend"] = False
    for role in replicas_of(changed).values():
        restrict(role["template"])
    return changed


def replicas_of(spec: Json) -> Json:
    (replicas,) = [value for key, value in spec.items() if key.endswith("ReplicaSpecs")]
    return dict(replicas)


def names_of(spec: Json) -> list[str]:
    (name,) = {role["template"]["metadata"]["labels"]["of"] for role in replicas_of(spec).values()}
    return [name] * 3


def active(status: Json) -> dict[str, Any]:
    return {role: one.get("active", 0) for role, one in status["replicaStatuses"].items()}


@KINDS
async def test_a_job_has_pods_while_not_suspended(operated: Operated, kind: str, first: str, spec: Json) -> None:
    await operated.make(kind, "job", spec, labels={"on": "top"}, annotations={"on": "top"})
    status = await operated.until_condition(kind, "job", "Suspended")
    assert "replicaStatuses" not in status
    assert await operated.every("Pod") == []
    await operated.change(kind, "job", {"runPolicy": {"suspend": False}})
    pods = await operated.until_pods_run(*names_of(spec))
    assert [await operated.owners(pod) for pod in pods] == [[kind]] * 3
    assert all("on" not in {**pod["metadata"]["labels"], **pod["metadata"]["annotations"]} for pod in pods)
    assert operated.creators() == {OPERATOR}
    status = await operated.until_condition(kind, "job", "Running")
    assert active(status) == {first: 1, "Worker": 2}
    await operated.change(kind, "job", {"runPolicy": {"suspend": True}})
    status = await operated.until_condition(kind, "job", "Suspended")
    assert active(status) == {first: 0, "Worker": 0}
    await operated.until_empty("Pod")


@KINDS
async def test_a_job_resumes_with_its_templates_of_then(operated: Operated, kind: str, first: str, spec: Json) -> None:
    await operated.make(kind, "job", spec)
    await operated.until_condition(kind, "job", "Suspended")
    await operated.change(kind, "job", resumed(spec))
    pods = await operated.until_pods_run(*names_of(spec))
    assert all(is_restricted(pod) for pod in pods)


@pytest.mark.parametrize(("code", "condition"), [("0", "Succeeded"), ("1", "Failed")])
@KINDS
async def test_a_job_ends_with_its_first_pod(
    operated: Operated, kind: str, first: str, spec: Json, code: str, condition: str
) -> None:
    ending = copy.deepcopy(spec)
    ending["runPolicy"]["suspend"] = False
    role = replicas_of(ending)[first]
    role["restartPolicy"] = "Never"
    role["template"]["metadata"]["annotations"] |= {"run-for": "1s", "exit-code": code}
    await operated.make(kind, "job", ending)
    status = await operated.until_condition(kind, "job", condition)
    assert status["completionTime"]

    async def workers_stay() -> bool:
        workers = [pod for pod in await operated.every("Pod") if "-worker-" in pod["metadata"]["name"]]
        return [pod["status"].get("phase") for pod in workers] == ["Running"] * 2

    # unless cleanPodPolicy says otherwise; they keep what they use
    await eventually(workers_stay, message="the workers go")
