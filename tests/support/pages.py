"""The page in a real browser: what tests look at, and what no test may see in its console."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.async_api import Browser, BrowserContext, Page, async_playwright, expect

from tests.support import browser

AXE: Final = Path(__file__).resolve().parents[2] / "page" / "node_modules" / "axe-core" / "axe.min.js"
SERIOUS: Final = ("serious", "critical")
# what a page shows comes from the controller by way of the apiserver, on a machine that does other things too
expect.set_options(timeout=30_000)
WIDE: Final = {"width": 1400, "height": 900}


@asynccontextmanager
async def a_browser() -> AsyncIterator[Browser]:
    """A Chromium of this machine; without one the test is skipped, but not in CI, which has to bring one."""
    found = browser.find()
    if found is None and not os.environ.get("CI"):
        pytest.skip("there is no Chromium here: python -m tests.support.browser installs one by apt")
    assert found is not None, "CI has no Chromium: python -m tests.support.browser installs one by apt"
    async with async_playwright() as playwright:
        started = await playwright.chromium.launch(executable_path=found, args=list(browser.FLAGS))
        try:
            yield started
        finally:
            await started.close()


@dataclass(slots=True)
class Looking:
    """Somebody before the page: `page` is their tab, `told` what its console said that was no good."""

    context: BrowserContext
    page: Page
    base: str
    told: list[str] = field(default_factory=list)

    async def go(self, path: str) -> None:
        """Look at a view."""
        await self.page.goto(self.base + path)

    def expects_refusals(self) -> None:
        """Take no offence at what the console said of answers that are refusals."""
        self.told = [one for one in self.told if "Failed to load resource" not in one]

    async def faults(self) -> list[str]:
        """What axe finds that is serious: the rule, and where."""
        # evaluated, not added as a script: the page's policy lets no other script run
        await self.page.evaluate(await asyncio.to_thread(AXE.read_text, "utf-8"))
        found: dict[str, Any] = await self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [
            f"{rule['id']}: {node['html'][:200]}"
            for rule in found["violations"]
            if rule["impact"] in SERIOUS
            for node in rule["nodes"]
        ]


@asynccontextmanager
async def looking(started: Browser, address: str, **options: Any) -> AsyncIterator[Looking]:
    """Open the address that lets in, in a profile of its own; fail where the console tells of errors or refusals."""
    context = await started.new_context(**{"viewport": WIDE, "locale": "en-GB", "timezone_id": "UTC", **options})
    try:
        page = await context.new_page()
        base = address.partition("/open")[0]
        somebody = Looking(context, page, base)
        page.on("console", lambda said: somebody.told.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: somebody.told.append(str(error)))
        await page.goto(address)
        yield somebody
        assert somebody.told == []
    finally:
        await context.close()
