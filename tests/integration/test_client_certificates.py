"""The webhook serves an apiserver that shows a certificate as docs/operations.md says, and none that shows nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import yaml

from controller.kube import clock
from controller.kube.errors import KubeError
from controller.sandbox import Sandbox
from controller.sandbox.installation import installed
from controller.telemetry.authority import Authority
from tests.support.eventually import eventually
from tests.support.kubernetes import VERSION
from tests.support.shown_objects import shown
from tests.support.team import Team, is_gated

pytestmark = pytest.mark.integration

NAME = "kube-apiserver"


class Clients:
    """An authority for clients of the webhook, and what an apiserver needs to be one."""

    def __init__(self, folder: Path) -> None:
        authority = Authority.create("clients", now=clock.now(), days=1)
        pair = authority.client(NAME, now=clock.now(), days=1)
        self.ca, self.admission = folder / "clients.crt", folder / "admission.yaml"
        certificate, key, kubeconfig = (folder / name for name in ("client.crt", "client.key", "webhooks.kubeconfig"))
        self.ca.write_bytes(authority.pair.certificate_pem)
        certificate.write_bytes(pair.certificate_pem)
        key.write_bytes(pair.key_pem)
        admission, config = (shown("operations.md", kind) for kind in ("AdmissionConfiguration", "Config"))
        for plugin in admission["plugins"]:
            plugin["configuration"]["kubeConfigFile"] = str(kubeconfig)
        (user,) = config["users"]
        # in a sandbox the webhook is called by a URL whose port is not known yet
        user["name"], user["user"] = "*", {"client-certificate": str(certificate), "client-key": str(key)}
        self.admission.write_text(yaml.safe_dump(admission))
        kubeconfig.write_text(yaml.safe_dump(config))


@asynccontextmanager
async def a_team(clients: Clients, flags: dict[str, str], name: str) -> AsyncIterator[Team]:
    arguments = ("--client-ca-file", str(clients.ca), "--client-name", name)
    async with (
        Sandbox.start(kubernetes=VERSION, apiserver_flags=flags) as sandbox,
        installed(sandbox, webhook_arguments=arguments),
        sandbox.client() as client,
    ):
        team = Team(client, sandbox)
        await team.open()
        yield team


async def test_an_apiserver_with_the_certificate_is_served(tmp_path: Path) -> None:
    clients = Clients(tmp_path)
    flags = {"admission-control-config-file": str(clients.admission)}
    async with a_team(clients, flags, NAME) as team:
        await team.ready(stopPolicy="Hold")
        assert is_gated(await team.pod("one"))


@pytest.mark.more
@pytest.mark.parametrize("shows", [False, True], ids=["without a certificate", "by another name"])
async def test_any_other_is_not(tmp_path: Path, shows: bool) -> None:
    clients = Clients(tmp_path)
    flags = {"admission-control-config-file": str(clients.admission)} if shows else {}
    async with a_team(clients, flags, "another") as team:

        async def refused() -> bool:
            try:
                await team.pod("one")
            except KubeError as error:
                return "failed calling webhook" in str(error)
            return False

        await eventually(refused, message="a pod of a queue is created")
