"""Replicas of the webhook that make their certificates themselves, on an apiserver that is told to trust them."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from cryptography import x509

from controller.kube.apply import apply, delete
from controller.kube.client import JSON_PATCH, Client
from controller.kube.manifests import load_documents
from controller.sandbox.aggregation import on_loopback
from controller.sandbox.programs import Program
from tests.support.clusters import CONFIG, Cluster, a_cluster
from tests.support.eventually import eventually
from tests.support.team import Team, is_gated
from tests.support.trusting import HOME, MUTATING, SECRET, bundles, is_trusted

pytestmark = pytest.mark.integration

_ANY_PORT = "127.0.0.1:0"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """One of its own, whose registrations are changed."""
    with a_cluster() as cluster:
        yield cluster


@pytest.fixture
async def replicas(cluster: Cluster, client: Client, tmp_path: Path) -> AsyncIterator[list[Program]]:
    """Two that began at once with an empty Secret; the apiserver asks the first."""
    (service,) = [one for one in load_documents(CONFIG / "server") if one["kind"] == "Service"]
    rights, registration = load_documents(CONFIG / "server" / "certificate.yaml"), load_documents(CONFIG / "webhook")
    kubeconfig = await cluster.sandbox.service_account_kubeconfig(HOME, "penstock-webhook")
    await apply(client, [*rights, on_loopback(service, 0)])
    arguments = ["--kubeconfig", str(kubeconfig), "--http-address", _ANY_PORT, "--address", _ANY_PORT]
    programs = [Program("webhook", arguments, tmp_path / f"replica-{number}.log") for number in range(2)]
    try:
        for program in programs:
            program.start()
        port = await eventually(lambda: programs[0].port("reviews"), message="the webhook does not listen")
        for entry in (entry for document in registration for entry in document["webhooks"]):
            entry["clientConfig"]["service"]["port"] = port
        await apply(client, registration)
        for program in programs:
            await program.wait_ready()
        yield programs
    finally:
        await delete(client, [*registration, *rights])
        for program in programs:
            await program.stop()


async def shown(program: Program) -> x509.Certificate:
    """The certificate that a replica shows now."""
    address = ("127.0.0.1", program.port("reviews") or 0)
    pem = await asyncio.to_thread(ssl.get_server_certificate, address)
    return x509.load_pem_x509_certificate(pem.encode())


async def trusted(client: Client) -> list[bytes]:
    """Whom the apiserver trusts behind each webhook of a registration."""
    return bundles(orjson.loads(await client.get(MUTATING)))


async def write(client: Client, bundle: bytes) -> None:
    """Replace whom the apiserver trusts, as somebody who applies a manifest does."""
    value = base64.b64encode(bundle).decode()
    paths = [f"/webhooks/{number}/clientConfig/caBundle" for number in range(len(await trusted(client)))]
    patch: list[dict[str, Any]] = [{"op": "replace", "path": path, "value": value} for path in paths]
    await client.patch(MUTATING, patch, content_type=JSON_PATCH)


async def gated(team: Team) -> bool:
    return is_gated(await team.pod("probe", params={"dryRun": "All"}))


async def test_ready_replicas_are_trusted_and_asked(team: Team, client: Client, replicas: list[Program]) -> None:
    for program in replicas:
        assert all([is_trusted(await shown(program), pem) for pem in await trusted(client)])
    assert await gated(team)

    await write(client, b"")

    async def is_back() -> bool:
        return all(await trusted(client)) and await gated(team)

    await eventually(is_back, message="the caBundle that was removed does not come back")
    assert len({*await trusted(client)}) == 1


async def test_a_new_authority_lets_no_pod_pass(team: Team, client: Client, replicas: list[Program]) -> None:
    before, seen = [await shown(program) for program in replicas], list[bool]()
    assert await gated(team)
    await client.patch(SECRET, [{"op": "remove", "path": "/data"}], content_type=JSON_PATCH)

    async def are_replaced() -> bool:
        seen.append(await gated(team))
        return not {*before} & {await shown(program) for program in replicas}

    await eventually(are_replaced, message="the certificates are not replaced")
    authority = base64.b64decode(orjson.loads(await client.get(SECRET))["data"]["tls.crt"])
    for program in replicas:
        assert is_trusted(await shown(program), authority)
    # alone, and so by a new connection
    await write(client, authority)
    seen += [await gated(team) for _ in range(20)]
    assert len(seen) > 40
    assert all(seen)
