"""The way of a new user: `make demo PAGE=1`, the page that it opens, and the queues that drain on it."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.support.eventually import eventually
from tests.support.pages import looking
from tests.support.sandbox import CommandLine

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

ROOT = Path(__file__).resolve().parents[3]
ADDRESS = re.compile(r"The page is at (http://127\.0\.0\.1:\d+/open\?key=\S+)")
_SECONDS = 400


@pytest.fixture
async def demo(tmp_path: Path) -> AsyncIterator[subprocess.Popen[str]]:
    """`make demo PAGE=1` as README says it, in a session of its own as a terminal gives it one."""
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "COLUMNS": "200"}

    def start() -> subprocess.Popen[str]:
        return subprocess.Popen(
            [shutil.which("make") or "make", "--no-print-directory", "demo", "PAGE=1"],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    running = await asyncio.to_thread(start)
    yield running
    running.kill()
    await asyncio.to_thread(CommandLine(tmp_path).run, "sandbox", "down", "--all")
    if running.returncode is None:  # the test did not come to its end
        await asyncio.to_thread(running.communicate, timeout=60)


async def said(running: subprocess.Popen[str], pattern: re.Pattern[str]) -> str:
    """Read what it says, line by line, until one matches; return what that names."""
    assert running.stdout is not None
    told: list[str] = []
    while (found := pattern.search(line := await asyncio.to_thread(running.stdout.readline))) is None:
        told.append(line)
        assert line, f"it ended: {''.join(told)}"
    return found[found.re.groups]


@pytest.mark.more
async def test_the_readmes_page_shows_queues_until_they_drained(
    demo: subprocess.Popen[str], chromium: Browser, tmp_path: Path
) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "`make demo PAGE=1`" in readme
    address = await asyncio.wait_for(said(demo, ADDRESS), _SECONDS)
    async with looking(chromium, address) as somebody:
        page = somebody.page
        await expect(page.get_by_role("link", name=re.compile(r"^[1-9]\d* pending"))).to_be_visible(timeout=60_000)
        await expect(page.get_by_role("row").filter(has_text="team-a").first).to_contain_text(
            "borrowed", timeout=60_000
        )
        await page.get_by_role("link", name="team-a", exact=True).first.click()
        await expect(page.get_by_role("heading", name="ClusterQueue team-a")).to_be_visible()
        await page.get_by_role("link", name="Overview").click()
        await asyncio.wait_for(said(demo, re.compile("(the page stays open)")), _SECONDS)
        await expect(page.get_by_role("link", name="0 pending")).to_be_visible(timeout=60_000)
        await expect(page.get_by_role("link", name="0 running")).to_be_visible(timeout=60_000)
        os.killpg(demo.pid, signal.SIGINT)
        await asyncio.to_thread(demo.communicate, timeout=60)
        somebody.told.clear()  # its browser tells that nobody answers
    await eventually(lambda: not CommandLine(tmp_path).processes(), message="processes stay")
