"""The snapshots of a live cluster: a sandbox with Penstock in it, and `penstock snapshot` at a moment that matters.

The controller admits what it can, and writes what it writes on pods and queues. Then it is stopped, something happens
that it would act on, and the snapshot is taken. Names are fixed, so that a scene looks the same each time.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import click

from controller.core.keys import POD_GROUP, POD_GROUP_SIZE, PRIORITY_CLASS
from controller.kube.client import Client
from controller.sandbox import Sandbox
from controller.sandbox.installation import installed
from controller.sandbox.programs import Program
from tests.corpus.plans import snapshot_file
from tests.support.command import penstock
from tests.support.eventually import eventually
from tests.support.team import Team, is_gated
from tests.support.team_owners import IGNORES, a_job, a_replica_set, pods_of, until_running

Happening = Callable[[], Awaitable[None]]
"""What happens after the controller was stopped."""

_GONE_SECONDS: Final = 120.0


async def backlog(team: Team) -> Happening:
    """Two queues that borrow from each other, two flavors, and pods that come while nobody decides."""
    await team.nodes("spot", 2, cpu="8", memory="32Gi")
    await team.nodes("on-demand", cpu="8", memory="32Gi")
    for shape in ("spot", "on-demand"):
        await team.flavor(shape)
    await team.cluster_queue({"spot": {"cpu": 2}, "on-demand": {"cpu": 0}}, "org")
    shares = {"research": ({"spot": {"cpu": 6}, "on-demand": {"cpu": 2}}), "serving": {"spot": {"cpu": 6}}}
    for name, quotas in shares.items():
        await team.cluster_queue(quotas, name, parent=team.full("org"))
        await team.local_queue(name, name)
    await team.local_queue("closed", "serving", stopPolicy="Hold")
    await team.pods(3, "2", "first", queue="research")
    await team.until_bound("first-0", "first-1", "first-2")
    await team.pod("large", "9", queue="research")
    await team.until_waiting("large", "NeverFits")

    async def happens() -> None:
        await team.pods(4, "2", "train", queue="research")
        await team.pods(3, "3", "serve", queue="serving")
        await team.pod("held", queue="closed")
        await team.pod("lost", queue="absent")

    return happens


async def preemption(team: Team) -> Happening:
    """A Job fills the queue; two pods of a higher priority come, and three of the same."""
    await team.ready({"spot": {"cpu": 6}}, preemption={"withinClusterQueue": "LowerPriority"})
    high = team.full("high")
    await team.make("workloadpriorityclasses", "WorkloadPriorityClass", high, {"value": 1000})
    await a_job(team, "train", podFailurePolicy=IGNORES, parallelism=8, completions=8)

    async def some_wait() -> bool:
        pods = await pods_of(team, "train")
        assert (len(pods), sum(map(is_gated, pods))) == (8, 2)
        assert sum(pod["status"]["phase"] == "Running" for pod in pods) == 6
        return True

    await eventually(some_wait, message="six pods of the Job do not run")

    async def happens() -> None:
        await team.pod("urgent", "2", labels={PRIORITY_CLASS: high})
        await team.pod("next", "1", labels={PRIORITY_CLASS: high})
        await team.pods(2, "1", "later")

    return happens


async def gang(team: Team) -> Happening:
    """A gang waits for the room that a pod has which ends; behind it a second one, and one that is not complete."""
    await team.ready({"spot": {"cpu": 8}})
    await team.pod("small", "2")
    await team.until_bound("small")
    for name in ("train", "sweep"):
        for number in range(4):
            await _member(team, f"{name}-{number}", "2", name, 4)
        await team.until_waiting(f"{name}-3", "QuotaExceeded")

    async def happens() -> None:
        await team.end("small")
        for number in range(2):
            await _member(team, f"part-{number}", "1", "part", 3)

    return happens


async def fair_sharing(team: Team) -> Happening:
    """One queue has borrowed all that there is; pods of another come that take their share back."""
    await team.nodes("spot", cpu="8", memory="32Gi")
    await team.flavor("spot")
    await team.cluster_queue({"spot": {"cpu": 8}}, "org", fairSharing={})
    for name in ("mine", "theirs"):
        reclaims = {"reclaimWithinCohort": "Any"} if name == "mine" else {}
        await team.cluster_queue({"spot": {"cpu": 0}}, name, parent=team.full("org"), preemption=reclaims)
    await team.local_queue("main", "theirs")
    await team.local_queue("mine", "mine")
    await a_replica_set(team, "web", 8)
    await until_running(team, "web", 8)

    async def happens() -> None:
        await team.pods(6, "1", "mine", queue="mine")

    return happens


_SCENES: Final = {
    "live-backlog": backlog,
    "live-fair-sharing": fair_sharing,
    "live-gang": gang,
    "live-preemption": preemption,
}


async def _member(team: Team, name: str, cpu: str, group: str, size: int) -> None:
    await team.pod(name, cpu, labels={POD_GROUP: group}, annotations={POD_GROUP_SIZE: str(size)})


async def record_all() -> None:
    """Record each scene, one after the other in one sandbox."""
    async with (
        Sandbox.start() as sandbox,
        installed(sandbox) as programs,
        sandbox.client() as client,
    ):
        for name, scene in _SCENES.items():
            team = Team(client, sandbox)
            team.id = team.namespace = name.removeprefix("live-")
            await team.open()
            await _record(name, await scene(team), sandbox, programs.controller)
            await _clear(team, client)


async def _record(name: str, happens: Happening, sandbox: Sandbox, controller: Program) -> None:
    await controller.stop()
    try:
        await happens()
        done = await penstock(sandbox, "snapshot", "-o", str(snapshot_file(name)))
        if done.code:
            raise AssertionError(done.errors)
        click.echo(f"{name}: {done.errors.strip()}")
    finally:
        controller.start()
        await controller.wait_ready()


async def _clear(team: Team, client: Client) -> None:
    """Leave nothing of a scene to the next: pods go as long as they have nodes."""
    path = f"/api/v1/namespaces/{team.namespace}"
    await client.delete(path)

    async def gone() -> bool:
        return not await team.exists(path)

    await eventually(gone, seconds=_GONE_SECONDS, message=f"namespace {team.namespace} is still there")
    await team.close()
