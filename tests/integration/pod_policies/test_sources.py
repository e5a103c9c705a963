"""The webhook cut off from the apiserver: what it knew last serves on, and its metrics say so."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import orjson
import pytest

from controller.sandbox import Sandbox
from controller.sandbox.files import write_private
from controller.sandbox.programs import Program
from tests.integration.pod_policies.conftest import PolicyTeam
from tests.support.eventually import eventually
from tests.support.tcp_proxy import TcpProxy
from tests.support.team import Json

pytestmark = pytest.mark.integration


@dataclass(frozen=True, slots=True)
class Asked:
    """A webhook of one's own, beside the one that is registered, asked as the apiserver asks."""

    program: Program
    proxy: TcpProxy
    session: aiohttp.ClientSession

    async def review(self, namespace: str) -> tuple[int, list[str]]:
        """Status of the answer, and the paths that it changes in a plain pod of this namespace."""
        request = {
            "uid": "1",
            "operation": "CREATE",
            "namespace": namespace,
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "object": {"metadata": {}, "spec": {"containers": []}},
        }
        body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
        url = f"https://127.0.0.1:{self.program.port('reviews')}/mutate/pods"
        async with self.session.post(url, json=body) as answer:
            if answer.status != 200:
                return answer.status, []
            patch = (await answer.json())["response"].get("patch")
            operations: list[Json] = orjson.loads(base64.b64decode(patch)) if patch else []
            return 200, [operation["path"] for operation in operations]

    async def metric(self, name: str) -> dict[str, float]:
        """Values of a metric by its first label."""
        async with self.session.get(f"http://127.0.0.1:{self.program.port('http')}/metrics") as answer:
            lines = (await answer.text()).splitlines()
        found = [line for line in lines if line.startswith(f"penstock_webhook_{name}{{")]
        return {line.split('"')[1]: float(line.rsplit(" ", 1)[1]) for line in found}


@contextmanager
def running(sandbox: Sandbox, kubeconfig: Path, folder: Path, further: Sequence[str]) -> Iterator[Program]:
    pair = sandbox.serving_certificate()
    certificate = write_private(folder / "tls.crt", pair.certificate_pem)
    key = write_private(folder / "tls.key", pair.key_pem)
    arguments = ["--kubeconfig", str(kubeconfig), "--http-address", "127.0.0.1:0", "--address", "127.0.0.1:0"]
    arguments += ["--tls-cert", str(certificate), "--tls-key", str(key), "--pod-policies", *further]
    program = Program("webhook", arguments, folder / "webhook.log")
    program.start()
    try:
        yield program
    finally:
        program.kill()


@asynccontextmanager
async def a_webhook(sandbox: Sandbox, folder: Path, *further: str, is_cut: bool) -> AsyncIterator[Asked]:
    account = await sandbox.service_account_kubeconfig("penstock-system", "penstock-webhook")
    trusting = ssl.create_default_context(cadata=sandbox.ca_pem.decode())
    async with (
        TcpProxy(sandbox.url).serving() as proxy,
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trusting)) as session,
    ):
        if is_cut:
            proxy.cut()
        with running(sandbox, proxy.kubeconfig(account, folder), folder, further) as program:
            yield Asked(program, proxy, session)
            proxy.cut()


async def test_cut_off_it_serves_what_it_knew_and_says_since_when(team: PolicyTeam, tmp_path: Path) -> None:
    await team.policy("own", nodeSelector={"a": "b"})
    async with a_webhook(team.sandbox, tmp_path, is_cut=False) as webhook:
        await webhook.program.wait_ready()
        changes = (200, ["/spec/nodeSelector", "/metadata/annotations"])
        assert await webhook.review(team.namespace) == changes
        queueing = {"namespaces", "localqueues", "clusterqueues", "workloadpriorityclasses"}
        resources = {*queueing, "clusterpodschedulingpolicies", "podschedulingpolicies"}
        assert await webhook.metric("source_up") == dict.fromkeys(resources, 1.0)
        assert set((await webhook.metric("source_stale_seconds")).values()) == {0.0}

        webhook.proxy.cut()

        async def all_down() -> bool:
            return await webhook.metric("source_up") == dict.fromkeys(resources, 0.0)

        await eventually(all_down, message="the outage does not show")
        assert min((await webhook.metric("source_stale_seconds")).values()) > 0
        assert await webhook.review(team.namespace) == changes
        await team.policy("later", tolerations=[{"key": "spot", "operator": "Exists"}])
        assert await webhook.review(team.namespace) == changes

        webhook.proxy.mend()

        async def caught_up() -> bool:
            _, paths = await webhook.review(team.namespace)
            return "/spec/tolerations" in paths and await webhook.metric("source_up") == dict.fromkeys(resources, 1.0)

        # the pauses between tries have grown meanwhile
        await eventually(caught_up, seconds=60, message="it does not catch up")


async def test_a_namespace_that_no_watch_has_told_of_is_asked_for(team: PolicyTeam, tmp_path: Path) -> None:
    label, name = team.full("fresh"), team.full("new")
    await team.wide("fresh", namespaceSelector={"matchLabels": {label: "yes"}}, nodeSelector={"a": "b"})
    async with a_webhook(team.sandbox, tmp_path, is_cut=False) as webhook:
        await webhook.program.wait_ready()
        webhook.proxy.stall()
        await team.client.post("/api/v1/namespaces", {"metadata": {"name": name, "labels": {label: "yes"}}})
        try:
            assert await webhook.review(name) == (200, ["/spec/nodeSelector", "/metadata/annotations"])
        finally:
            await team.client.delete(f"/api/v1/namespaces/{name}")


async def test_before_it_knows_anything_it_answers_nothing(team: PolicyTeam, tmp_path: Path) -> None:
    async with a_webhook(team.sandbox, tmp_path, is_cut=True) as webhook:
        await eventually(lambda: webhook.program.port("reviews"), message="it does not listen")
        assert await webhook.review(team.namespace) == (503, [])
        up = await webhook.metric("source_up")
        assert set(up.values()) == {0.0}
        webhook.proxy.mend()
        await asyncio.wait_for(webhook.program.wait_ready(), 60)
        assert (await webhook.review(team.namespace))[0] == 200


async def test_a_default_class_is_not_missing_before_the_list(team: PolicyTeam, tmp_path: Path) -> None:
    async with a_webhook(team.sandbox, tmp_path, "--default-runtime-class", "kata", is_cut=True) as webhook:
        await eventually(lambda: webhook.program.port("http"), message="it does not listen")
        assert "runtimeclasses" in await webhook.metric("source_up")
        assert await webhook.metric("missing_default_runtime_class") == {}
