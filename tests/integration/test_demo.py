"""The demo from its command line: in a sandbox, and on a cluster that must be as before when it is over."""

from __future__ import annotations

import asyncio
import io
import re
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from rich.console import Console

from controller.demo.play import Run, play
from controller.demo.summary import Result
from controller.demo.tenancy import Tenancy
from controller.demo.workload import pods
from controller.demo.world import objects, of_cluster
from controller.kube.apply import apply, delete
from controller.kube.client import Client
from controller.kube.errors import NotFound, TooManyRequests
from controller.kube.manifests import load_documents
from controller.sandbox import NodeShape, Sandbox
from controller.sandbox.installation import installed
from controller.sandbox.shipped import manifests
from tests.support.api_objects import cluster_queue
from tests.support.eventually import eventually
from tests.support.existence import until_takes_pods
from tests.support.kubernetes import VERSION
from tests.support.sandbox import Answer, CommandLine

pytestmark = [pytest.mark.integration, pytest.mark.timeout(420)]

Inventory = dict[tuple[str, str], tuple[str, str]]

_SECONDS = 240
_COLLECTIONS = (
    "/api/v1/namespaces",
    "/api/v1/pods",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "/apis/scheduling.k8s.io/v1/priorityclasses",
)
_OURS = ("clusterqueues", "localqueues", "resourceflavors")


@pytest.fixture
def penstock(tmp_path: Path) -> Iterator[CommandLine]:
    line = CommandLine(tmp_path)
    yield line
    line.run("sandbox", "down", "--all")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Sandbox]:
    """Somebody's cluster: another sandbox, which the demo knows by its kubeconfig only."""
    started = asyncio.run(_launch())
    yield started
    asyncio.run(started.stop())


async def _launch() -> Sandbox:
    return await Sandbox.launch(kubernetes=VERSION, node_shapes=[NodeShape(count=3)])


@pytest.fixture
async def owner(cluster: Sandbox) -> AsyncIterator[Client]:
    async with cluster.client() as client:
        yield client


async def finish(running: subprocess.Popen[str]) -> Answer:
    try:
        out, err = await asyncio.to_thread(running.communicate, timeout=_SECONDS)
    finally:
        running.kill()
    return Answer(running.returncode, out, err)


async def read_until(running: subprocess.Popen[str], text: str) -> None:
    """Read what it says, line by line, until `text` is in it."""
    assert running.stdout is not None
    while text not in (line := await asyncio.to_thread(running.stdout.readline)):
        assert line, f"it ended without saying {text!r}"


async def items(client: Client, path: str) -> list[Any]:
    return list(orjson.loads(await client.get(path))["items"])


async def inventory(client: Client) -> Inventory:
    """Identity and version of everything that a demo could make or change, by collection and name.

    A kind that has just come or gone is answered by 404 or 429 for a moment.
    """

    async def attempt() -> Inventory | None:
        try:
            return await _inventory(client)
        except (NotFound, TooManyRequests):
            return None

    return await eventually(attempt, message="the apiserver does not settle") or {}


async def _inventory(client: Client) -> Inventory:
    served = {one["metadata"]["name"] for one in await items(client, _COLLECTIONS[2])}
    ours = [f"/apis/penstock.dev/v1alpha1/{kind}" for kind in _OURS if f"{kind}.penstock.dev" in served]
    return {
        (path, one["metadata"]["name"]): (one["metadata"]["uid"], str(one["metadata"].get("generation")))
        for path in (*_COLLECTIONS, *ours)
        for one in await items(client, path)
    }


async def nothing_runs(penstock: CommandLine) -> None:
    await eventually(lambda: not penstock.processes(), message="processes stay")


async def test_a_demo_in_a_sandbox_releases_all_and_leaves_nothing(penstock: CommandLine) -> None:
    answer = await finish(penstock.start("demo", "--pods", "60", "--seed", "3"))
    assert answer.code == 0, answer
    assert "60 of 60 released, 60 ended" in answer.out
    assert "60 for 60 pods: exactly one each" in answer.out
    ran = re.search(r"where they ran +spot (\d+) .*, on-demand (\d+) ", answer.out)
    assert ran, answer.out
    spot, steady = map(int, ran.groups())
    assert (spot > 0, steady > 0, spot + steady) == (True, True, 60), answer.out
    borrowed = re.search(r"team-a borrowed +up to (\d+) cores of spot beyond its own 20", answer.out)
    assert borrowed, answer.out
    # of the 16 that team-b owns it lends 8
    assert 1 <= int(borrowed[1]) <= 8, answer.out
    for command in ("explain pod/", "eta pod/", "simulate --change lost:spot"):
        assert f"penstock {command}" in answer.out.replace("-m controller.cli", "penstock"), answer.out
    assert re.search(r"Place +\d+ in ClusterQueue team-[ab], ", answer.out), answer.out
    assert "What to try next" in answer.out
    assert "\x1b" not in answer.out
    await nothing_runs(penstock)
    assert not list(penstock.folder("any").parent.glob("*"))


@pytest.mark.more
@pytest.mark.parametrize("moment", ["Starting etcd", "Installing Penstock", "queued"])
async def test_an_interrupted_demo_leaves_nothing_and_says_one_line(penstock: CommandLine, moment: str) -> None:
    running = penstock.start("demo", "--pods", "30")
    await read_until(running, moment)
    running.send_signal(signal.SIGINT)
    answer = await finish(running)
    assert (answer.code, answer.err.strip()) == (130, "interrupted"), answer
    await nothing_runs(penstock)
    assert not list(penstock.folder("any").parent.glob("*"))


@pytest.mark.more
async def test_a_cluster_is_as_before_when_the_demo_is_over(
    cluster: Sandbox, owner: Client, penstock: CommandLine
) -> None:
    before = await inventory(owner)
    answer = await finish(penstock.start("demo", "--pods", "8", "--kubeconfig", str(cluster.kubeconfig)))
    assert answer.code == 0, answer
    assert "8 of 8 released, 8 ended" in answer.out
    assert "8 took effect (the controller's metrics)" in answer.out
    assert await inventory(owner) == before


@pytest.mark.more
async def test_what_was_there_stays_after_an_interrupted_demo(
    cluster: Sandbox, owner: Client, penstock: CommandLine
) -> None:
    shipped = [*load_documents(manifests("crd")), *load_documents(manifests("rbac"))]
    await apply(owner, shipped)
    try:
        before = await inventory(owner)
        running = penstock.start("demo", "--pods", "30", "--kubeconfig", str(cluster.kubeconfig))
        await read_until(running, "running")
        assert await inventory(owner) != before
        running.send_signal(signal.SIGINT)
        running.send_signal(signal.SIGINT)
        answer = await finish(running)
        assert (answer.code, answer.err.strip()) == (130, "interrupted"), answer
        assert await inventory(owner) == before
    finally:
        await delete(owner, shipped)
        await cleared(owner)


@pytest.mark.more
async def test_a_serving_controller_is_used_else_queues_are_left(
    cluster: Sandbox, owner: Client, penstock: CommandLine
) -> None:
    shipped = [*load_documents(manifests("crd")), *load_documents(manifests("rbac")), cluster_queue("theirs")]
    arguments = ("demo", "--pods", "6", "--kubeconfig", str(cluster.kubeconfig))
    try:
        await apply(owner, shipped)
        before = await inventory(owner)
        refused = await finish(penstock.start(*arguments))
        assert (refused.code, refused.err.count("\n")) == (1, 1), refused
        assert "ClusterQueues, such as theirs, and no controller" in refused.err
        assert await inventory(owner) == before
        async with installed(cluster):
            used = await finish(penstock.start(*arguments))
        assert used.code == 0, used
        assert "A controller serves this cluster already" in used.out
        assert "6 of 6 released" in used.out
    finally:
        webhook = [one for one in load_documents(manifests("webhook")) if one["kind"] != "Service"]
        await delete(owner, [*shipped, *webhook])
        await cleared(owner)


@pytest.mark.more
async def test_a_deadline_that_passes_is_told_with_what_has_not_ended(cluster: Sandbox, owner: Client) -> None:
    here, tenancy = of_cluster("late"), Tenancy(owner)
    try:
        # namespaces and their objects are gone before their kinds go, else they stay for minutes
        await tenancy.make(load_documents(manifests("crd")))
        await tenancy.make(objects(here))
        for team in here.teams:
            await until_takes_pods(owner, here.named(team.name))

        async def check() -> None:
            """Nothing of ours runs: nobody releases the pods."""

        run = Run(world=here, pods=pods(here, 3, 1), deadline=2.0, check=check)
        seen, _ = await play(owner, run, Console(file=io.StringIO()))
        (told,) = Result.of(seen, None).shortcomings()
        assert told.startswith("still queued: 3, such as team-")
    finally:
        await tenancy.remove()


async def cleared(client: Client) -> None:
    """Wait until the cluster has nothing of Penstock.

    A namespace takes long where the kinds of what was in it go at the same time: its controller fails on them, and
    tries again later and later. So does the apiserver with a kind of which something was there yet.
    """

    async def attempt() -> bool:
        left = sorted({name for _, name in await inventory(client) if "penstock" in name or "demo-" in name})
        assert not left, left
        return True

    await eventually(attempt, seconds=300, message="Penstock stays in the cluster")
