"""Jobs of a team's namespace that are held as a whole, and what is waited for of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from controller.core.keys import ADMITTED_JOB, CONDITION, FLAVOR, QUEUE_NAME
from controller.kube.client import MERGE_PATCH
from tests.support.eventually import eventually
from tests.support.team import Json, Team


class HeldJobs:
    """Makes, reads and changes them."""

    def __init__(self, team: Team) -> None:
        self._team = team
        self.path = f"/apis/batch/v1/namespaces/{team.namespace}/jobs"

    async def make(
        self,
        name: str,
        cpu: str = "1",
        *,
        parallelism: int = 2,
        labels: Mapping[str, str] | None = None,
        run_for: str = "1h",
        template: Mapping[str, Any] | None = None,
        annotations: Mapping[str, str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        **spec: Any,
    ) -> Json:
        """Create a Job that names the queue.

        `template` is laid over the spec of its pods, `spec` over its own, `metadata` over its metadata. `annotations`
        are those of its pods.
        """
        containers = [{"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}]
        inside = {
            "metadata": {"annotations": {"run-for": run_for, **(annotations or {})}},
            "spec": {"restartPolicy": "Never", "containers": containers, **(template or {})},
        }
        own = {"parallelism": parallelism, "completions": parallelism, "template": inside, **spec}
        named = {"name": name, "labels": {QUEUE_NAME: "main"} if labels is None else dict(labels), **(metadata or {})}
        return dict(orjson.loads(await self._team.client.post(self.path, {"metadata": named, "spec": own})))

    async def get(self, name: str) -> Json:
        return dict(orjson.loads(await self._team.client.get(f"{self.path}/{name}")))

    async def change(self, name: str, spec: Json) -> Json:
        """Merge into a Job's spec, with all rights."""
        body = await self._team.client.patch(f"{self.path}/{name}", {"spec": spec}, content_type=MERGE_PATCH)
        return dict(orjson.loads(body))

    async def delete(self, name: str) -> None:
        await self._team.client.delete(f"{self.path}/{name}", {"propagationPolicy": "Background"})

    async def pods_of(self, name: str) -> list[Json]:
        """The pods that this Job made, in no order."""
        every = (await self._team.all()).values()
        return [pod for pod in every if pod["metadata"].get("labels", {}).get("batch.kubernetes.io/job-name") == name]

    async def until_waiting(self, name: str, reason: str) -> str:
        """Wait until the Job says that it waits for this reason; return its message."""

        async def waits() -> str:
            job = await self.get(name)
            assert job["spec"]["suspend"]
            condition = condition_of(job)
            assert condition is not None
            assert (condition["status"], condition["reason"]) == ("False", reason), condition
            return str(condition["message"])

        return await eventually(waits, message=f"Job {name} does not wait for {reason}")

    async def until_runs(self, name: str, count: int, *, flavor: str | None = None, seconds: float = 40) -> list[Json]:
        """Wait until so many pods of the Job are on nodes, where it was admitted to this flavor; return them."""

        async def runs() -> list[Json]:
            job, pods = await self.get(name), await self.pods_of(name)
            assert not job["spec"]["suspend"], job.get("status")
            assert flavor is None or job["metadata"]["labels"].get(FLAVOR) == self._team.full(flavor), job["metadata"]
            bound = [pod for pod in pods if pod["spec"].get("nodeName") and "deletionTimestamp" not in pod["metadata"]]
            assert len(bound) == count, [pod["status"] for pod in pods]
            return bound

        return await eventually(runs, seconds=seconds, message=f"Job {name} does not run")

    async def until(self, name: str, condition: str) -> Json:
        """Wait until the Job has this condition."""

        async def has() -> Json:
            job = await self.get(name)
            found = [one["type"] for one in job["status"].get("conditions", ()) if one["status"] == "True"]
            assert condition in found, job["status"]
            return job

        return await eventually(has, message=f"Job {name} is not {condition}")


def condition_of(job: Json) -> Json | None:
    """Our condition, as it stands on the Job."""
    conditions = job.get("status", {}).get("conditions", ())
    return next((dict(one) for one in conditions if one["type"] == CONDITION), None)


def is_stamped(job: Json) -> bool:
    """Whether the template says that the Job was admitted."""
    return ADMITTED_JOB in (job["spec"]["template"]["metadata"].get("annotations") or {})
