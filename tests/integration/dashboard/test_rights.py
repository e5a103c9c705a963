"""The page shows what its viewer may see, and says whom to ask for the rest."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from controller.dashboard.loopback import opened
from controller.sandbox import Sandbox
from tests.support.clusters import Cluster
from tests.support.pages import looking
from tests.support.team import Team
from tests.support.viewers import a_viewing_account

pytestmark = pytest.mark.integration


async def a_viewer(cluster: Cluster, team: Team) -> Path:
    """The kubeconfig of a ServiceAccount that has the role view in the team's namespace."""
    name = await a_viewing_account(team.client, team.namespace)
    return await cluster.sandbox.service_account_kubeconfig(team.namespace, name)


async def test_who_may_see_one_namespace_sees_it(cluster: Cluster, team: Team, chromium: Browser) -> None:
    await team.ready({"spot": {"cpu": 1}})
    await team.pod("first")
    await team.until_bound("first")
    await team.pod("waits")
    kubeconfig = await a_viewer(cluster, team)
    async with opened(0, str(kubeconfig)) as address, looking(chromium, address) as somebody:
        page = somebody.page
        await somebody.go("/pods")
        await expect(page.get_by_role("alert")).to_contain_text("penstock-visibility-viewer", timeout=30_000)
        await page.get_by_label("Namespace", exact=True).fill(team.namespace)
        await expect(page.get_by_role("link", name="waits")).to_be_visible(timeout=30_000)
        await page.get_by_role("link", name="waits").click()
        await expect(page.get_by_text("QuotaExceeded").first).to_be_visible(timeout=30_000)
        await somebody.go("/what-if?change=lost:spot")
        await page.get_by_role("button", name="Simulate").click()
        await expect(page.get_by_role("alert")).to_contain_text("penstock-visibility-simulator")
        somebody.expects_refusals()


async def test_without_the_address_nobody_is_let_in(address: str, chromium: Browser) -> None:
    base = address.partition("/open")[0]
    async with looking(chromium, base) as somebody:
        await expect(somebody.page.get_by_text("penstock dashboard")).to_be_visible()
        somebody.expects_refusals()


async def test_a_cluster_without_the_api_says_how_to_serve_it(sandbox: Sandbox, chromium: Browser) -> None:
    async with opened(0, str(sandbox.kubeconfig)) as address, looking(chromium, address) as somebody:
        await expect(somebody.page.get_by_role("alert").first).to_contain_text(
            "visibility.enabled=true", timeout=30_000
        )
