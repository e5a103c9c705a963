"""What the page shows of a real control plane, live."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from tests.support.pages import Looking
from tests.support.team import Team

pytestmark = pytest.mark.integration


async def a_queue_that_is_full(team: Team, waiting: int = 3) -> None:
    """One pod runs on all that there is, the others wait."""
    await team.ready({"spot": {"cpu": 1}})
    await team.pod("first")
    await team.until_bound("first")
    await team.pods(waiting, prefix="waits")


async def test_the_overview_shows_queues_and_follows_them(team: Team, admin_looks: Looking) -> None:
    await a_queue_that_is_full(team)
    page = admin_looks.page
    await admin_looks.go("/")
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name=team.full("cq"), exact=True)).first
    await expect(row.get_by_role("cell").nth(0)).to_have_text("3")
    await expect(row).to_contain_text("1/1")
    await team.pod("another")
    await expect(row.get_by_role("cell").nth(0)).to_have_text("4")
    await expect(page.get_by_role("table", name="Flavors")).to_contain_text(team.full("spot"))
    await expect(page.get_by_role("table", name="LocalQueues")).to_contain_text(team.namespace)


async def test_pods_stand_in_their_order_and_leave_when_they_go(team: Team, admin_looks: Looking) -> None:
    await a_queue_that_is_full(team)
    page = admin_looks.page
    await admin_looks.go(f"/pods?namespace={team.namespace}")
    links = page.get_by_role("table", name="Pods").get_by_role("link", name="waits-")
    await expect(links).to_have_count(3)
    await expect(page.get_by_role("status").filter(has_text="4 pods")).to_be_visible()
    await team.delete("waits-0")
    await expect(links).to_have_count(2)
    await expect(page.get_by_text("3 pods")).to_be_visible()


async def test_search_groups_and_filters_are_in_the_address(team: Team, admin_looks: Looking) -> None:
    await a_queue_that_is_full(team)
    page = admin_looks.page
    await admin_looks.go(f"/pods?namespace={team.namespace}")
    await expect(page.get_by_text("4 pods", exact=True)).to_be_visible()
    await page.keyboard.press("/")
    await page.keyboard.type("waits")
    await expect(page.get_by_text("3 of 4 pods")).to_be_visible()
    await page.get_by_label("Group by").select_option("Reason")
    await page.get_by_role("button", name="QuotaExceeded").click()
    await expect(page.get_by_role("button", name="Remove the filter reason:QuotaExceeded")).to_be_visible()
    address = page.url
    await page.goto("about:blank")
    await page.goto(address)
    await expect(page.get_by_text("3 of 4 pods")).to_be_visible()
    await expect(page.get_by_label("Search")).to_have_value("waits")
    await page.get_by_role("button", name="Remove the filter").click()
    await page.get_by_label("Search").fill("")
    await expect(page.get_by_text("4 pods", exact=True)).to_be_visible()


async def test_columns_sort_up_then_down_then_as_the_queue(team: Team, admin_looks: Looking) -> None:
    await a_queue_that_is_full(team)
    page = admin_looks.page
    await admin_looks.go(f"/pods?namespace={team.namespace}")
    names = page.get_by_role("table", name="Pods").get_by_role("link", name="-")
    heading = page.get_by_role("columnheader", name="Pod")
    await heading.get_by_role("button").click()
    await expect(heading).to_have_attribute("aria-sort", "ascending")
    await heading.get_by_role("button").click()
    await expect(heading).to_have_attribute("aria-sort", "descending")
    await expect(names.first).to_have_text("waits-2")
    await heading.get_by_role("button").click()
    await expect(heading).not_to_have_attribute("aria-sort", "descending")


async def test_a_pod_says_why_it_waits_and_what_would_admit_it(team: Team, admin_looks: Looking) -> None:
    await a_queue_that_is_full(team)
    page = admin_looks.page
    await admin_looks.go(f"/pods/{team.namespace}/waits-0")
    await expect(page.get_by_role("list", name="What happened")).to_contain_text("Created")
    why = page.get_by_role("region", name="Why it waits")
    await expect(why).to_contain_text("QuotaExceeded")
    await expect(why.get_by_role("table", name="What is short")).to_contain_text("cpu")
    helps = page.get_by_role("region", name="What would admit it")
    await expect(helps).to_contain_text("Each of these was tried")
    await team.delete("first")
    await expect(page.get_by_role("list", name="What happened")).to_contain_text("Admitted", timeout=30_000)
    await expect(why).to_have_count(0)


async def test_a_pod_that_is_gone_is_found_in_the_history(team: Team, admin_looks: Looking) -> None:
    await a_queue_that_is_full(team)
    await team.delete("first")
    page = admin_looks.page
    await admin_looks.go(f"/pods/{team.namespace}/first")
    await expect(page.get_by_text("There is no pod of this name now.")).to_be_visible()
    await expect(page.get_by_role("table")).to_contain_text("Deleted", timeout=30_000)


async def test_a_queue_shows_reasons_and_its_pods_alone(team: Team, admin_looks: Looking) -> None:
    await a_queue_that_is_full(team)
    page = admin_looks.page
    await admin_looks.go(f"/queues/{team.full('cq')}")
    await expect(page.get_by_role("table", name="Why pods wait")).to_contain_text("QuotaExceeded")
    links = page.get_by_role("table", name="Pods", exact=True).get_by_role("link", name="waits-")
    await expect(links).to_have_count(3)
    await expect(page.get_by_role("figure")).to_contain_text(f"{team.full('spot')} cpu", timeout=30_000)


async def test_nodes_are_coloured_by_what_is_free(team: Team, admin_looks: Looking) -> None:
    await team.ready({"spot": {"cpu": 8}})
    page = admin_looks.page
    await admin_looks.go("/nodes")
    region = page.get_by_role("region", name=f"Flavor {team.full('spot')}")
    cell = region.get_by_role("button").first
    await expect(cell).to_have_attribute("data-level", "5")
    await team.pod("half", cpu="4")
    await expect(cell).to_have_attribute("data-level", "3")
    await cell.click()
    await expect(page.get_by_role("table")).to_contain_text("Used by pods of queues")


async def test_a_change_is_simulated_beside_the_setup_as_it_is(team: Team, admin_looks: Looking) -> None:
    await a_queue_that_is_full(team)
    page = admin_looks.page
    await admin_looks.go("/what-if?hours=1")
    await page.get_by_label("Of", exact=True).fill(f"{team.full('cq')}/{team.full('spot')}/cpu")
    await page.get_by_label("To", exact=True).fill("+2")
    await page.get_by_role("button", name="Add").click()
    await page.get_by_role("button", name="Simulate").click()
    outcome = page.get_by_role("row").filter(has_text=team.full("cq"))
    await expect(outcome).to_contain_text("→", timeout=60_000)
    await page.get_by_role("button", name="Remove").click()
    await page.get_by_label("Of", exact=True).fill("nobody/spot/cpu")
    await page.get_by_label("To", exact=True).fill("+2")
    await page.get_by_role("button", name="Add").click()
    await page.get_by_role("button", name="Simulate").click()
    await expect(page.get_by_role("alert")).to_contain_text("nobody", timeout=60_000)
    admin_looks.told.clear()  # the browser tells of the refusal, too


async def test_an_address_that_means_nothing_says_why(admin_looks: Looking) -> None:
    await admin_looks.go("/pods?sort=size")
    await expect(admin_looks.page.get_by_role("alert")).to_contain_text("there is no such column")
    admin_looks.told.clear()  # the browser tells of the refusal, too


async def test_the_menu_keeps_the_namespace(team: Team, admin_looks: Looking) -> None:
    await a_queue_that_is_full(team)
    page = admin_looks.page
    await admin_looks.go(f"/?namespace={team.namespace}")
    await expect(page.get_by_role("link", name="3 pending")).to_be_visible()
    await page.get_by_role("navigation").get_by_role("link", name="Pods").click()
    await expect(page.get_by_text("4 pods", exact=True)).to_be_visible()


async def test_usage_is_added_up_and_runs_are_listed(team: Team, admin_looks: Looking) -> None:
    await a_queue_that_is_full(team)
    await team.delete("first")
    page = admin_looks.page
    await admin_looks.go(f"/usage?namespace={team.namespace}&by=namespace")
    await expect(page.get_by_role("table", name="What became of pods")).to_contain_text("Deleted", timeout=30_000)
    await page.reload()
    await expect(page.get_by_role("table", name="Hours and cost")).to_contain_text(team.namespace)
