"""Penstock as it runs, with a history in a file: one control plane for the tests of this folder."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.clusters import Cluster, a_cluster
from tests.support.command import Done, penstock
from tests.support.viewers import Viewers, viewers

LABEL = "example.com/project"
"""Which label of pods it keeps."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A cluster, and the file of its history."""

    cluster: Cluster
    file: Path

    async def ask(self, *arguments: str) -> Done:
        """Run a command that reads the history."""
        return await penstock(self.cluster.sandbox, *arguments, "--history", f"sqlite:///{self.file}")


@pytest.fixture(scope="package")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    """A control plane whose controller keeps a history, and serves the API."""
    file = tmp_path_factory.mktemp("history") / "history.db"
    arguments = ["--history", f"sqlite:///{file}", "--history-labels", LABEL]
    with a_cluster(components=["visibility"], controller_arguments=arguments) as cluster:
        yield Kept(cluster, file)


@pytest.fixture(scope="package")
def cluster(kept: Kept) -> Cluster:
    """The cluster alone."""
    return kept.cluster


@pytest.fixture
async def people(cluster: Cluster) -> AsyncIterator[Viewers]:
    """Those who ask."""
    async with viewers(cluster.sandbox) as people:
        yield people
