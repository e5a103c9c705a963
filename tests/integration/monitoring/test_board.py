"""The boards beside a demo that runs: Prometheus answers each panel, and the panels are drawn."""

from __future__ import annotations

import asyncio
import math
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import orjson
import pytest

from controller.kube import clock
from deploy.observability.catalog import BOARDS
from tests.support.board_picture import Found, ask, draw
from tests.support.eventually import eventually
from tests.support.prometheus_server import Prometheus, scraping
from tests.support.sandbox import CommandLine

pytestmark = [pytest.mark.integration, pytest.mark.more, pytest.mark.timeout(1800)]

FILLED = ("overview", "queues")
"""Boards of which a demo without faults, budgets and preemption fills every panel."""


@pytest.fixture
async def recorded(tmp_path: Path) -> AsyncIterator[tuple[Prometheus, float]]:
    """A demo from its beginning to its end, as Prometheus has it; and when it began, in epoch seconds."""
    line, start = CommandLine(tmp_path), clock.now()
    command = [sys.executable, "-m", "controller.cli", "demo"]
    settings = {**os.environ, "XDG_STATE_HOME": str(tmp_path)}
    output = (tmp_path / "demo.log").open("wb")
    demo = await asyncio.create_subprocess_exec(*command, env=settings, stdout=output, stderr=output)
    try:
        addresses = await eventually(lambda: listening(tmp_path), seconds=120, message="the demo does not begin")
        async with scraping(addresses, tmp_path) as server:
            assert await demo.wait() == 0, (tmp_path / "demo.log").read_text()
            yield server, start
    finally:
        output.close()
        if demo.returncode is None:
            demo.kill()
        await asyncio.to_thread(line.run, "sandbox", "down", "--all")


def listening(folder: Path) -> list[str]:
    """Where the programs of a sandbox serve their metrics."""
    found = []
    for name in ("controller", "webhook"):
        (log,) = folder.glob(f"**/penstock-{name}.log")
        entries = map(orjson.loads, log.read_bytes().splitlines())
        (port,) = [one["port"] for one in entries if one["event"] == "listening" and one["what"] == "http"]
        found.append(f"127.0.0.1:{port}")
    return found


def has_values(found: Found) -> bool:
    return any(math.isfinite(value) for lines in found.values() for _, values in lines for _, value in values)


async def test_a_demo_fills_the_boards(recorded: tuple[Prometheus, float], tmp_path: Path) -> None:
    server, start = recorded
    empty = dict[str, set[str]]()
    for board in BOARDS:
        found = await ask(board, server, start, clock.now())
        empty[board.uid] = {panel.title for panel, one in found if not has_values(one)}
        picture = tmp_path / f"{board.uid}.svg"
        draw(board, found, picture)
        draw(board, found, picture.with_suffix(".png"))
        assert picture.read_text("utf-8").count('<g id="axes_') == len(found)
    assert [empty[name] for name in FILLED] == [set(), set()]
