"""The page beside the demo: open while the queues drain, and after that for as long as somebody looks."""

from __future__ import annotations

import asyncio
import webbrowser
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from controller.dashboard.loopback import opened
from controller.demo.report import Report
from controller.sandbox import Sandbox


@asynccontextmanager
async def shown(report: Report, sandbox: Sandbox) -> AsyncIterator[None]:
    """Serve the page of a sandbox while the block runs, and open it where somebody sits before a terminal."""
    async with opened(0, str(sandbox.kubeconfig)) as address:
        report.step(f"The page is at {address}")
        if report.console.is_interactive:
            await asyncio.to_thread(webbrowser.open, address)
        yield


async def until_cancelled(report: Report) -> None:
    """Wait until the task is cancelled, which is how Ctrl-C ends a demo; here it is the wanted end."""
    report.step("The queues have drained; the page stays open until Ctrl-C")
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None:
            task.uncancel()
