"""A control plane with both operators in it, on nodes for their pods."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from controller.kube.client import Client
from controller.sandbox import NodeShape, Sandbox
from controller.sandbox.operators import NAMES
from tests.integration.operators.operated import Operated
from tests.support.kubernetes import VERSION

# the launcher of an MPIJob has an init container that asks for it
_NODES = NodeShape(count=3, resources={"ephemeral-storage": "100Gi"})


@pytest.fixture(scope="package")
def sandbox() -> Iterator[Sandbox]:
    """The folder's control plane."""
    started = asyncio.run(Sandbox.launch(kubernetes=VERSION, audit=True, operators=NAMES, node_shapes=[_NODES]))
    yield started
    asyncio.run(started.stop())


@pytest.fixture
def operated(sandbox: Sandbox, admin: Client, namespace: str) -> Operated:
    """Objects of the operators in a namespace of their own."""
    return Operated(sandbox, admin, namespace)
