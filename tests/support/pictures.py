"""Pictures of the page for the documents, and whether one looks like another.

`python -m tests.support.pictures` takes them anew, `make pictures`; a test compares them with what the page shows.
"""

from __future__ import annotations

import asyncio
import io
import re
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
from PIL import Image
from playwright.async_api import Page, expect

from controller.dashboard.loopback import opened
from controller.demo import workload, world
from controller.demo.prepare import until_usable
from controller.kube.apply import apply
from controller.kube.client import MERGE_PATCH
from controller.sandbox import Sandbox
from tests.support.clusters import Cluster, a_cluster
from tests.support.pages import a_browser, looking

FOLDER: Final = Path(__file__).resolve().parents[2] / "docs" / "screens"
SIZE: Final = {"width": 1200, "height": 760}
_PODS: Final = 80
_SEED: Final = 1
_CELL: Final = 8
"""Pixels of a side: of texts that change, such as ages, little is left in cells of this size."""

_PENDING: Final = re.compile(r"^[1-9]\d* pending")


async def _overview(page: Page) -> None:
    await expect(page.get_by_role("link", name=_PENDING)).to_be_visible()
    await expect(page.get_by_role("table", name="LocalQueues")).to_be_visible()


async def _queue(page: Page) -> None:
    await expect(page.get_by_role("figure")).to_be_visible(timeout=120_000)
    await expect(page.get_by_role("table", name="Why pods wait")).to_be_visible(timeout=120_000)


async def _pod(page: Page) -> None:
    await expect(page.get_by_text("more nodes of flavor spot")).to_be_visible(timeout=120_000)


async def _nodes(page: Page) -> None:
    await page.get_by_role("button", name="spot-0").click()
    await expect(page.get_by_role("table")).to_be_visible()


VIEWS: Final[dict[str, tuple[str, Callable[[Page], Any]]]] = {
    "overview": ("/", _overview),
    "queue": ("/queues/team-a", _queue),
    "pod": ("/pods/team-a/batch-0079", _pod),
    "nodes": ("/nodes", _nodes),
}
"""Each picture: the address of a view, and what waits until all of it is there."""


@contextmanager
def a_still_cluster() -> Iterator[Cluster]:
    """The queues of the demo, in which nothing ends."""
    with a_cluster(components=["visibility"]) as cluster:
        asyncio.run(_fill(cluster.sandbox))
        yield cluster


async def _fill(sandbox: Sandbox) -> None:
    here = world.of_sandbox("pictures")
    await sandbox.add_nodes(*world.NODE_SHAPES)
    objects = world.objects(here)
    (root,) = (one for one in objects if one["kind"] == "ClusterQueue" and "parent" not in one["spec"])
    path = f"/apis/penstock.dev/v1alpha1/clusterqueues/{root['metadata']['name']}"
    async with sandbox.client() as client:
        await apply(client, objects)
        await until_usable(client, here)
        # all of them wait before the first is admitted, so that their order is the same on a busy machine
        await client.patch(path, {"spec": {"stopPolicy": "Hold"}}, content_type=MERGE_PATCH)
        for pod in workload.pods(here, _PODS, _SEED):
            pod["metadata"]["annotations"] = {"run-for": "10h", "penstock.dev/expected-runtime": "10h"}
            await client.post(f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods", pod)
        await client.patch(path, {"spec": {"stopPolicy": "None"}}, content_type=MERGE_PATCH)


@asynccontextmanager
async def _looked_at(cluster: Cluster) -> AsyncIterator[tuple[Page, str]]:
    async with (
        opened(0, str(cluster.sandbox.kubeconfig)) as address,
        a_browser() as browser,
        looking(browser, address, viewport=SIZE, color_scheme="light") as somebody,
    ):
        yield somebody.page, somebody.base


async def take(cluster: Cluster) -> dict[str, bytes]:
    """Take all pictures, as PNG."""
    taken = {}
    async with _looked_at(cluster) as (page, base):
        for name, (path, until_there) in VIEWS.items():
            await page.goto(base + path)
            await until_there(page)
            taken[name] = await page.screenshot(animations="disabled", caret="hide")
    return taken


def unlikeness(one: bytes, other: bytes) -> float:
    """Return the part of the cells that look clearly different, 0 to 1; pictures of other sizes: 1."""
    cells, others = _cells(one), _cells(other)
    if cells.shape != others.shape:
        return 1.0
    return float((np.abs(cells - others) > 48).mean())


def _cells(picture: bytes) -> np.ndarray[Any, Any]:
    with Image.open(io.BytesIO(picture)) as image:
        small = image.convert("L").resize((image.width // _CELL, image.height // _CELL), Image.Resampling.BOX)
        return np.asarray(small, dtype=np.int16)


def main() -> None:
    """Take them anew."""
    with a_still_cluster() as cluster:
        for name, picture in asyncio.run(take(cluster)).items():
            (FOLDER / f"{name}.png").write_bytes(picture)
            sys.stdout.write(f"{FOLDER / name}.png\n")


if __name__ == "__main__":
    main()
