"""A sample API behind the real apiserver, served with the rights that `config/components/visibility` gives."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from controller.extension_api.pacing import Turns
from controller.extension_api.paths import ROOT
from controller.extension_api.serving import served
from controller.kube.apply import apply, delete
from controller.kube.client import Client
from controller.kube.manifests import load_documents
from controller.sandbox import Sandbox
from controller.sandbox.aggregation import is_aggregated, on_loopback
from controller.sandbox.installation import CONTROLLER_ACCOUNT, NAMESPACE
from controller.telemetry.http import Address
from tests.support.eventually import eventually
from tests.support.sample_api import SampleApi
from tests.support.viewers import Viewers, viewers

CONFIG = Path(__file__).resolve().parents[3] / "config"
COMPONENT = load_documents(CONFIG / "components" / "visibility")
AGGREGATED = [one for one in COMPONENT if is_aggregated(one)]
RIGHTS = [one for one in COMPONENT if not is_aggregated(one)]


@dataclass(frozen=True)
class Served:
    """What answers, where, and those who ask."""

    api: SampleApi
    address: Address
    viewers: Viewers
    sandbox: Sandbox


@pytest.fixture(scope="package")
def kubeconfig(sandbox: Sandbox) -> Iterator[Path]:
    """Of the controller's ServiceAccount, with the rights of the component, which other tests do not expect."""

    async def grant() -> Path:
        async with sandbox.client() as client:
            await apply(client, [*load_documents(CONFIG / "rbac"), *RIGHTS])
        return await sandbox.service_account_kubeconfig(NAMESPACE, CONTROLLER_ACCOUNT)

    async def take_back() -> None:
        async with sandbox.client() as client:
            await delete(client, RIGHTS)

    yield asyncio.run(grant())
    asyncio.run(take_back())


@pytest.fixture
async def sample(sandbox: Sandbox, kubeconfig: Path, admin: Client) -> AsyncIterator[Served]:
    """A sample API without tickets, reached through the apiserver."""
    api = SampleApi()
    async with (
        sandbox.client(kubeconfig) as ours,
        served(
            ours,
            api.registry,
            Address("127.0.0.1", 0),
            turns=Turns(),
            namespace=NAMESPACE,
            unsynced=lambda: None,
        ) as address,
        viewers(sandbox) as people,
    ):
        await apply(admin, [on_loopback(one, address.port) for one in AGGREGATED])

        async def reached() -> bool:
            return (await people.get(f"{ROOT}/lines")).code == 200

        await eventually(reached, message="the apiserver does not pass requests on")
        yield Served(api, address, people, sandbox)
        await delete(admin, AGGREGATED)
