"""The page for everybody: by keyboard and screen reader, on phones, in the dark, with names that mean harm."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, expect

from tests.support.pages import Looking, looking
from tests.support.team import Team

pytestmark = pytest.mark.integration

PHONE = {"width": 360, "height": 740}
LONG = "n" * 253
SCRIPT = "<img src=x onerror=alert(1)><script>alert(2)</script>"
ARABIC = "مستخدم"


async def views(team: Team) -> dict[str, str]:
    """The address of each view, and what it shows when all of it has come."""
    await team.ready({"spot": {"cpu": 1}})
    await team.pod("first")
    await team.until_bound("first")
    await team.pod("waits")
    space, queue = team.namespace, team.full("cq")
    return {
        f"/?namespace={space}": queue,
        f"/pods?namespace={space}": "2 pods",
        f"/pods?namespace={space}&group=state": "Pods by state",
        f"/queues/{queue}?namespace={space}": "Why pods wait",
        f"/pods/{space}/waits": "Each of these was tried",
        "/nodes": team.full("spot"),
        f"/usage?namespace={space}": "What became of pods",
        "/what-if": "Nothing in the cluster changes",
    }


async def until_shown(somebody: Looking, path: str, text: str) -> None:
    await somebody.go(path)
    await expect(somebody.page.get_by_text(text).first).to_be_visible(timeout=30_000)


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_axe_finds_nothing_serious(team: Team, chromium: Browser, address: str, scheme: str) -> None:
    async with looking(chromium, address, color_scheme=scheme) as somebody:
        for path, text in (await views(team)).items():
            await until_shown(somebody, path, text)
            assert await somebody.faults() == [], path


async def test_a_phone_shows_every_view_without_moving_it_sideways(team: Team, chromium: Browser, address: str) -> None:
    async with looking(chromium, address, viewport=PHONE, has_touch=True) as somebody:
        for path, text in (await views(team)).items():
            await until_shown(somebody, path, text)
            width = await somebody.page.evaluate("document.documentElement.scrollWidth")
            assert width <= PHONE["width"], path


async def test_all_of_it_is_reached_by_keys(team: Team, admin_looks: Looking) -> None:
    await views(team)
    page = admin_looks.page
    await until_shown(admin_looks, f"/pods?namespace={team.namespace}", "2 pods")
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    await page.keyboard.press("Enter")
    for _ in range(20):
        await page.keyboard.press("Tab")
        if await page.get_by_role("link", name="waits", exact=True).evaluate("one => one === document.activeElement"):
            break
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="Pod waits")).to_be_visible()


async def test_names_are_shown_as_text_whatever_they_say(team: Team, chromium: Browser, address: str) -> None:
    await team.ready({"spot": {"cpu": 1}})
    await team.pod("first")
    await team.until_bound("first")
    await team.pod(LONG)
    for name, user in (("harm", SCRIPT), ("arabic", ARABIC)):
        await team.pod(name, annotations={"penstock.dev/held": f"by {user}: {user}"})
    async with looking(chromium, address) as somebody:
        page = somebody.page
        page.on("dialog", lambda dialog: somebody.told.append(dialog.message))
        await until_shown(somebody, f"/pods/{team.namespace}/harm", "Why it waits")
        await expect(page.get_by_text(SCRIPT).first).to_be_visible()
        await until_shown(somebody, f"/pods/{team.namespace}/arabic", ARABIC)
        for path in (f"/pods?namespace={team.namespace}", f"/pods/{team.namespace}/{LONG}"):
            await until_shown(somebody, path, LONG)
            width = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert width <= 0, path


async def test_a_long_table_draws_only_what_is_in_sight(team: Team, admin_looks: Looking) -> None:
    await team.ready({"spot": {"cpu": 1}})
    await team.pod("first")
    await team.until_bound("first")
    await team.pods(450, prefix="w")
    page = admin_looks.page
    await until_shown(admin_looks, f"/pods?namespace={team.namespace}", "451 pods")
    table = page.get_by_role("table", name="Pods")
    await expect(table).to_have_attribute("aria-rowcount", "452")
    assert await table.get_by_role("row").count() < 80
    await table.evaluate("one => { one.scrollTop = one.scrollHeight }")
    await expect(table.get_by_role("link", name="first")).to_be_visible()
    await table.evaluate("one => { one.scrollTop = 0 }")
    await expect(table.get_by_role("cell", name="1", exact=True)).to_be_visible()
