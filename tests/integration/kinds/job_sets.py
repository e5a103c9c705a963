"""JobSets: a CRD of our own writing with the paths of the real one, and a controller that makes Jobs as that does.

As `jobset_controller.go` of kubernetes-sigs/jobset: the Jobs of a suspended JobSet exist and are suspended; when it is
resumed, labels, annotations, node selector and tolerations of its pod templates are merged into theirs, and nothing
else. As its webhook, a policy refuses other changes of pod templates. Kubernetes' own Job controller makes the pods.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from controller.core.keys import ADMITTED_JOB, CONDITION, QUEUE_NAME
from controller.kube.client import Client
from controller.kube.manifests import load_documents
from controller.sandbox.shipped import manifests
from tests.integration.kinds import rig
from tests.support.eventually import eventually
from tests.support.impersonation import Identity, Impersonation
from tests.support.team import Json, Team

GROUP = "jobset.x-k8s.io"
CONTROLLER = Identity.of_account("default", "job-set-controller")
EDITOR = Identity.of_account("default", "job-set-editor")
"""Writes JobSets and Jobs, and admits none."""
NAME, SET = f"{GROUP}/jobset-name", f"{GROUP}/replicatedjob-name"
CRD: Json = rig.a_crd(
    GROUP, "v1alpha2", "JobSet", "jobsets", annotations={"api-approved.kubernetes.io": "unapproved, of a test"}
)
_FIXED = (
    "map(one, [dyn(one.name), one.replicas, one.template.spec.?parallelism.orValue(1),"
    " one.template.spec.template.spec.containers, one.template.spec.template.spec.?affinity.orValue({})])"
)
WEBHOOK: tuple[Json, ...] = (
    {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "job-set-webhook"},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": [GROUP],
                        "apiVersions": ["*"],
                        "operations": ["UPDATE"],
                        "resources": ["jobsets"],
                    }
                ]
            },
            "validations": [
                {"expression": f"object.spec.replicatedJobs.{_FIXED} == oldObject.spec.replicatedJobs.{_FIXED}"}
            ],
        },
    },
    {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "job-set-webhook"},
        "spec": {"policyName": "job-set-webhook", "validationActions": ["Deny"]},
    },
)
RIGHTS = rig.rights(
    "job-set-controller",
    "job-set-editor",
    {"apiGroups": [GROUP, "kubeflow.org"], "resources": ["*"], "verbs": ["*"]},
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["*"]},
    {"apiGroups": ["batch"], "resources": ["jobs", "jobs/status"], "verbs": ["*"]},
)


def rendered() -> list[Json]:
    """What an administrator applies for the kind, which comes with Penstock."""
    (kind,) = load_documents(manifests("kinds") / f"jobsets.{GROUP}.yaml")
    return rig.rendered(kind)


def a_replicated_job(name: str, cpu: str = "1", replicas: int = 1, pods: int = 1, **spec: Any) -> Json:
    """One whose Jobs have so many pods each."""
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}
    template = {
        "metadata": {"annotations": {"run-for": "1h"}},
        "spec": {"restartPolicy": "Never", "containers": [container], **spec},
    }
    job = {"parallelism": pods, "completions": pods, "completionMode": "Indexed", "template": template}
    return {"name": name, "replicas": replicas, "template": {"spec": job}}


def a_job_set(name: str, *jobs: Json, labels: Mapping[str, str] | None = None, **metadata: Any) -> Json:
    """One that names the queue, unless it has other labels."""
    named = {"name": name, "labels": {QUEUE_NAME: "main"} if labels is None else dict(labels), **metadata}
    spec = {"replicatedJobs": list(jobs)}
    return {"apiVersion": f"{GROUP}/v1alpha2", "kind": "JobSet", "metadata": named, "spec": spec}


class JobSets(rig.LabelledObjects):
    """Makes and reads them in a team's namespace."""

    def __init__(self, team: Team) -> None:
        super().__init__(team, f"{GROUP}/v1alpha2/jobsets", NAME)

    async def make(self, name: str, *jobs: Json, **metadata: Any) -> Json:
        return dict(orjson.loads(await self.team.client.post(self.path, a_job_set(name, *jobs, **metadata))))

    async def jobs_of(self, name: str) -> list[Json]:
        every = orjson.loads(await self.team.client.get(self.jobs_path))["items"]
        return [job for job in every if job["metadata"]["labels"].get(NAME) == name]

    async def until_waiting(self, name: str, reason: str, jobs: int) -> None:
        """Wait until it says that it waits for this reason, with so many suspended Jobs, and no pods."""

        async def waits() -> bool:
            found = await self.get(name)
            said = orjson.loads(found["metadata"]["annotations"][CONDITION])
            assert (said["status"], said["reason"]) == ("False", reason), said
            assert [job["spec"]["suspend"] for job in await self.jobs_of(name)] == [True] * jobs
            assert await self.pods_of(name) == []
            return bool(found["spec"]["suspend"])

        await eventually(waits, seconds=60, message=f"JobSet {name} does not wait for {reason}")


async def are_in_effect(apiserver: Impersonation) -> bool:
    """Whether the apiserver heeds the policies that suspend, and that refuse; it learns of each at another time."""
    path, dry = f"/apis/{GROUP}/v1alpha2/namespaces/default/jobsets", {"dryRun": "All"}
    reply = await apiserver.send(EDITOR, "POST", path, a_job_set("probe", a_replicated_job("a")), params=dry)
    assert reply.body["spec"]["suspend"] is True
    stamped = a_replicated_job("a")
    stamped["template"]["spec"]["template"]["metadata"]["annotations"][ADMITTED_JOB] = "u/a"
    reply = await apiserver.send(EDITOR, "POST", path, a_job_set("probe", stamped, labels={}), params=dry)
    return reply.code == 403


class JobSetController:
    """Makes the Jobs of JobSets, suspends and resumes them, as its account."""

    def __init__(self, client: Client, apiserver: Impersonation, sets: JobSets) -> None:
        self._client = client
        self._apiserver = apiserver
        self._sets = sets

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            for job_set in orjson.loads(await self._client.get(self._sets.path))["items"]:
                await self._reconcile(job_set)
            await asyncio.sleep(0.1)

    async def _reconcile(self, job_set: Json) -> None:
        there = {job["metadata"]["name"]: job for job in await self._sets.jobs_of(job_set["metadata"]["name"])}
        stops = bool(job_set["spec"].get("suspend"))
        for name, replicated in _jobs(job_set):
            job = there.get(name)
            if job is None:
                await self._send("POST", "", _job(job_set, name, replicated))
            elif stops and not job["spec"]["suspend"]:
                await self._send("PUT", f"/{name}", {**job, "spec": {**job["spec"], "suspend": True}})
            elif job["spec"]["suspend"] and not stops:
                await self._resume(job, replicated)

    async def _resume(self, job: Json, replicated: Json) -> None:
        path = f"/{job['metadata']['name']}"
        if job["status"].pop("startTime", None) is not None:
            await self._send("PUT", f"{path}/status", job)
            return
        template, own = job["spec"]["template"], replicated["template"]["spec"]["template"]
        for part in ("labels", "annotations"):
            template["metadata"][part] = {**template["metadata"].get(part, {}), **own["metadata"].get(part, {})}
        for part, empty in (("nodeSelector", {}), ("tolerations", [])):
            old, new = template["spec"].get(part, empty), own["spec"].get(part, empty)
            template["spec"][part] = (
                {**old, **new} if isinstance(new, dict) else [*old, *(x for x in new if x not in old)]
            )
        job["spec"]["suspend"] = False
        await self._send("PUT", path, job)

    async def _send(self, method: str, path: str, body: Json) -> None:
        reply = await self._apiserver.send(CONTROLLER, method, f"{self._sets.jobs_path}{path}", body)
        assert reply.code in (200, 201, 404, 409), reply.body


def _jobs(job_set: Json) -> Iterator[tuple[str, Json]]:
    for one in job_set["spec"]["replicatedJobs"]:
        for number in range(one["replicas"]):
            yield f"{job_set['metadata']['name']}-{one['name']}-{number}", one


def _job(job_set: Json, name: str, replicated: Json) -> Json:
    labels = {NAME: job_set["metadata"]["name"], SET: replicated["name"]}
    spec: Json = orjson.loads(orjson.dumps(replicated["template"]["spec"]))
    metadata = spec["template"]["metadata"]
    metadata["labels"] = {**metadata.get("labels", {}), **labels}
    spec["suspend"] = bool(job_set["spec"].get("suspend"))
    owner = {
        "apiVersion": job_set["apiVersion"],
        "kind": "JobSet",
        "name": job_set["metadata"]["name"],
        "uid": job_set["metadata"]["uid"],
        "controller": True,
    }
    own = {"name": name, "labels": labels, "ownerReferences": [owner]}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": own, "spec": spec}
