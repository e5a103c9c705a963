"""The Jobs that the table of Jobs is about, and the requests about them."""

from __future__ import annotations

import secrets
from functools import partial
from typing import Any, Final

from controller.core.keys import ADMITTED_JOB, RUN_TIME_LIMIT
from controller.kube.client import MERGE_PATCH
from tests.integration.protection.job_table import (
    OF_JOB_SET,
    STAMPS_OF_JOB,
    STAMPS_OF_PART,
    STAMPS_OF_TEMPLATE,
    CreateJob,
    JobRow,
    JobStart,
    UpdateJob,
)
from tests.integration.protection.people import BREAK_GLASS, DRY, IDENTITIES
from tests.integration.protection.table import QUEUED_LABELS, Where, Who
from tests.support.eventually import eventually
from tests.support.impersonation import Identity, Impersonation, Reply

Json = dict[str, Any]
_INVALID: Final = 422
_PARTS = (JobStart.PART_WAITING, JobStart.PART, JobStart.PART_STOPPED)
_POD = {
    "restartPolicy": "Never",
    "nodeSelector": {"table": "nowhere"},
    "containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}],
}


def a_job(name: str, metadata: Json, template: Json, spec: Json) -> Json:
    """A Job of two pods at a time, unless it says otherwise."""
    inside = {"parallelism": 2, "template": {"metadata": template, "spec": _POD}, **spec}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, **metadata}, "spec": inside}


class JobField:
    """The namespaces of the table, and whoever does something with Jobs in them."""

    def __init__(self, apiserver: Impersonation, namespaces: dict[Where, str], leader: str) -> None:
        self._apiserver = apiserver
        self._namespaces = namespaces
        self._leader = leader

    async def ask(self, row: JobRow) -> Reply:
        """Make the Job that the row begins with, and its request, as a dry run."""
        return await self.send(row.who, row.does)

    async def send(self, who: Who, does: CreateJob | UpdateJob) -> Reply:
        """Make the Job that a request begins with, and the request, as a dry run."""
        match does:
            case CreateJob(metadata, template, spec, where):
                body = a_job("created", metadata, template, spec)
                return await self._send(who, "POST", self._jobs(where), body, where)
            case UpdateJob(start, patch, subresource):
                return await self._update(who, start, patch, subresource)

    async def _update(self, who: Who, start: JobStart, patch: Json, subresource: str) -> Reply:
        """Until the request found the Job as it is to begin.

        A suspended one is soon put back by the controller, and before the Job controller has seen that it is suspended,
        the apiserver itself refuses (422) another template.
        """
        while True:
            path = f"{self._jobs()}/{await self._start(start)}"
            reply = await self._send(who, "PATCH", f"{path}/{subresource}".rstrip("/"), self._signed(patch))
            if start is not JobStart.SUSPENDED or (reply.code != _INVALID and await self._is_stamped(path)):
                return reply

    def _signed(self, patch: Json) -> Json:
        """The fence wants the leader's name, which no table knows."""
        annotations = patch.get("metadata", {}).get("annotations", {})
        named = {key: self._leader if value == "LEADER" else value for key, value in annotations.items()}
        return {**patch, "metadata": {**patch["metadata"], "annotations": named}} if named else patch

    async def _start(self, start: JobStart) -> str:
        name = f"{start.replace(' ', '-')}-{secrets.token_hex(3)}"
        metadata = {} if start is JobStart.OUTSIDE else OF_JOB_SET if start in _PARTS else QUEUED_LABELS
        spec = {"suspend": True, **({"managedBy": "example.com/x"} if start is JobStart.FOREIGN else {})}
        if start is JobStart.INDEXED:
            spec |= {"completionMode": "Indexed", "completions": 2}
        if start is JobStart.WIDE:
            spec |= {"completionMode": "Indexed", "completions": 2, "parallelism": 3}
        await self._made("POST", self._jobs(), a_job(name, metadata, {}, spec))
        path = f"{self._jobs()}/{name}"
        if start in _PARTS[1:]:
            await self._made("PATCH", path, {"spec": {"suspend": False, "template": {"metadata": STAMPS_OF_PART}}})
        elif start not in (JobStart.OUTSIDE, JobStart.WAITING, JobStart.FOREIGN, JobStart.PART_WAITING):
            template = {"metadata": STAMPS_OF_TEMPLATE}
            spec = {"suspend": False, "template": template}
            await self._made("PATCH", path, {"metadata": STAMPS_OF_JOB, "spec": spec})
        if start is JobStart.LIMITED:
            limit = {"metadata": {"annotations": {RUN_TIME_LIMIT: "3600"}}, "spec": {"activeDeadlineSeconds": 3600}}
            await self._made("PATCH", path, limit)
        if start is JobStart.SUSPENDED:
            await self._made("PATCH", path, {"spec": {"suspend": True}})
        if start is JobStart.PART_STOPPED:
            await self._made("PATCH", path, {"spec": {"suspend": True}})
            await eventually(partial(self._has_stopped, path), message="the Job does not stop")
        return name

    async def _has_stopped(self, path: str) -> bool:
        """Whether the apiserver lets its template be changed again."""
        reply = await self._apiserver.send(IDENTITIES[Who.BREAK_GLASS], "GET", path, {})
        return not reply.body["status"].get("startTime") and not reply.body["status"].get("active")

    async def _is_stamped(self, path: str) -> bool:
        reply = await self._apiserver.send(IDENTITIES[Who.BREAK_GLASS], "GET", path, {})
        return ADMITTED_JOB in (reply.body["spec"]["template"]["metadata"].get("annotations") or {})

    def _jobs(self, where: Where = Where.PLAIN) -> str:
        return f"/apis/batch/v1/namespaces/{self._namespaces[where]}/jobs"

    async def _made(self, method: str, path: str, body: Json) -> None:
        content_type = MERGE_PATCH if method == "PATCH" else "application/json"
        who = Identity("jane", ("system:masters", BREAK_GLASS, "system:authenticated"))
        reply = await self._apiserver.send(who, method, path, body, content_type=content_type)
        assert reply.code < 300, reply.body

    async def _send(self, who: Who, method: str, path: str, body: Json, where: Where = Where.PLAIN) -> Reply:
        identity = Identity.of_account(self._namespaces[where], "editor") if who is Who.EDITOR else IDENTITIES[who]
        content_type = MERGE_PATCH if method == "PATCH" else "application/json"
        return await self._apiserver.send(identity, method, path, body, content_type=content_type, params=DRY)
