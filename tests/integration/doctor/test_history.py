"""What `penstock doctor` finds of a history whose PostgreSQL is stopped: the leader says so on its Lease."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from controller.cli.doctor_checks.history import HISTORY
from tests.integration.doctor.conftest import Doctor
from tests.support.clusters import Cluster, a_cluster
from tests.support.command import penstock
from tests.support.eventually import eventually
from tests.support.postgresql import PostgreSQL, a_server
from tests.support.team import Team

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def server() -> Iterator[PostgreSQL]:
    with TemporaryDirectory(prefix="penstock-postgresql-") as folder, a_server(Path(folder)) as server:
        yield server


@pytest.fixture(scope="module")
def cluster(server: PostgreSQL) -> Iterator[Cluster]:
    """The cluster of these tests, whose controller keeps its history in that server."""
    with a_cluster(controller_arguments=["--history", server.url]) as cluster:
        yield cluster


@pytest.mark.more
async def test_a_server_that_is_stopped_is_found(
    cluster: Cluster, server: PostgreSQL, doctor: Doctor, team: Team
) -> None:
    await team.ready({"spot": {"cpu": 2}})
    await team.pod("before")
    await team.until_bound("before")
    assert await doctor.finds(HISTORY) == {}
    await asyncio.to_thread(server.stop)
    try:
        await team.pod("during")
        await team.until_bound("during")
        found = await eventually(lambda: doctor.finds(HISTORY), message="doctor finds nothing")
        assert found["the history"].startswith("was not written for 1")
        done = await penstock(cluster.sandbox, "doctor")
        assert (done.code, "Connection refused" in done.output) == (1, True), done
    finally:
        await asyncio.to_thread(server.start)

    async def fine() -> bool:
        return await doctor.finds(HISTORY) == {}

    await eventually(fine, message="doctor still finds it", seconds=90)
