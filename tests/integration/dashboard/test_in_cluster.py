"""The page as it runs in a cluster: its program, people with tokens, and a server without rights."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import orjson
import pytest
from playwright.async_api import Browser, expect

from controller.sandbox.files import write_private
from controller.sandbox.programs import Program
from tests.support.clusters import Cluster
from tests.support.pages import looking
from tests.support.team import Team
from tests.support.viewers import a_viewing_account

pytestmark = pytest.mark.integration


@pytest.fixture
async def base(cluster: Cluster, tmp_path: Path) -> AsyncIterator[str]:
    """Where the program serves the page."""
    pair = cluster.sandbox.serving_certificate()
    certificate = write_private(tmp_path / "tls.crt", pair.certificate_pem)
    key = write_private(tmp_path / "tls.key", pair.key_pem)
    arguments = ["--kubeconfig", str(cluster.sandbox.kubeconfig), "--address", "127.0.0.1:0"]
    arguments += ["--http-address", "127.0.0.1:0", "--tls-cert", str(certificate), "--tls-key", str(key)]
    program = Program("controller.dashboard", arguments, tmp_path / "dashboard.log")
    program.start()
    try:
        await program.wait_ready()
        yield f"https://127.0.0.1:{program.port('page')}"
    finally:
        await program.stop()


async def a_token(team: Team) -> str:
    """A token of somebody who may view the team's namespace."""
    name = await a_viewing_account(team.client, team.namespace)
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    path = f"/api/v1/namespaces/{team.namespace}/serviceaccounts/{name}/token"
    return str(orjson.loads(await team.client.post(path, request))["status"]["token"])


async def test_people_sign_in_and_out_and_see_what_is_theirs(team: Team, chromium: Browser, base: str) -> None:
    await team.ready({"spot": {"cpu": 1}})
    await team.pod("first")
    await team.until_bound("first")
    await team.pod("waits")
    async with looking(chromium, base, ignore_https_errors=True) as somebody:
        page = somebody.page
        await page.get_by_label("Token").fill("not.a.token")
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_role("alert")).to_contain_text("does not accept this token")
        await page.get_by_label("Token").fill(await a_token(team))
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_role("heading", name="Overview")).to_be_visible()
        await somebody.go(f"/pods?namespace={team.namespace}")
        await expect(page.get_by_role("link", name="waits")).to_be_visible(timeout=30_000)
        (cookie,) = await somebody.context.cookies()
        assert (cookie["httpOnly"], cookie["secure"], cookie["sameSite"]) == (True, True, "Strict")
        assert await page.evaluate("document.cookie") == ""
        assert await somebody.faults() == []
        await page.get_by_role("button", name="Sign out").click()
        await expect(page.get_by_label("Token")).to_be_visible()
        await page.get_by_label("Token").fill(await a_token(team))
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_role("link", name="waits")).to_be_visible(timeout=30_000)
        # what is revoked is known to the apiserver for a moment longer
        await team.client.delete(f"/api/v1/namespaces/{team.namespace}/serviceaccounts/viewer")
        await expect(page.get_by_label("Token")).to_be_visible(timeout=60_000)
        somebody.expects_refusals()
