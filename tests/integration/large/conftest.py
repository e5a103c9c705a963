"""A control plane with 400 pods of 1.15 MB before Penstock comes; of its own, since they take much of its memory."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from controller.kube.client import Client
from controller.sandbox import Sandbox
from tests.support.clusters import Cluster, a_cluster
from tests.support.existence import until_takes_pods

COUNT = 400
PARTS, PART = 10, 115_000
NAMESPACE = "/api/v1/namespaces/large"
AT_ONCE = 4


@pytest.fixture(scope="package")
def cluster() -> Iterator[Cluster]:
    """The cluster of this folder."""
    with a_cluster(before=make_all) as cluster:
        yield cluster


async def make_all(sandbox: Sandbox) -> None:
    async with sandbox.client() as client:
        await client.post("/api/v1/namespaces", {"metadata": {"name": NAMESPACE.rsplit("/", 1)[-1]}})
        await until_takes_pods(client, NAMESPACE.rsplit("/", 1)[-1])
        numbers = iter(range(COUNT))
        with warnings.catch_warnings():
            # aiohttp's, of a body that it sends at once
            warnings.filterwarnings("ignore", "Sending a large body", ResourceWarning)
            async with asyncio.TaskGroup() as group:
                for writer in range(AT_ONCE):
                    group.create_task(make(client, numbers), name=f"create-{writer}")


async def make(client: Client, numbers: Iterator[int]) -> None:
    for number in numbers:
        await client.post(f"{NAMESPACE}/pods", a_large_pod(number))


def a_large_pod(number: int) -> dict[str, Any]:
    """One that names no queue; nobody has to be in a queue to make it."""
    values = [{"name": f"V{part}", "value": "x" * PART} for part in range(PARTS)]
    spec = {"containers": [{"name": "main", "image": "none", "env": values}], "schedulingGates": [{"name": "a.com/b"}]}
    return {"metadata": {"name": f"large-{number:03}"}, "spec": spec}
