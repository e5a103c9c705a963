"""Penstock with the component `runtime-class` and a default class for the cluster, on a control plane of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from controller.core.keys import DEFAULT_RUNTIME_CLASS
from controller.kube.client import MERGE_PATCH
from controller.kube.errors import Forbidden
from controller.sandbox import Sandbox
from controller.sandbox.programs import Program
from tests.support.clusters import Cluster, a_cluster
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


@pytest.fixture(scope="package")
def cluster() -> Iterator[Cluster]:
    """The folder's cluster with the component on, apart from the one whose webhook only gates."""
    arguments = ("--default-runtime-class", STANDARD)
    with a_cluster(before=_make_standard, components=("runtime-class",), webhook_arguments=arguments) as cluster:
        yield cluster


@pytest.fixture(scope="package")
def classy(cluster: Cluster) -> Sandbox:
    """The control plane of the cluster."""
    return cluster.sandbox


@pytest.fixture(scope="package")
def webhook(cluster: Cluster) -> Program:
    """The cluster's webhook."""
    return cluster.programs.webhook


async def _make_standard(sandbox: Sandbox) -> None:
    async with sandbox.client() as client:
        await client.post(CLASSES, {"metadata": {"name": STANDARD}, "handler": "runc"})


@pytest.fixture
async def corner(classy: Sandbox) -> AsyncIterator[Corner]:
    """A team with a namespace of its own and nothing else yet."""
    async with classy.client() as client:
        made = Corner(client, classy)
        await made.open()
        yield made
        await made.close()
