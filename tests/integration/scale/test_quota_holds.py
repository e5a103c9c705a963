"""Many pods through fifty queues of one tree that borrow, and a controller that dies and comes back: quotas hold.

`make scale N=20000` does it with more; usage is what the audit log of the apiserver tells.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import orjson
import pytest

from controller.kube.apply import apply
from controller.kube.client import Client
from controller.kube.listing import pages
from controller.sandbox import NodeShape
from controller.sandbox.programs import Program
from tests.integration.scale import company
from tests.integration.scale.audited import Log
from tests.integration.scale.company import NAMESPACE, ROOT, SHARES, TEAMS
from tests.support.books import Books
from tests.support.clusters import Cluster
from tests.support.creating import create_all
from tests.support.eventually import eventually
from tests.support.existence import until_takes_pods
from tests.support.leaders import crash

pytestmark = [pytest.mark.integration, pytest.mark.timeout(1800)]

PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
ROOT_PATH = f"/apis/penstock.dev/v1alpha1/clusterqueues/{ROOT}"
NODES = NodeShape("node", 24, "16", "64Gi")
AT_ONCE = 12
End = Callable[[Program, Client], Awaitable[None]]
SECONDS_PER_POD = 0.1


async def stop(controller: Program, _: Client) -> None:
    assert await controller.stop() == 0


async def restart(cluster: Cluster, client: Client, log: Log, count: int) -> None:
    """End the controller at three moments, as a crash does and as an upgrade does, and start it again.

    That it has come back is seen by the pods that it releases.
    """
    ways: tuple[tuple[float, Callable[[Program, Client], Awaitable[None]]], ...] = (
        (0.2, crash),
        (0.45, stop),
        (0.7, crash),
    )
    for part, end in ways:

        async def has_come_so_far(least: float = part * count) -> bool:
            cluster.programs.check()  # nobody here starts it again if it ends by itself
            log.read_on()
            assert len(log.released) >= least
            return True

        await eventually(has_come_so_far, seconds=60 + SECONDS_PER_POD * count, message="pods are not released")
        await end(cluster.programs.controller, client)
        cluster.programs.controller.start()


async def until_all_ended(client: Client, count: int) -> None:
    async def nothing_left() -> bool:
        status = orjson.loads(await client.get(ROOT_PATH))["status"]
        left = {name: status[name] for name in ("pending", "reserved", "running")}
        assert not any(left.values()), left
        return True

    await eventually(nothing_left, seconds=60 + SECONDS_PER_POD * count, message="pods are left")


async def phases(client: Client) -> dict[str, str]:
    found: dict[str, str] = {}
    async for page in pages(client, PODS):
        for raw in page.items or ():
            pod = orjson.loads(bytes(raw))
            found[pod["metadata"]["name"]] = pod["status"]["phase"]
    return found


@pytest.mark.more
async def test_no_quota_is_passed_and_every_pod_is_released_once(cluster: Cluster, client: Client, count: int) -> None:
    await cluster.sandbox.add_nodes(NODES)
    await apply(client, company.objects())
    await until_takes_pods(client, NAMESPACE)
    made = company.pods(count, seed=1)
    log = Log(cluster.sandbox.audit_log)
    async with asyncio.TaskGroup() as group:
        group.create_task(create_all(client, PODS, made, at_once=AT_ONCE), name="create")
        group.create_task(restart(cluster, client, log, count), name="restart")
    await until_all_ended(client, count)
    assert set((await phases(client)).values()) == {"Succeeded"}
    log.read_on()
    sizes = {pod["metadata"]["name"]: company.size_of(pod) for pod in made}
    assert set(log.releases.values()) == {1}
    assert set(sizes) - set(log.releases) <= log.unanswered
    books = Books(SHARES)
    assert list(books.excesses(log.changes(sizes))) == []
    # what was there to be passed was reached
    borrowers = [name for name in TEAMS if books.most[name] > SHARES[name].owns]
    at_their_limit = [name for name in borrowers if books.most[name] == books.allowed(name)]
    assert len(borrowers) >= 5, books.most
    assert at_their_limit, books.most
