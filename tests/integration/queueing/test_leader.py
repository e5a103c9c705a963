"""Two controllers, one Lease: only its holder works, and the other takes over."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.kube.client import MERGE_PATCH, Client
from controller.sandbox.programs import Program
from tests.support.clusters import Cluster
from tests.support.eventually import eventually
from tests.support.leaders import LEASE, delete_lease, holder, until_leads
from tests.support.team import Team, is_gated

pytestmark = pytest.mark.integration


@pytest.fixture
def second(cluster: Cluster, tmp_path: Path) -> Iterator[Program]:
    """Another controller of the same cluster, under a name of its own."""
    kubeconfig = cluster.sandbox.folder / "kubeconfigs" / "penstock-system.penstock-controller"
    arguments = ["--kubeconfig", str(kubeconfig), "--http-address", "127.0.0.1:0", "--identity", "second"]
    program = Program("controller", arguments, tmp_path / "second.log")
    program.start()
    yield program
    program.kill()


async def test_a_second_controller_takes_over_when_the_first_stops(
    team: Team, cluster: Cluster, client: Client, second: Program
) -> None:
    await team.ready({"spot": {"cpu": 2}})
    await second.wait_ready()
    await until_leads(client, "sandbox")
    first = cluster.programs.controller
    try:
        assert await first.stop() == 0
        await team.pod("one")
        await team.until_bound("one")
        await until_leads(client, "second")
        # the one that stops gives its Lease up, so nobody waits for it to end
        assert await second.stop() == 0
        assert await holder(client) == ""
    finally:
        first.start()
        await first.wait_ready()
    await team.pod("two")
    await team.until_bound("two")
    await until_leads(client, "sandbox")


async def test_a_leader_that_lost_its_lease_stops_at_once(team: Team, cluster: Cluster, client: Client) -> None:
    await team.ready({"spot": {"cpu": 2}})
    first = cluster.programs.controller
    try:
        # whatever version it has: the leader renews it meanwhile
        await client.patch(LEASE, {"spec": {"holderIdentity": "somebody-else"}}, content_type=MERGE_PATCH)
        await eventually(lambda: first.exit_code is not None, message="it goes on without its Lease")
        assert "is held by somebody-else now" in first.tail()
        await team.pod("one")
        assert is_gated(await team.get("one"))
    finally:
        await delete_lease(client)
        first.start()
        await first.wait_ready()
    await team.until_bound("one")
