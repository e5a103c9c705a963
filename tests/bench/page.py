"""`python -m tests.bench.page`: what the page sends and how soon it shows a change, with many pods that wait.

A real control plane with Penstock on it, and Chromium. Windows in which somebody looks at all pods, and in which nobody
does, take turns; in each a pod ends every second, and it is measured how long its successor waits for the release.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from statistics import median
from time import perf_counter
from typing import Any

import aiohttp
import click
import orjson
from playwright.async_api import Page, expect

from controller.dashboard.loopback import opened
from tests.support.clusters import Cluster, a_cluster
from tests.support.eventually import eventually
from tests.support.pages import Looking, a_browser, looking
from tests.support.team import Team

_AT_ONCE = 100
_SLOTS = 40
_ENDS = 15
"""In one window."""
_CHANGES = 10
_TOTAL = re.compile(r"^\d+ pods$")


async def _fill(cluster: Cluster, pods: int) -> Team:
    """Let so many pods wait in ten LocalQueues behind those that run."""
    async with cluster.sandbox.client() as client:
        team = Team(client, cluster.sandbox)
        await team.open()
        await team.nodes("spot", cpu=str(_SLOTS))
        await team.flavor("spot")
        await team.cluster_queue({"spot": {"cpu": _SLOTS}})
        for number in range(10):
            await team.local_queue(f"queue-{number}")
        for begin in range(0, pods + _SLOTS, _AT_ONCE):
            part = range(begin, min(begin + _AT_ONCE, pods + _SLOTS))
            await asyncio.gather(*(_pod(team, f"pod-{one}", one) for one in part))
    await asyncio.sleep(10)
    return team


async def _pod(team: Team, name: str, number: int) -> None:
    await team.pod(name, "1", queue=f"queue-{number % 10}", annotations={"run-for": "10h"})


@asynccontextmanager
async def _somebody(cluster: Cluster) -> AsyncIterator[Looking]:
    async with (
        opened(0, str(cluster.sandbox.kubeconfig)) as address,
        a_browser() as browser,
        looking(browser, address) as somebody,
    ):
        yield somebody


async def _first_view(somebody: Looking) -> None:
    """Say what is sent until the first rows are there."""
    sizes: list[float] = []
    streams: set[str] = set()

    def received(event: dict[str, Any]) -> None:
        """A stream does not finish, and is not compressed."""
        if event["requestId"] in streams:
            sizes.append(event["dataLength"])

    def responded(event: dict[str, Any]) -> None:
        if event["response"]["mimeType"] == "text/event-stream":
            streams.add(event["requestId"])

    session = await somebody.context.new_cdp_session(somebody.page)
    await session.send("Network.enable")
    session.on("Network.responseReceived", responded)
    session.on("Network.dataReceived", received)
    session.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    await session.send("Network.setCacheDisabled", {"cacheDisabled": True})
    began = perf_counter()
    await somebody.go("/pods")
    row = somebody.page.get_by_role("table", name="Pods").get_by_role("row").nth(1)
    await expect(row).to_be_visible(timeout=60_000)
    seconds = perf_counter() - began
    await asyncio.sleep(0.2)
    click.echo(f"first view: {sum(sizes) / 1000:.0f} kB, first row after {seconds:.2f} s")


async def _changes(team: Team, page: Page) -> None:
    """Say how long after its creation a pod is counted on the page."""
    found = []
    for number in range(_CHANGES):
        total = int((await page.get_by_text(_TOTAL).inner_text()).split()[0])
        began = perf_counter()
        await _pod(team, f"late-{number}", number)
        await expect(page.get_by_text(f"{total + 1} pods", exact=True)).to_be_visible(timeout=30_000)
        found.append(perf_counter() - began)
    click.echo(f"a change is shown after {median(found):.2f} s (median of {_CHANGES}), at most {max(found):.2f} s")


class _Decisions:
    """What the controller says of its decisions, and how soon a successor is released."""

    def __init__(self, cluster: Cluster, team: Team) -> None:
        self._url = f"http://127.0.0.1:{cluster.programs.controller.port('http')}/metrics"
        self._team = team
        self._running: list[str] = []

    async def window(self) -> tuple[float, float]:
        """End a pod every second; return the mean of decisions, and the median until a successor is bound."""
        before, waits = await self._totals(), []
        for _ in range(_ENDS):
            known = await self._bound()
            began = perf_counter()
            await self._team.delete(min(known))
            await eventually(partial(self._others, known), message="no successor")
            waits.append(perf_counter() - began)
            await asyncio.sleep(1)
        after = await self._totals()
        return (after[0] - before[0]) / max(1.0, after[1] - before[1]), median(waits)

    async def _others(self, known: set[str]) -> set[str]:
        return await self._bound() - known

    async def _bound(self) -> set[str]:
        params = {"fieldSelector": "spec.nodeName!="}
        found = orjson.loads(await self._team.client.get(self._team.pods_path, params))
        return {one["metadata"]["name"] for one in found["items"]}

    async def _totals(self) -> tuple[float, float]:
        async with aiohttp.ClientSession() as session, session.get(self._url) as answer:
            lines = (await answer.text()).splitlines()
        values = {line.split()[0]: float(line.split()[1]) for line in lines if line.startswith("penstock_decision")}
        return values["penstock_decision_seconds_sum"], values["penstock_decision_seconds_count"]


async def _run(cluster: Cluster, pods: int, rounds: int) -> None:
    made = await _fill(cluster, pods)
    async with cluster.sandbox.client() as client:
        made.client = client
        async with _somebody(cluster) as somebody:
            await _first_view(somebody)
            await _changes(made, somebody.page)
        decisions, found = _Decisions(cluster, made), dict[str, list[tuple[float, float]]]()
        for _ in range(rounds):
            found.setdefault("nobody looks", []).append(await decisions.window())
            async with _somebody(cluster) as somebody:
                await somebody.go("/pods")
                await asyncio.sleep(3)
                found.setdefault("somebody looks", []).append(await decisions.window())
            for name, windows in found.items():
                mean, wait = windows[-1]
                load = os.getloadavg()[0]
                click.echo(
                    f"{name:>14}: decisions {mean * 1000:.2f} ms, successor bound after {wait:.2f} s; load {load:.1f}"
                )
        for index, what in enumerate(("decisions", "until a successor is bound")):
            without, beside = ([one[index] for one in windows] for windows in found.values())
            ratios = [one / other for one, other in zip(beside, without, strict=True)]
            click.echo(f"{what}: {median(ratios):.2f} of those while nobody looks (median of {rounds})")


@click.command(context_settings={"show_default": True})
@click.option("--pods", default=10_000, help="That wait.")
@click.option("--rounds", default=3, help="Windows of each kind.")
def main(pods: int, rounds: int) -> None:
    """Measure the page with many pods that wait."""
    with a_cluster(components=["visibility"]) as cluster:
        asyncio.run(_run(cluster, pods, rounds))


if __name__ == "__main__":
    main()
