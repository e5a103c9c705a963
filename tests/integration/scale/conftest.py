"""A control plane of its own, with the gate kept by the apiserver: many pods, and their audit log to be read whole."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import pytest

from controller.kube.client import Client
from controller.sandbox import Sandbox
from controller.sandbox.installation import Installation, installed

PODS = "PENSTOCK_SCALE_PODS"
"""Environment variable: how many pods instead of `_PODS`."""
_PODS = 5_000


@dataclass(frozen=True, slots=True)
class Cluster:
    """A sandbox with Penstock in it."""

    sandbox: Sandbox
    programs: Installation


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """The session's cluster for this folder."""
    with asyncio.Runner() as runner:
        sandbox = runner.run(Sandbox.launch(audit=True))
        context = installed(sandbox)
        try:
            yield Cluster(sandbox, runner.run(context.__aenter__()))
            runner.run(context.__aexit__(None, None, None))
        finally:
            runner.run(sandbox.stop())


@pytest.fixture
async def client(cluster: Cluster) -> AsyncIterator[Client]:
    """A client with all rights."""
    async with cluster.sandbox.client() as client:
        yield client


@pytest.fixture
def count() -> int:
    """How many pods."""
    return int(os.environ.get(PODS, _PODS))
