"""Who sees what: viewers of one namespace, of two, of none, an administrator, nobody, and who only claims to be one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest

from controller.extension_api.paths import ROOT
from controller.extension_api.resources import HIDDEN
from controller.kube.client import Client
from controller.sandbox.certificates import FRONT_PROXY
from tests.integration.visibility.conftest import Served
from tests.support.direct import Direct
from tests.support.eventually import eventually
from tests.support.sample_api import ticket
from tests.support.viewers import VIEWER, Reply, bind

pytestmark = pytest.mark.integration


@dataclass(frozen=True)
class World:
    """Two namespaces with one ticket each, and people named after the first."""

    served: Served
    client: Client
    one: str
    two: str

    async def person(self, name: str, *namespaces: str) -> str:
        """Somebody with the role `view` in these namespaces."""
        user = f"{name}-{self.one}"
        for namespace in namespaces:
            await bind(self.client, user, "view", namespace)
        return user

    async def get(self, path: str, user: str) -> Reply:
        return await self.served.viewers.get(f"{ROOT}{path}", user)

    async def until(self, path: str, user: str, code: int) -> Reply:
        """Ask until rights that were just given are known."""

        async def answered() -> Reply:
            reply = await self.get(path, user)
            assert reply.code == code, reply
            return reply

        return await eventually(answered, message=f"{user} does not get {code} of {path}")


@pytest.fixture
async def world(sample: Served, admin: Client, namespace: str) -> AsyncIterator[World]:
    other = f"{namespace}-two"
    await admin.post("/api/v1/namespaces", {"metadata": {"name": other}})
    sample.api.tickets = [ticket(namespace, "ours", 1), ticket(other, "theirs", 2)]
    yield World(sample, admin, namespace, other)
    await admin.delete(f"/api/v1/namespaces/{other}")


async def test_an_admin_sees_all(world: World) -> None:
    assert (await world.get("/tickets", "")).names == ["ours", "theirs"]
    assert (await world.get("/lines/main/tickets", "")).names == ["ours", "theirs"]


async def test_a_viewer_of_one_namespace_sees_that(world: World) -> None:
    jane = await world.person("jane", world.one)
    assert (await world.until(f"/namespaces/{world.one}/tickets", jane, 200)).names == ["ours"]
    for path in (f"/namespaces/{world.two}/tickets", "/tickets", "/lines", "/lines/main/tickets"):
        reply = await world.get(path, jane)
        assert (reply.code, reply.body["reason"]) == (403, "Forbidden"), path


async def test_a_viewer_of_two_namespaces_sees_both(world: World) -> None:
    jane = await world.person("jane", world.one, world.two)
    assert (await world.until(f"/namespaces/{world.one}/tickets", jane, 200)).names == ["ours"]
    assert (await world.until(f"/namespaces/{world.two}/tickets/theirs", jane, 200)).body["status"]["place"] == 2


async def test_who_may_read_the_api_sees_names_of_their_pods(world: World) -> None:
    """Bound in the whole cluster, the viewer's role shows figures of all, and names of pods that they may list."""
    jane = await world.person("jane", world.one)
    await bind(world.client, jane, VIEWER)
    await world.until("/tickets", jane, 200)

    async def seen() -> bool:
        return (await world.get("/tickets", jane)).names == ["ours"]

    await eventually(seen)
    line = await world.get("/lines/main/tickets", jane)
    assert [(one["metadata"]["name"], one["status"]["place"]) for one in line.body["items"]] == [
        ("ours", 1),
        (HIDDEN, 2),
    ]
    assert (await world.get(f"/namespaces/{world.two}/tickets", jane)).names == [HIDDEN]
    assert (await world.get(f"/namespaces/{world.two}/tickets/theirs", jane)).code == 403
    assert (await world.get(f"/namespaces/{world.two}/tickets/none", jane)).code == 403


async def test_a_viewer_of_no_namespace_sees_no_names(world: World) -> None:
    jane = await world.person("jane")
    assert (await world.get("/tickets", jane)).code == 403
    await bind(world.client, jane, VIEWER)
    assert (await world.until("/tickets", jane, 200)).names == []
    assert (await world.get("/lines/main/tickets", jane)).names == [HIDDEN, HIDDEN]


async def test_nobody_is_refused(world: World) -> None:
    assert (await world.served.viewers.get_as_nobody(f"{ROOT}/tickets")).code == 403


async def test_a_header_from_outside_is_not_passed_on(world: World) -> None:
    """The apiserver says who asks by these headers; what a client writes into them is replaced."""
    jane = await world.person("jane", world.one)
    await world.until(f"/namespaces/{world.one}/tickets", jane, 200)
    forged = {"X-Remote-User": "root", "X-Remote-Group": "system:masters"}
    path = f"{ROOT}/namespaces/{world.two}/tickets"
    assert (await world.served.viewers.get(path, jane, headers=forged)).code == 403


async def test_the_server_asks_for_itself_who_may_what(world: World, tmp_path: Path) -> None:
    """What the apiserver has authorized is not taken on trust: its RBAC is asked again, as of the viewer."""
    direct = Direct(world.served.sandbox, world.served.address.port, tmp_path)
    shown = direct.signed("front-proxy-ca", FRONT_PROXY)
    nobody = {"X-Remote-User": f"nobody-{world.one}", "X-Remote-Group": "system:authenticated"}
    reply = await direct.get(f"{ROOT}/tickets", shown, nobody)
    assert (reply.code, reply.body["reason"]) == (403, "Forbidden")
    assert "ask for the ClusterRole penstock-visibility-viewer" in reply.body["message"]


async def test_a_forged_header_needs_the_front_proxys_certificate(world: World, tmp_path: Path) -> None:
    direct = Direct(world.served.sandbox, world.served.address.port, tmp_path)
    path = f"{ROOT}/tickets"
    assert (await direct.get(path, direct.signed("front-proxy-ca", FRONT_PROXY))).code == 200
    assert (await direct.get(path, None)).code == 401
    assert (await direct.get(path, direct.signed("front-proxy-ca", "somebody"))).code == 401
    with pytest.raises(aiohttp.ClientError):  # the handshake fails
        await direct.get(path, direct.signed("ca", FRONT_PROXY))
