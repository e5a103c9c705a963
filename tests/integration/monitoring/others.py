"""Programs of Penstock in place of those of the cluster, or beside them, with other settings or a worse apiserver."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import yaml

from controller.sandbox.files import write_private
from controller.sandbox.installation import CONTROLLER_ACCOUNT, NAMESPACE, controller_program
from controller.sandbox.programs import Program
from controller.telemetry.authority import KeyPair
from tests.support.apiserver_proxy import ApiserverProxy, Cut, Lines, Matches, Reply, Request
from tests.support.clusters import Cluster

_ANY_PORT = "127.0.0.1:0"
PASSWORD, TOKEN = SECRETS = ("hunter2-of-a-database", "hunter2-of-a-receiver")


@asynccontextmanager
async def through(cluster: Cluster, account: str, folder: Path) -> AsyncIterator[tuple[ApiserverProxy, Path]]:
    """A way to the apiserver that may fail, and a kubeconfig of an account that leads there."""
    original = await cluster.sandbox.service_account_kubeconfig(NAMESPACE, account)
    async with ApiserverProxy(original).serving() as proxy:
        yield proxy, proxy.kubeconfig(folder)


@asynccontextmanager
async def instead(
    cluster: Cluster, folder: Path, kubeconfig: Path | None = None, options: Sequence[str] = ()
) -> AsyncIterator[Program]:
    """A controller in place of that of the cluster, which runs again afterwards; it need not become ready."""
    usual = cluster.programs.controller
    kubeconfig = kubeconfig or await cluster.sandbox.service_account_kubeconfig(NAMESPACE, CONTROLLER_ACCOUNT)
    other = controller_program(kubeconfig, folder / "controller.log", ["--log-level=debug", *options])
    await usual.stop()
    other.start()
    try:
        yield other
    finally:
        await other.stop()
        usual.start()
        await usual.wait_ready()
    assert revealed(other, kubeconfig) == []


@asynccontextmanager
async def beside(
    cluster: Cluster,
    folder: Path,
    kubeconfig: Path | None = None,
    options: Sequence[str] = (),
    *,
    module: str = "webhook",
    pair: KeyPair | None = None,
) -> AsyncIterator[Program]:
    """Another webhook, which nothing is registered for; `pair` is its certificate."""
    kubeconfig = kubeconfig or await cluster.sandbox.service_account_kubeconfig(NAMESPACE, "penstock-webhook")
    pair = pair or cluster.sandbox.serving_certificate()
    certificate = write_private(folder / "webhook.crt", pair.certificate_pem)
    key = write_private(folder / "webhook.key", pair.key_pem)
    arguments = ["--kubeconfig", str(kubeconfig), "--http-address", _ANY_PORT, "--address", _ANY_PORT]
    arguments += ["--tls-cert", str(certificate), "--tls-key", str(key), "--log-level=debug", *options]
    other = Program(module, arguments, folder / "webhook.log")
    other.start()
    try:
        await other.wait_ready()
        yield other
    finally:
        await other.stop()
    assert revealed(other, kubeconfig) == []


def revealed(program: Program, kubeconfig: Path) -> list[str]:
    """Which secrets stand in its log: tokens of its account, and what tests give it."""
    users = yaml.safe_load(kubeconfig.read_text())["users"]
    tokens = [user["user"]["token"] for user in users if "token" in user["user"]]
    told = program.log.read_text()
    assert "listening" in told
    return [secret for secret in (*SECRETS, *tokens) if secret in told]


def about(path: str) -> Matches:
    """Requests of a collection, or of what is in it."""
    return lambda request: request.path.partition("?")[0].startswith(path)


class Breaking:
    """Watches that match: from `begin` on, each breaks off behind its next line, and nothing that matches is served.

    To be made before they are opened.
    """

    def __init__(self, proxy: ApiserverProxy, matches: Matches) -> None:
        self._proxy = proxy
        self._matches = matches
        self._is_on = False
        proxy.edit_watches(self._edit)

    def begin(self) -> None:
        """Let it happen."""
        self._is_on = True
        self._proxy.on(self._matches, busy)

    async def _edit(self, request: Request, lines: Lines) -> Lines:
        async for line in lines:
            yield line
            if self._is_on and self._matches(request):
                raise Cut


async def busy(_: Request) -> Reply:
    """An apiserver that has no time."""
    body = b'{"kind":"Status","status":"Failure","reason":"ServiceUnavailable","code":503,"message":"busy"}'
    return Reply(503, body, "application/json")


async def unserved(_: Request) -> Reply:
    """An apiserver that cannot list by a watch."""
    body = b'{"kind":"Status","status":"Failure","reason":"Invalid","code":422,"message":"sendInitialEvents"}'
    return Reply(422, body, "application/json")
