"""Penstock as it runs, with a file of receivers: one control plane for the tests of this folder."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.clusters import Cluster, a_cluster
from tests.support.eventually import eventually
from tests.support.notices import a_file, a_receiver, a_route
from tests.support.receiving import Receiver, a_server
from tests.support.team import Team

ALL = {"events": ["Admitted", "Late", "Evicted", "BudgetUsed"], "budgetPercents": [50, 100]}


@dataclass(frozen=True, slots=True)
class Notified:
    """A cluster, and the folder of the file that says who is notified."""

    cluster: Cluster
    folder: Path


@dataclass(frozen=True, slots=True)
class Told:
    """What has come of a team, to a program and to a chat."""

    server: Receiver

    async def event(self, type_: str, seconds: float = 60, *, most: int = 1) -> dict[str, Any]:
        """Wait for a CloudEvent of a type, such as `workload.late`, and return the first; there are at most so many."""

        def came() -> dict[str, Any]:
            found = {one["id"]: one for one in self.server.on("/hook") if one["type"] == f"dev.penstock.{type_}.v1"}
            assert 1 <= len(found) <= most, sorted(found)
            return next(iter(found.values()))

        return await eventually(came, seconds=seconds, message=f"no event {type_} came")

    async def line(self, begin: str, seconds: float = 40) -> str:
        """Wait for a line in the chat that begins so, and return it."""

        def came() -> str:
            found = [one for one in self.lines if one.startswith(begin)]
            assert found, self.lines
            return found[0]

        return await eventually(came, seconds=seconds, message=f"no line {begin} came")

    @property
    def lines(self) -> list[str]:
        """All that the chat has."""
        return [line for one in self.server.on("/chat") for line in one["text"].splitlines()]


@pytest.fixture(scope="package")
def notified(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notified]:
    """A control plane whose controller notifies; there is no file yet."""
    folder = tmp_path_factory.mktemp("notifications")
    with a_cluster(controller_arguments=["--notifications", str(folder / "notifications.yaml")]) as cluster:
        yield Notified(cluster, folder)


@pytest.fixture(scope="package")
def cluster(notified: Notified) -> Cluster:
    """The cluster alone."""
    return notified.cluster


@pytest.fixture
async def told(notified: Notified, team: Team) -> AsyncIterator[Told]:
    """All that happens in the team's namespace is told, to a program and to a chat."""
    async with a_server() as server:
        hook, chat = team.full("hook"), team.full("chat")
        receivers = [
            a_receiver(hook, url=server.url("/hook")),
            a_receiver(chat, url=server.url("/chat"), format="Slack"),
        ]
        body = {"receivers": receivers, "routes": [a_route(hook, chat, **ALL, namespaces=[team.namespace])]}
        await asyncio.to_thread(a_file, notified.folder, body)
        log = notified.cluster.programs.controller.log

        async def is_read() -> bool:
            return any(
                "notifications_read" in line and hook in line
                for line in (await asyncio.to_thread(log.read_text)).splitlines()
            )

        assert await eventually(is_read, message="the file was not read")
        yield Told(server)
