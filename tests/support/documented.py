"""The commands of a document, run in a sandbox: `penstock` and `sleep` as they are, kubectl and Helm by their effect.

Only the forms that our documents use are known; anything else fails, so that a document cannot outgrow its test.
"""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from controller.kube.apply import delete
from controller.kube.client import MERGE_PATCH, Client
from controller.kube.errors import NotFound
from controller.sandbox import Sandbox
from tests.support.command import penstock
from tests.support.eventually import eventually

Json = dict[str, Any]
ROOT = Path(__file__).resolve().parents[2]
_SECTION = re.compile(r"^## (.*)$", re.MULTILINE)
_PART = re.compile(r"(?:\n\n|\A)([^\n]*(?:\n[^\n]+)*?):\n\n```console\n(.*?)```|```console\n(.*?)```", re.DOTALL)
_ADMISSION = "/apis/admissionregistration.k8s.io/v1"
_PATHS = {
    "apiservices": "/apis/apiregistration.k8s.io/v1/apiservices",
    "crd": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "deployments": "/apis/apps/v1/namespaces/{namespace}/deployments",
    "mutatingadmissionpolicies": f"{_ADMISSION}/mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings": f"{_ADMISSION}/mutatingadmissionpolicybindings",
    "mutatingwebhookconfigurations": f"{_ADMISSION}/mutatingwebhookconfigurations",
    "namespace": "/api/v1/namespaces",
    "validatingadmissionpolicies": f"{_ADMISSION}/validatingadmissionpolicies",
    "validatingadmissionpolicybindings": f"{_ADMISSION}/validatingadmissionpolicybindings",
    "validatingwebhookconfigurations": f"{_ADMISSION}/validatingwebhookconfigurations",
}


def commands(document: str, *, leaving_out: str) -> list[tuple[str, str]]:
    """Return (section, command) in order, without the blocks whose sentence before them holds `leaving_out`."""
    text = (ROOT / "docs" / document).read_text(encoding="utf-8")
    headings = list(_SECTION.finditer(text))
    ends = [*(heading.start() for heading in headings[1:]), len(text)]
    return [
        (heading[1], line)
        for heading, end in zip(headings, ends, strict=True)
        for part in _PART.finditer(text[heading.end() : end])
        if leaving_out not in (part[1] or "")
        for line in (part[2] or part[3]).splitlines()
    ]


class Shell:
    """Runs commands for an administrator of the sandbox, who installed `objects`."""

    def __init__(
        self,
        sandbox: Sandbox,
        client: Client,
        objects: Sequence[Json],
        *,
        on_controller_gone: Callable[[], Awaitable[object]],
        on_programs_gone: Callable[[], Awaitable[None]],
    ) -> None:
        """Both end what runs in place of the Deployments' pods."""
        self._sandbox = sandbox
        self._client = client
        self._objects = objects
        self._on_controller_gone = on_controller_gone
        self._on_programs_gone = on_programs_gone

    async def run(self, command: str) -> None:
        """Run one command; it has to succeed."""
        match shlex.split(command):
            case ["sleep", _] as words:
                await asyncio.sleep(float(words[1]))
            case ["penstock", *words]:
                done = await penstock(self._sandbox, *words)
                assert done.code == 0, done
            case ["helm", "uninstall", "penstock", "--namespace", "penstock-system"]:
                kept = "helm.sh/resource-policy"
                await self._delete([one for one in self._objects if kept not in one["metadata"].get("annotations", {})])
            case ["kubectl", "delete", "-k", ".", "--ignore-not-found"]:
                await self._delete(self._objects)
            case ["kubectl", "-n", namespace, "scale", "deployment", name, "--replicas=0"]:
                path = f"{_PATHS['deployments'].format(namespace=namespace)}/{name}/scale"
                await self._client.patch(path, {"spec": {"replicas": 0}}, content_type=MERGE_PATCH)
                await self._on_controller_gone()
            case ["kubectl", "-n", namespace, "delete", "deployments", "-l", selector]:
                await self._collection("deployments", selector, namespace)
                await self._on_programs_gone()
            case ["kubectl", "delete", kinds, "-l", selector]:
                for kind in kinds.split(","):
                    await self._collection(kind, selector)
            case ["kubectl", "delete", kind, name, "--ignore-not-found"]:
                await self._one(f"{_PATHS[kind]}/{name}")
            case _:
                raise AssertionError(f"the test does not know how to run: {command}")

    async def _delete(self, objects: Sequence[Json]) -> None:
        await delete(self._client, objects, namespace="penstock-system")
        await self._on_programs_gone()
        if any(one["kind"] == "Namespace" for one in objects):
            await self._one("/api/v1/namespaces/penstock-system")

    async def _collection(self, kind: str, selector: str, namespace: str = "") -> None:
        path = _PATHS[kind].format(namespace=namespace)
        await self._client.delete(path, params={"labelSelector": selector})
        await eventually(partial(self._is_empty, path, selector), seconds=60, message=f"{path} does not empty")

    async def _is_empty(self, path: str, selector: str) -> bool:
        return not orjson.loads(await self._client.get(path, {"labelSelector": selector}))["items"]

    async def _one(self, path: str) -> None:
        """As kubectl: until it is gone."""

        async def gone() -> bool:
            try:
                await self._client.delete(path)
            except NotFound:
                return True
            return False

        await eventually(gone, seconds=60, message=f"{path} is still there")
