"""may_change against the live apiserver: updates as dry runs, its answer and the causes it names compared with ours."""

from __future__ import annotations

import asyncio
import secrets
import ssl
from collections.abc import AsyncIterator
from random import Random
from typing import Any

import aiohttp
import pytest

from controller.core.pod_update import may_change
from controller.kube import config
from controller.kube.client import Client
from controller.kube.errors import Invalid
from controller.sandbox import Sandbox
from tests.differential.pairs import changed, stored_pod
from tests.support.kubernetes import MINOR

pytestmark = pytest.mark.integration

Json = dict[str, Any]
_PODS, _EACH = 50, 10
_AT_ONCE = 8
_NOT_OURS = ("nodeName", "overhead", "priority", "serviceAccountName")
"""Needs other objects, or is what an admission plugin writes."""


@pytest.fixture
async def raw(sandbox: Sandbox) -> AsyncIterator[aiohttp.ClientSession]:
    """Requests whose whole answer is wanted: our client keeps the message and not the causes."""
    settings = await config.load(str(sandbox.kubeconfig))
    context = ssl.create_default_context(cafile=settings.ca_file)
    assert settings.cert_file
    context.load_cert_chain(settings.cert_file, settings.key_file)
    connector = aiohttp.TCPConnector(ssl=context, limit=_AT_ONCE)
    async with aiohttp.ClientSession(settings.host, connector=connector) as session:
        yield session


async def test_the_apiserver_answers_dry_runs_as_we_do(
    admin: Client, raw: aiohttp.ClientSession, namespace: str
) -> None:
    seed = secrets.randbits(32)
    random = Random(seed)  # noqa: S311 - cases, not secrets
    names = [await _create(admin, namespace, random, f"pod-{number}") for number in range(_PODS)]
    pods = [await _get(raw, namespace, name) for name in names]
    updates = [(old, _update(random, old)) for old in pods for _ in range(_EACH)]
    answers = await asyncio.gather(*(_causes(raw, new) for _, new in updates))
    assert any(answers)
    assert not all(answers)
    for (old, new), theirs in zip(updates, answers, strict=True):
        assert {(v.path, v.cause.value) for v in may_change(old, new, minor=MINOR)} == theirs, (seed, old, new)


async def _create(admin: Client, namespace: str, random: Random, name: str) -> str:
    """Make a pod; what the apiserver does not take as a new one is drawn again."""
    while True:
        drawn = stored_pod(random)
        spec = {field: value for field, value in drawn["spec"].items() if field not in _NOT_OURS}
        # no volume of a token: what mounts it would be malformed when a change takes the volumes away
        spec["automountServiceAccountToken"] = False
        # who tolerates every taint is given no more tolerations by DefaultTolerationSeconds, now or at an update
        spec["tolerations"] = [*(spec.get("tolerations") or ()), {"operator": "Exists"}]
        metadata = {"name": name, "labels": drawn["metadata"]["labels"]}
        try:
            await admin.post(f"/api/v1/namespaces/{namespace}/pods", {"metadata": metadata, "spec": spec})
        except Invalid:
            continue
        return name


async def _get(raw: aiohttp.ClientSession, namespace: str, name: str) -> Json:
    async with raw.get(f"/api/v1/namespaces/{namespace}/pods/{name}") as response:
        document: Json = await response.json()
        return document


def _update(random: Random, old: Json) -> Json:
    new = changed(random, old)
    # what a request says of these is judged before any validation, or by the store
    new["metadata"] |= {name: old["metadata"][name] for name in ("name", "namespace", "uid")}
    new["metadata"].pop("resourceVersion", None)
    # what the admission plugin Priority puts back where it is missing
    for name in ("priority", "preemptionPolicy"):
        if new["spec"].get(name) is None:
            new["spec"][name] = old["spec"].get(name)
    return new


async def _causes(raw: aiohttp.ClientSession, new: Json) -> set[tuple[str, str]]:
    metadata = new["metadata"]
    path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
    async with raw.put(path, params={"dryRun": "All"}, json=new) as response:
        answer: Json = await response.json()
    if response.status == 200:
        return set()
    assert response.status == 422, answer
    return {(cause["field"], cause["reason"]) for cause in answer["details"]["causes"]}
