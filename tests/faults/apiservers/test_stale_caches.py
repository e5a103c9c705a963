"""A controller at an apiserver whose watch caches lag: it decides by all that was released before it led."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from controller.core.keys import PRIORITY_CLASS
from controller.kube.client import Client
from tests.faults.apiservers.conftest import Second
from tests.faults.apiservers.lag import Lag
from tests.faults.leaders.rivals import Rivals, is_release, is_revocation, open_queue, released, until_held
from tests.faults.seeds.jumping import CLOCK
from tests.faults.seeds.run import Run
from tests.faults.seeds.script import Script
from tests.support.apiserver_proxy import ApiserverProxy, Request
from tests.support.clusters import Cluster
from tests.support.eventually import eventually
from tests.support.leaders import until_leads
from tests.support.tcp_proxy import TcpProxy
from tests.support.team import OURS, Team

pytestmark = [pytest.mark.integration, pytest.mark.timeout(400)]

_RENEWALS = 5


def lists_all(request: Request) -> bool:
    """Whether it asks for all pods or queues, as they are now."""
    return request.is_watch and "sendInitialEvents" in request.path


def renews_lease(request: Request) -> bool:
    return request.method in ("PUT", "PATCH") and "/leases/" in request.path


async def release_unseen(team: Team, own: ApiserverProxy, second: Second, pods: Lag) -> None:
    """Let the pod first be released, and the second apiserver miss this alone.

    By what that one knows, the queue is open and empty, and the pod second, which is urgent, goes first.
    """
    held = own.hold(is_release("first"), times=1)
    own.hold(is_revocation("first"))
    await open_queue(team)
    patch = await until_held(held)
    await team.make("workloadpriorityclasses", "WorkloadPriorityClass", team.full("urgent"), {"value": 1000})
    await team.pod("second", labels={PRIORITY_CLASS: team.full("urgent")})
    for lag in (
        pods,
        replace(pods, path=f"{OURS}/clusterqueues"),
        replace(pods, path=f"{OURS}/workloadpriorityclasses"),
    ):
        await lag.until_caught_up()
    second.etcd.stall_watches()
    assert await patch.let_go() == 200
    assert "first" in await pods.missed()


@pytest.mark.more
@pytest.mark.parametrize("is_warm", [False, True], ids=["cold", "warm"])
async def test_a_new_leader_waits_for_what_its_apiserver_missed(
    team: Team,
    client: Client,
    at_second: Client,
    rivals: Rivals,
    own: ApiserverProxy,
    proxy: ApiserverProxy,
    second: Second,
    is_warm: bool,
    tmp_path: Path,
) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    former = await rivals.start("former", by=own.kubeconfig(folder))
    await until_leads(client, "former")
    await team.pod("first")
    await team.visited()
    following = await rivals.start("next", is_disturbed=True, is_warm=is_warm)
    if is_warm:
        await eventually(lambda: b'"synced"' in following.log.read_bytes(), message="the standby knows nothing yet")
    await release_unseen(team, own, second, Lag(client, at_second, team.pods_path))
    former.kill()
    await until_leads(client, "next")
    asked, renewals = proxy.count(lists_all), proxy.count(renews_lease)
    await eventually(lambda: len(asked) > 0, seconds=60, message="it does not ask for what it missed")
    # it could decide in this time
    enough = len(renewals) + _RENEWALS
    await eventually(lambda: len(renewals) >= enough, message="it does not renew its Lease")
    assert await released(team) == {"first"}
    second.etcd.resume_watches()
    await team.visited("by-next")
    await team.until_waiting("second", "QuotaExceeded")
    assert await released(team) == {"first"}


@pytest.mark.more
@pytest.mark.parametrize("seed", [3, 4])
async def test_promises_hold_at_an_apiserver_that_lags(
    cluster: Cluster,
    client: Client,
    at_second: Client,
    corner: Team,
    second: Second,
    seed: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = tmp_path / "clock"
    clock.write_text("0")
    monkeypatch.setenv(CLOCK, str(clock))
    way = TcpProxy(cluster.sandbox.url)

    lag = Lag(client, at_second, corner.pods_path)

    async def fall_behind() -> None:
        for _ in range(2):
            second.etcd.stall_watches()
            await lag.until_behind(3)
            await way.move(second.apiserver.url)
            await lag.until_behind(8)
            second.etcd.resume_watches()
            await lag.until_caught_up()
            await way.move(cluster.sandbox.url)

    async with way.serving():
        kubeconfig = way.kubeconfig(second.controller, tmp_path).rename(tmp_path / "moving")
        run = Run(cluster, corner, Script(seed, (), ()), tmp_path, clock, kubeconfig, fall_behind)
        assert await run.violations() == [], f"logs: {tmp_path}"
