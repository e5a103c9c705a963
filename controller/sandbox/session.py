"""A running sandbox as an object, for tests, demos and benchmarks. The command line uses `launch` by name instead."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import orjson

from controller.kube import clock, config
from controller.kube.client import Client
from controller.sandbox import binaries, certificates, launch, nodes
from controller.sandbox.errors import SandboxError
from controller.sandbox.files import write_private
from controller.sandbox.layout import Layout
from controller.sandbox.nodes import NodeShape
from controller.sandbox.spec import Spec, State, check_spec
from controller.sandbox.versions import DEFAULT
from controller.telemetry.authority import KeyPair

_TOKEN_SECONDS = 24 * 3600
_USER_AGENT = "penstock-sandbox"


class Sandbox:
    """One control plane that is up. Make it with `start`, or with `launch` and `stop` where no block fits."""

    def __init__(self, layout: Layout, state: State, running: launch.Running | None) -> None:
        self._layout = layout
        self._state = state
        self._running = running

    @classmethod
    @asynccontextmanager
    async def start(
        cls,
        *,
        name: str | None = None,
        kubernetes: str = DEFAULT,
        node_shapes: Sequence[NodeShape] = (),
        operators: Sequence[str] = (),
        audit: bool = False,
        feature_gates: Mapping[str, bool] | None = None,
        runtime_config: Mapping[str, bool] | None = None,
        apiserver_flags: Mapping[str, str] | None = None,
    ) -> AsyncIterator[Sandbox]:
        """A sandbox for as long as the block runs; it dies with this process, however that ends.

        `operators` are names of `operators.OPERATORS`, which run in it as well. Raises SandboxError. A missing program
        is built first, which takes minutes.
        """
        sandbox = await cls.launch(
            name=name,
            kubernetes=kubernetes,
            node_shapes=node_shapes,
            operators=operators,
            audit=audit,
            feature_gates=feature_gates,
            runtime_config=runtime_config,
            apiserver_flags=apiserver_flags,
        )
        try:
            yield sandbox
        finally:
            await asyncio.shield(sandbox.stop())

    @classmethod
    async def launch(
        cls,
        *,
        name: str | None = None,
        kubernetes: str = DEFAULT,
        node_shapes: Sequence[NodeShape] = (),
        operators: Sequence[str] = (),
        audit: bool = False,
        feature_gates: Mapping[str, bool] | None = None,
        runtime_config: Mapping[str, bool] | None = None,
        apiserver_flags: Mapping[str, str] | None = None,
    ) -> Sandbox:
        """As `start`, for a caller who promises to `stop` it; it still dies with this process."""
        spec = Spec(
            name=name or f"session-{secrets.token_hex(4)}",
            kubernetes=kubernetes,
            operators=tuple(operators),
            audit=audit,
            feature_gates=_flags(feature_gates),
            runtime_config=_flags(runtime_config),
            apiserver_flags=dict(apiserver_flags or {}),
        )
        for shape in node_shapes:
            nodes.check_shape(shape)
        check_spec(spec)
        return await cls.create(spec, node_shapes, tied=True)

    @classmethod
    async def create(cls, spec: Spec, node_shapes: Sequence[NodeShape], *, tied: bool) -> Sandbox:
        """Start what `spec` says, with nodes; an untied one outlives this process."""
        found = await asyncio.to_thread(binaries.ensure, kubernetes=spec.kubernetes, operators=spec.operators)
        running, state = await launch.start(spec, binaries=found, tied=tied)
        sandbox = cls(running.layout, state, running)
        try:
            await sandbox.add_nodes(*node_shapes)
        except BaseException:
            await asyncio.shield(sandbox.stop())
            raise
        return sandbox

    @classmethod
    def attach(cls, name: str) -> Sandbox:
        """The sandbox called `name`, which another process started; raises SandboxError when it is not up."""
        return cls(Layout.of(name), launch.running_state(name), None)

    async def stop(self) -> None:
        """End it and delete its folder."""
        if self._running is not None:
            await launch.stop(self._running)
        else:
            await launch.remove(self.name)

    @property
    def name(self) -> str:
        """Its name, as `penstock sandbox status` shows it."""
        return self._state.name

    @property
    def url(self) -> str:
        """Address of the apiserver."""
        return self._state.url

    @property
    def folder(self) -> Path:
        """Folder that holds everything of it; deleted at the end."""
        return self._layout.folder

    @property
    def kubeconfig(self) -> Path:
        """Kubeconfig of an administrator."""
        return self._layout.kubeconfig

    @property
    def ca_pem(self) -> bytes:
        """Certificate of its authority: signs the apiserver and `serving_certificate`; goes into a caBundle."""
        return self._layout.ca.read_bytes()

    @property
    def audit_log(self) -> Path:
        """A JSON line per write to a pod and per request of our accounts; SandboxError if started without `audit`."""
        if not self._layout.audit_log.exists():
            raise SandboxError(f"sandbox {self.name!r} keeps no audit log; start it with audit on")
        return self._layout.audit_log

    @asynccontextmanager
    async def client(self, kubeconfig: Path | None = None) -> AsyncIterator[Client]:
        """A client for the administrator, or for whom `kubeconfig` is."""
        settings = await config.load(str(kubeconfig or self.kubeconfig))
        async with Client(settings, user_agent=_USER_AGENT) as client:
            yield client

    async def add_nodes(self, *shapes: NodeShape) -> list[str]:
        """Add fake nodes and wait until pods can run on them; return their names."""
        if not shapes:
            return []
        async with self.client() as client:
            return await nodes.add(client, shapes)

    async def count_nodes(self, shape: str) -> int:
        """Return how many nodes of a shape there are."""
        async with self.client() as client:
            return await nodes.count(client, shape)

    async def remove_nodes(self, shape: str, count: int | None = None) -> list[str]:
        """Delete the nodes of a shape, or `count` of them from the highest number down; return their names."""
        async with self.client() as client:
            return await nodes.remove(client, shape, count)

    def serving_certificate(
        self, dns_names: Sequence[str] = ("localhost",), addresses: Sequence[str] = ("127.0.0.1",)
    ) -> KeyPair:
        """Certificate and key for a webhook at `https://127.0.0.1:port`; `ca_pem` is its caBundle."""
        return certificates.serving_certificate(self._layout, dns_names, addresses, now=clock.now())

    async def service_account_kubeconfig(self, namespace: str, name: str) -> Path:
        """Write a kubeconfig, readable by its owner only, that acts as an existing ServiceAccount for a day.

        Raises NotFound when there is no such account.
        """
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": _TOKEN_SECONDS},
        }
        async with self.client() as client:
            token = orjson.loads(await client.post(path, request))["status"]["token"]
        content = certificates.kubeconfig(self._layout, self.url, {"token": token}, namespace=namespace)
        return write_private(self._layout.kubeconfigs / f"{namespace}.{name}", content)


def _flags(values: Mapping[str, bool] | None) -> dict[str, str]:
    return {key: str(value).lower() for key, value in (values or {}).items()}
