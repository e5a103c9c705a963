"""Uninstalling as docs/uninstall.md says, its own commands, while owners keep creating pods."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import orjson
import pytest

from controller.core.keys import QUEUE_NAME
from controller.kube.apply import apply
from controller.kube.client import Client
from controller.kube.errors import ApiError, NotFound
from controller.sandbox import Sandbox
from controller.sandbox.installation import Gate, Installation, installed
from tests.integration.protection.job_field import a_job
from tests.support import renderer
from tests.support.documented import ROOT, Shell, commands
from tests.support.eventually import eventually
from tests.support.kubernetes import VERSION
from tests.support.left_behind import left_behind
from tests.support.team import Team, is_gated

pytestmark = pytest.mark.integration
Json = dict[str, Any]

CONFIG = {Gate.WEBHOOK: "default-webhook", Gate.POLICIES: "default"}
PODS = 4
CHURN_SECONDS = 0.2


def by_helm(gate: Gate) -> list[Json]:
    chart = ROOT / "deploy" / "chart"
    return renderer.objects(renderer.helm(chart, {"gate": {"mode": gate.value}, "visibility": {"enabled": True}}))


def by_kustomize(gate: Gate) -> list[Json]:
    return renderer.kustomize(ROOT / "config" / CONFIG[gate])


@pytest.fixture(scope="module")
def bare() -> Iterator[Sandbox]:
    """A control plane in which Penstock comes and goes."""
    with asyncio.Runner() as runner:
        sandbox = runner.run(Sandbox.launch(kubernetes=VERSION))
        yield sandbox
        runner.run(sandbox.stop())


class Owner:
    """A ReplicaSet of a queue that admits nothing, and somebody who deletes its pods one after the other."""

    def __init__(self, team: Team) -> None:
        self.team = team

    async def own(self) -> None:
        labels = {"app": "owned"}
        container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "10m"}}}
        spec = {
            "replicas": PODS,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": {**labels, QUEUE_NAME: "main"}}, "spec": {"containers": [container]}},
        }
        path = f"/apis/apps/v1/namespaces/{self.team.namespace}/replicasets"
        await self.team.client.post(path, {"metadata": {"name": "owned"}, "spec": spec})

    async def hold(self) -> None:
        """Create a Job that is held as a whole."""
        await self.team.client.post(self._jobs, a_job("held", {"labels": {QUEUE_NAME: "main"}}, {}, {}))

    async def pods(self) -> list[Json]:
        """The pods of the ReplicaSet."""
        return [pod for name, pod in (await self.team.all()).items() if name.startswith("owned")]

    async def is_held(self) -> bool:
        """Whether the Job is still suspended."""
        return bool(orjson.loads(await self.team.client.get(f"{self._jobs}/held"))["spec"]["suspend"])

    @property
    def _jobs(self) -> str:
        return f"/apis/batch/v1/namespaces/{self.team.namespace}/jobs"

    async def churn(self) -> None:
        """Delete the oldest pod again and again; the ReplicaSet makes a new one."""
        while True:
            pods = sorted(await self.pods(), key=lambda pod: pod["metadata"]["creationTimestamp"])
            if len(pods) >= PODS:
                await self._delete(pods[0]["metadata"]["name"])
            await asyncio.sleep(CHURN_SECONDS)

    async def replaced(self) -> None:
        """Wait until every pod that is there now has a successor."""
        before = set(await self._uids())

        async def none_left() -> bool:
            now = await self._uids()
            return len(now) == PODS and before.isdisjoint(now)

        # after refusals the ReplicaSet controller tries again ever more seldom
        await eventually(none_left, seconds=90, message="the owner does not create pods")

    async def _uids(self) -> list[str]:
        return [pod["metadata"]["uid"] for pod in await self.pods()]

    async def _delete(self, name: str) -> None:
        try:
            await self.team.delete(name)
        except NotFound:
            return

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """Churn for as long as the block runs."""
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self.churn(), name="churn")
            try:
                yield
            finally:
                task.cancel()


async def put_in_place(client: Client, objects: list[Json]) -> None:
    """Apply what is rendered; what registers the webhook comes by `installed`, which knows where it runs."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "penstock-system"}}
    rendered = [one for one in objects if not one["kind"].endswith("WebhookConfiguration")]
    await apply(client, [namespace, *rendered], namespace="penstock-system")


def stopping(programs: Installation) -> Callable[[], Any]:
    async def stop() -> None:
        await programs.controller.stop()
        await programs.webhook.stop()

    return stop


@pytest.mark.parametrize(
    ("gate", "render", "components", "other"),
    [
        pytest.param(Gate.WEBHOOK, by_helm, ["visibility"], "kustomize", id="webhook-helm", marks=pytest.mark.more),
        pytest.param(Gate.POLICIES, by_kustomize, [], "Helm", id="in-apiserver-kustomize"),
    ],
)
async def test_uninstalling_in_order_frees_pods_and_leaves_nothing(
    gate: Gate, render: Callable[[Gate], list[Json]], components: list[str], other: str, bare: Sandbox
) -> None:
    objects = render(gate)
    async with bare.client() as client:
        await put_in_place(client, objects)
        async with installed(bare, gate=gate, components=components) as programs:
            team = Team(client, bare)
            owner = Owner(team)
            await team.open()
            try:
                await team.ready(stopPolicy="Hold")
                await owner.own()
                await owner.hold()
                await eventually(partial(waiting, owner), message="the owner's pods do not wait at the gate")
                shell = Shell(
                    bare,
                    client,
                    objects,
                    on_controller_gone=programs.controller.stop,
                    on_programs_gone=stopping(programs),
                )
                async with owner.at_work():
                    for section, command in commands("uninstall.md", leaving_out=f"with {other}"):
                        await shell.run(command)
                        await seen_after(section, command, owner)
                    await owner.replaced()
                    assert not [name for name, pod in (await team.all()).items() if is_gated(pod)]
                await eventually(partial(running, owner), seconds=60, message="freed pods do not reach nodes")
                assert await left_behind(client) == []
            finally:
                await team.close()


async def waiting(owner: Owner) -> bool:
    pods = await owner.pods()
    return len(pods) == PODS and all(is_gated(pod) for pod in pods)


async def running(owner: Owner) -> bool:
    pods = await owner.pods()
    return len(pods) == PODS and all(pod["spec"].get("nodeName") for pod in pods)


async def seen_after(section: str, command: str, owner: Owner) -> None:
    """What each step is there for."""
    team = owner.team
    assert await owner.is_held() == (section[0] < "3")
    step = (section[0], command.split()[0])
    if step == ("1", "sleep"):
        # what protects holds on alone: an ungated pod of a queue does not get by
        with pytest.raises(ApiError, match="gate-required"):
            await team.pod("early", params={"dryRun": "All"})
    elif step == ("2", "sleep"):
        assert not is_gated(await team.pod("later", params={"dryRun": "All"}))
    elif step == ("3", "penstock"):
        assert not [name for name, pod in (await team.all()).items() if is_gated(pod)]


def test_the_document_has_a_command_for_every_step() -> None:
    found = commands("uninstall.md", leaving_out="with kustomize")
    assert [section[0] for section, _ in found] == list("111222223455")
    found = commands("uninstall.md", leaving_out="with Helm")
    assert [section[0] for section, _ in found] == list("1112222234455")
