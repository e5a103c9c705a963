"""What `penstock doctor` finds of a controller whose watches are broken: by the visibility API, which says it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from controller.cli.doctor_checks.cache import CACHE
from controller.kube.client import Client
from tests.integration.doctor.conftest import Doctor
from tests.support.clusters import Cluster, a_cluster
from tests.support.command import penstock
from tests.support.eventually import eventually
from tests.support.served_kinds import serve_our_kinds

pytestmark = pytest.mark.integration

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.fixture(scope="module")
def visible() -> Iterator[Cluster]:
    """A cluster whose controller serves the API."""
    with a_cluster(components=["visibility"]) as cluster:
        yield cluster


@pytest.fixture
async def client(visible: Cluster) -> AsyncIterator[Client]:
    async with visible.sandbox.client() as client:
        yield client


async def test_a_kind_that_nothing_keeps_up_is_found(visible: Cluster, doctor: Doctor, client: Client) -> None:
    assert await doctor.finds(CACHE) == await doctor.finds(CACHE, severity="Warning") == {}
    done = await penstock(visible.sandbox, "doctor")
    assert "rights, leader, cache, gate" in done.output, done

    async def found() -> dict[str, str]:
        return await doctor.finds(CACHE, severity="Warning")

    await client.delete(f"{DEFINITIONS}/workloadpriorityclasses.penstock.dev")
    try:
        warnings = await eventually(found, message="nobody finds that the watch is broken")
        (where,) = warnings
        assert where == "what the controller knows of workloadpriorityclasses"
        assert warnings[where].startswith("may be out of date for ")
    finally:
        await serve_our_kinds(client)

    async def kept_up() -> bool:
        return await found() == {}

    await eventually(kept_up, message="the watch does not work again")
