"""A control plane with Penstock in it, for as long as a session's or module's fixture lasts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controller.extension_api.paths import ROOT
from controller.kube.errors import ServerError
from controller.kube.manifests import load_documents
from controller.sandbox import Sandbox
from controller.sandbox.aggregation import is_aggregated
from controller.sandbox.installation import Installation, aggregate, installed
from tests.support import rights
from tests.support.eventually import eventually
from tests.support.kubernetes import VERSION

CONFIG = Path(__file__).resolve().parents[2] / "config"


@dataclass(frozen=True, slots=True)
class Cluster:
    """A sandbox with Penstock in it."""

    sandbox: Sandbox
    programs: Installation


@contextmanager
def a_cluster(
    *,
    launch: Mapping[str, Any] | None = None,
    before: Callable[[Sandbox], Awaitable[None]] | None = None,
    **options: Any,
) -> Iterator[Cluster]:
    """Start a control plane with an audit log and Penstock in it; end both.

    It runs in an event loop of its own, since it outlives those of the tests. `launch`: what else `Sandbox.launch` is
    told; `before`: what is made before Penstock comes; the rest is for `installed`.
    """
    with asyncio.Runner() as runner:
        sandbox = runner.run(Sandbox.launch(**{"kubernetes": VERSION, "audit": True, **(launch or {})}))
        try:
            if before is not None:
                runner.run(_done(before, sandbox))
            context = installed(sandbox, **options)
            programs = runner.run(context.__aenter__())
            try:
                yield Cluster(sandbox, programs)
            finally:
                runner.run(context.__aexit__(None, None, None))
        finally:
            rights.keep(sandbox)
            runner.run(sandbox.stop())


@contextmanager
def a_cluster_without_leader(**options: Any) -> Iterator[Cluster]:
    """Start a cluster whose controller stands still for those of the tests; `options` are those of `a_cluster`."""
    with a_cluster(**options) as cluster:
        assert asyncio.run(cluster.programs.controller.stop()) == 0
        yield cluster


async def _done(work: Callable[[Sandbox], Awaitable[None]], sandbox: Sandbox) -> None:
    await work(sandbox)


async def serve_again(cluster: Cluster) -> None:
    """Start the controller that was stopped, and let the apiserver pass requests for the API on to its new port."""
    controller = cluster.programs.controller
    controller.start()
    await controller.wait_ready()
    component = load_documents(CONFIG / "components" / "visibility")
    await aggregate(cluster.sandbox, controller, [one for one in component if is_aggregated(one)])
    async with cluster.sandbox.client() as client:

        async def answers() -> bool:
            try:
                return bool(await client.get(ROOT))
            except ServerError:  # the apiserver may still ask at the port of before
                return False

        await eventually(answers, message="the API does not answer")
