"""`penstock dashboard` as a user starts and ends it."""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from tests.support.clusters import Cluster
from tests.support.pages import looking

pytestmark = pytest.mark.integration

ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/open\?key=\S+")


@asynccontextmanager
async def started(*arguments: str) -> AsyncIterator[tuple[subprocess.Popen[str], str]]:
    """The command as a process, and the address that it printed."""
    command = [sys.executable, "-u", "-m", "controller.cli", "dashboard", "--no-browser", *arguments]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    running: subprocess.Popen[str] = await asyncio.to_thread(lambda: subprocess.Popen(command, **pipes))
    try:
        assert running.stdout is not None
        line = await asyncio.to_thread(running.stdout.readline)
        found = ADDRESS.search(line)
        assert found is not None, line
        yield running, found[0]
    finally:
        running.kill()
        await asyncio.to_thread(running.communicate)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_ctrl_c_ends_it_though_somebody_looks(cluster: Cluster, chromium: Browser, number: int) -> None:
    async with (
        started("--kubeconfig", str(cluster.sandbox.kubeconfig)) as (running, address),
        looking(chromium, address) as somebody,
    ):
        await expect(somebody.page.get_by_role("heading", name="Overview")).to_be_visible()
        running.send_signal(number)
        assert await asyncio.to_thread(running.wait, 60) == 0
        await expect(somebody.page.get_by_text("not connected").first).to_be_visible()
        somebody.told.clear()  # its browser tells that nobody answers


async def test_another_start_asks_for_its_own_address(cluster: Cluster, chromium: Browser) -> None:
    kubeconfig = ["--kubeconfig", str(cluster.sandbox.kubeconfig)]
    async with started(*kubeconfig) as (first, address), looking(chromium, address) as somebody:
        await expect(somebody.page.get_by_role("heading", name="Overview")).to_be_visible()
        port = address.split(":")[2].partition("/")[0]
        first.terminate()
        await asyncio.to_thread(first.wait, 60)
        async with started("--port", port, *kubeconfig):
            await expect(somebody.page.get_by_text("Open the address that")).to_be_visible(timeout=30_000)
        somebody.told.clear()  # its browser tells that nobody answered


async def test_a_port_that_is_taken_is_one_clear_line(cluster: Cluster) -> None:
    kubeconfig = ["--kubeconfig", str(cluster.sandbox.kubeconfig)]
    async with started(*kubeconfig) as (_, address):
        port = address.split(":")[2].partition("/")[0]
        command = [sys.executable, "-m", "controller.cli", "dashboard", "--port", port, *kubeconfig]
        done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith(f"Error: cannot listen on 127.0.0.1:{port}")
