"""Penstock with the component `runtime-class` and a default class for the cluster, on a control plane of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from controller.core.keys import DEFAULT_RUNTIME_CLASS
from controller.kube.client import MERGE_PATCH
from controller.kube.errors import Forbidden
from controller.sandbox import Sandbox
from controller.sandbox.installation import Installation, installed
from controller.sandbox.programs import Program
from tests.support.eventually import eventually
from tests.support.team import Team

CLASSES = "/apis/node.k8s.io/v1/runtimeclasses"
STANDARD = "standard"
"""The cluster's default class: no rules, no overhead."""

Json = dict[str, Any]


class Corner(Team):
    """A team that makes RuntimeClasses too."""

    async def runtime_class(self, name: str, **rules: Any) -> str:
        """Make a class (handler `handler`) of the full name; remove it at the end. Rules: scheduling, overhead."""
        full = self.full(name)
        body = {"metadata": {"name": full}, "handler": "handler", **rules}
        await self.client.post(CLASSES, body)
        self._undo.append(lambda: self.client.delete(f"{CLASSES}/{full}"))
        return full

    async def default_class(self, name: str) -> None:
        """Make `name` the namespace's default class, and wait until the webhook knows."""
        labels = {DEFAULT_RUNTIME_CLASS: name}
        path = f"/api/v1/namespaces/{self.namespace}"
        await self.client.patch(path, {"metadata": {"labels": labels}}, content_type=MERGE_PATCH)

        async def known() -> bool:
            try:
                probe = await self.pod("probe", queue=None, params={"dryRun": "All"})
            except Forbidden as error:  # a default that refuses the probe is known too
                return name in str(error)
            return bool(probe["spec"]["runtimeClassName"] == name)

        await eventually(known, message=f"the webhook does not know the default {name}")


@pytest.fixture(scope="session")
def installation() -> Iterator[tuple[Sandbox, Installation]]:
    """The session's cluster with the component on, apart from the one whose webhook only gates."""
    with asyncio.Runner() as runner:
        sandbox = runner.run(Sandbox.launch(audit=True))
        context = installed(
            sandbox, components=("runtime-class",), webhook_arguments=("--default-runtime-class", STANDARD)
        )
        try:
            runner.run(_make(sandbox, {"metadata": {"name": STANDARD}, "handler": "runc"}))
            yield sandbox, runner.run(context.__aenter__())
            runner.run(context.__aexit__(None, None, None))
        finally:
            runner.run(sandbox.stop())


@pytest.fixture(scope="session")
def classy(installation: tuple[Sandbox, Installation]) -> Sandbox:
    """The cluster of the installation."""
    return installation[0]


@pytest.fixture(scope="session")
def webhook(installation: tuple[Sandbox, Installation]) -> Program:
    """The webhook of the installation."""
    return installation[1].webhook


async def _make(sandbox: Sandbox, body: Json) -> None:
    async with sandbox.client() as client:
        await client.post(CLASSES, body)


@pytest.fixture
async def corner(classy: Sandbox) -> AsyncIterator[Corner]:
    """A team with a namespace of its own and nothing else yet."""
    async with classy.client() as client:
        made = Corner(client, classy)
        await made.open()
        yield made
        await made.close()
