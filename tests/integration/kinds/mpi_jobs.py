"""MPIJobs of the MPI operator: a CRD of our own writing with the paths of the real one, and what its controller does.

As `mpi_job_controller.go` of kubeflow/mpi-operator: workers are pods, and the launcher is a Job, which exists and is
suspended while the MPIJob is. When that is resumed, labels and annotations are merged into the template of the Job,
node selector and tolerations replaced, and affinity left as it was.
"""

from __future__ import annotations

import asyncio
from typing import Any

import orjson

from controller.core.keys import QUEUE_NAME
from controller.kube.client import Client
from controller.kube.manifests import load_documents
from controller.sandbox.shipped import manifests
from tests.integration.kinds import job_sets, rig
from tests.support.impersonation import Impersonation, Reply
from tests.support.team import Json, Team

GROUP, VERSION = "kubeflow.org", "v2beta1"
CONTROLLER = job_sets.CONTROLLER
"""One account writes the Jobs of both kinds."""
NAME = "training.kubeflow.org/job-name"
CRD: Json = rig.a_crd(GROUP, VERSION, "MPIJob", "mpijobs")


def rendered() -> list[Json]:
    """What an administrator applies for the kind, which comes with Penstock."""
    (kind,) = load_documents(manifests("kinds") / f"mpijobs.{VERSION}.{GROUP}.yaml")
    return rig.rendered(kind)


def a_template(cpu: str, **spec: Any) -> Json:
    template: Json = job_sets.a_replicated_job("a", cpu, **spec)["template"]["spec"]["template"]
    return template


def an_mpi_job(name: str, launcher: Json, workers: Json, count: int = 1) -> Json:
    """One that names the queue."""
    specs = {"Launcher": {"replicas": 1, "template": launcher}, "Worker": {"replicas": count, "template": workers}}
    metadata = {"name": name, "labels": {QUEUE_NAME: "main"}}
    kind = {"apiVersion": f"{GROUP}/{VERSION}", "kind": "MPIJob"}
    return {**kind, "metadata": metadata, "spec": {"mpiReplicaSpecs": specs}}


async def are_in_effect(apiserver: Impersonation) -> bool:
    """Whether the apiserver heeds the policy that suspends."""
    path, dry = f"/apis/{GROUP}/{VERSION}/namespaces/default/mpijobs", {"dryRun": "All"}
    body = an_mpi_job("probe", a_template("1"), a_template("1"))
    return _is_suspended((await apiserver.send(job_sets.EDITOR, "POST", path, body, params=dry)).body)


class MpiJobs(rig.LabelledObjects):
    """Makes and reads them in a team's namespace."""

    def __init__(self, team: Team) -> None:
        super().__init__(team, f"{GROUP}/{VERSION}/mpijobs", NAME)

    async def make(self, name: str, launcher: Json, workers: Json, count: int) -> Json:
        body = an_mpi_job(name, launcher, workers, count)
        return dict(orjson.loads(await self.team.client.post(self.path, body)))


class MpiOperator:
    """Makes the pods and the launcher of MPIJobs, suspends and resumes them, as its account."""

    def __init__(self, client: Client, apiserver: Impersonation, jobs: MpiJobs) -> None:
        self._client = client
        self._apiserver = apiserver
        self._jobs = jobs

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            for job in orjson.loads(await self._client.get(self._jobs.path))["items"]:
                await self._workers(job)
                await self._launcher(job)
            await asyncio.sleep(0.1)

    async def _workers(self, job: Json) -> None:
        workers, path = job["spec"]["mpiReplicaSpecs"]["Worker"], self._jobs.team.pods_path
        there = {pod["metadata"]["name"] for pod in await self._jobs.pods_of(job["metadata"]["name"])}
        for number in range(workers["replicas"]):
            name = f"{job['metadata']['name']}-worker-{number}"
            if _is_suspended(job) and name in there:
                await self._send("DELETE", f"{path}/{name}", {})
            elif not _is_suspended(job) and name not in there:
                pod = _of(job, name, workers["template"])
                await self._send("POST", path, {"apiVersion": "v1", "kind": "Pod", **pod})

    async def _launcher(self, job: Json) -> None:
        name, path = f"{job['metadata']['name']}-launcher", self._jobs.jobs_path
        template = _of(job, name, job["spec"]["mpiReplicaSpecs"]["Launcher"]["template"])
        owners = template["metadata"].pop("ownerReferences")
        found = await self._send("GET", f"{path}/{name}", {})
        if found.code == 404:
            metadata = {"name": name, "labels": {"app": job["metadata"]["name"]}, "ownerReferences": owners}
            spec = {"suspend": _is_suspended(job), "template": template}
            made = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}
            await self._send("POST", path, made)
        elif found.body["spec"]["suspend"] != _is_suspended(job):
            await self._turn(found.body, template, f"{path}/{name}")

    async def _turn(self, launcher: Json, template: Json, path: str) -> None:
        spec, inside = launcher["spec"], launcher["spec"]["template"]
        if spec["suspend"] and launcher["status"].pop("startTime", None) is not None:
            await self._send("PUT", f"{path}/status", launcher)
            return
        if spec["suspend"]:
            for part in ("labels", "annotations"):
                inside["metadata"][part] = {**inside["metadata"].get(part, {}), **template["metadata"].get(part, {})}
            for part, none in (("nodeSelector", {}), ("tolerations", [])):
                inside["spec"][part] = template["spec"].get(part, none)
        spec["suspend"] = not spec["suspend"]
        await self._send("PUT", path, launcher)

    async def _send(self, method: str, path: str, body: Json) -> Reply:
        reply = await self._apiserver.send(CONTROLLER, method, path, body)
        assert reply.code in (200, 201, 404, 409), reply.body
        return reply


def _is_suspended(job: Json) -> bool:
    return bool(job["spec"].get("runPolicy", {}).get("suspend"))


def _of(job: Json, name: str, template: Json) -> Json:
    """A pod, or the template of the launcher."""
    made: Json = orjson.loads(orjson.dumps(template))
    made["metadata"] = {**made["metadata"], "name": name}
    made["metadata"]["labels"] = {**made["metadata"].get("labels", {}), NAME: job["metadata"]["name"]}
    kind = {"apiVersion": job["apiVersion"], "kind": job["kind"], "name": job["metadata"]["name"]}
    made["metadata"]["ownerReferences"] = [{**kind, "uid": job["metadata"]["uid"], "controller": True}]
    return made
