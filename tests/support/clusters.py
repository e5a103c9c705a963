"""A control plane with Penstock in it, for as long as a session's or module's fixture lasts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from controller.sandbox import Sandbox
from controller.sandbox.installation import Installation, installed


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
        sandbox = runner.run(Sandbox.launch(audit=True, **(launch or {})))
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
            runner.run(sandbox.stop())


async def _done(work: Callable[[Sandbox], Awaitable[None]], sandbox: Sandbox) -> None:
    await work(sandbox)
