"""A leader that was paused, killed or replaced releases nothing any more, whatever it has sent."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from controller.core.keys import ADMITTED_BY
from controller.kube.client import Client
from controller.sandbox.installation import Gate
from tests.faults.leaders.rivals import Rivals, is_release, open_queue, released, until_held, until_released
from tests.support.apiserver_proxy import ApiserverProxy
from tests.support.clusters import Cluster
from tests.support.eventually import eventually
from tests.support.leaders import delete_lease, until_leads
from tests.support.tcp_proxy import TcpProxy
from tests.support.team import Team

pytestmark = pytest.mark.integration


async def two_wait(team: Team) -> None:
    await team.pod("first")
    await team.pod("second")
    await team.visited()


async def admitted_by(team: Team, name: str) -> str:
    return str((await team.get(name))["metadata"]["annotations"][ADMITTED_BY])


async def test_a_paused_leader_releases_nothing_when_it_wakes(team: Team, client: Client, rivals: Rivals) -> None:
    former = await rivals.start("former")
    await until_leads(client, "former")
    await two_wait(team)
    await rivals.start("next")
    former.process.send_signal(signal.SIGSTOP)
    # what the former leader hears first when it wakes: that the queue is open, and both pods wait
    identity = await until_leads(client, "next")
    await open_queue(team)
    await until_released(team, "first")
    former.process.send_signal(signal.SIGCONT)
    await eventually(lambda: former.exit_code is not None, message="it goes on without its Lease")
    assert await released(team) == {"first"}
    assert await admitted_by(team, "first") == identity


@pytest.mark.parametrize("is_warm", [False, pytest.param(True, marks=pytest.mark.more)], ids=["cold", "warm"])
async def test_a_patch_of_the_leader_before_is_refused(
    team: Team, client: Client, rivals: Rivals, proxy: ApiserverProxy, is_warm: bool
) -> None:
    former = await rivals.start("former", is_disturbed=True)
    await until_leads(client, "former")
    await two_wait(team)
    held = proxy.hold(is_release("first"))
    await rivals.start("next", is_warm=is_warm)
    await open_queue(team)
    late = await until_held(held)
    former.process.send_signal(signal.SIGSTOP)
    await until_leads(client, "next")
    await until_released(team, "first")
    await team.end("first")
    await until_released(team, "first", "second")
    assert await late.let_go() in (403, 422)
    assert await released(team) == {"first", "second"}


@pytest.mark.more
async def test_patches_of_a_killed_process_of_the_pod_are_refused(
    team: Team, client: Client, rivals: Rivals, proxy: ApiserverProxy
) -> None:
    former = await rivals.start("same", is_disturbed=True)
    before = await until_leads(client, "same")
    await two_wait(team)
    held = proxy.hold(is_release("first"), times=1)
    await open_queue(team)
    late = await until_held(held)
    # without the queue nobody decides anything but what the late patch brings
    await team.change("clusterqueues", team.full("cq"), {"stopPolicy": "Hold"})
    former.kill()
    former.start()

    async def leads_anew() -> bool:
        return await until_leads(client, "same") != before

    await eventually(leads_anew, message="the container that was started again does not lead")
    assert await late.let_go() == 403
    assert await released(team) == set()
    await open_queue(team)
    await until_released(team, "first")
    assert await admitted_by(team, "first") != before


@pytest.mark.more
@pytest.mark.parametrize("cluster", [Gate.WEBHOOK], ids=["webhook"], indirect=True)
async def test_a_standby_whose_watches_lag_sees_the_last_release(
    team: Team, cluster: Cluster, client: Client, rivals: Rivals, tmp_path: Path
) -> None:
    former = await rivals.start("former")
    await until_leads(client, "former")
    await two_wait(team)
    way = TcpProxy(cluster.sandbox.url)
    async with way.serving():
        kubeconfig = way.kubeconfig(rivals.kubeconfig, tmp_path)
        following = await rivals.start("next", is_warm=True, by=kubeconfig)
        await eventually(lambda: b'"synced"' in following.log.read_bytes(), message="the standby knows nothing yet")
        # from here on no watch of the standby brings anything; what it asks anew is answered
        way.stall()
        await open_queue(team)
        await until_released(team, "first")
        former.kill()
        await until_leads(client, "next")
        await team.visited("by-next")
        assert await released(team) == {"first"}
        await team.until_waiting("second", "QuotaExceeded")


@pytest.mark.more
async def test_a_patch_from_before_the_lease_was_deleted(
    team: Team, client: Client, rivals: Rivals, proxy: ApiserverProxy
) -> None:
    former = await rivals.start("former", is_disturbed=True)
    await until_leads(client, "former")
    await two_wait(team)
    held = proxy.hold(is_release("first"))
    await open_queue(team)
    late = await until_held(held)
    former.process.send_signal(signal.SIGSTOP)
    await delete_lease(client)
    await rivals.start("next")
    await until_leads(client, "next")
    await until_released(team, "first")
    assert await late.let_go() in (403, 422)
    former.process.send_signal(signal.SIGCONT)
    await eventually(lambda: former.exit_code is not None, message="it goes on without its Lease")
    assert await released(team) == {"first"}
