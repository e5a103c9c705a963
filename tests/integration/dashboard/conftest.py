"""The page over a real control plane, in a real browser: one control plane for the tests of this folder."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from playwright.async_api import Browser

from controller.dashboard.loopback import opened
from tests.support.clusters import Cluster, a_cluster
from tests.support.pages import Looking, a_browser, looking


@pytest.fixture(scope="package")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A control plane whose controller serves the API, and keeps a history."""
    history = tmp_path_factory.mktemp("history") / "history.db"
    with a_cluster(components=["visibility"], controller_arguments=["--history", f"sqlite:///{history}"]) as cluster:
        yield cluster


@pytest.fixture
async def chromium() -> AsyncIterator[Browser]:
    """A browser."""
    async with a_browser() as started:
        yield started


@pytest.fixture
async def address(cluster: Cluster) -> AsyncIterator[str]:
    """The address of the page of an administrator."""
    async with opened(0, str(cluster.sandbox.kubeconfig)) as address:
        yield address


@pytest.fixture
async def admin_looks(chromium: Browser, address: str) -> AsyncIterator[Looking]:
    """An administrator before the page."""
    async with looking(chromium, address) as somebody:
        yield somebody
