"""A control plane of the version that a test names, on which Penstock's pods are processes."""

from __future__ import annotations

import io
import subprocess
import tarfile
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
import yaml

from controller.sandbox import Sandbox
from tests.integration.installing.site import Site
from tests.support.documented import ROOT
from tests.support.installers import Terminal
from tests.support.machine.kubelet_api import serving_logs
from tests.support.machine.node import Machine
from tests.support.machine.way_in import WayIn
from tests.support.team import Team


@pytest.fixture(scope="session")
def previous() -> Iterator[tuple[str, Path]]:
    """The last release: its version, and its files."""
    last = yaml.safe_load((ROOT / "deploy" / "releases.yaml").read_text())[-1]
    command = ["git", "-C", str(ROOT), "archive", last["commit"], "config", "controller", "webhook", "deploy"]
    done = subprocess.run(command, capture_output=True, check=True)
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
            archive.extractall(folder, filter="data")
        yield last["version"], Path(folder)


@pytest.fixture
def site(previous: tuple[str, Path]) -> Callable[[str], AbstractAsyncContextManager[Site]]:
    """Start a control plane of a version of Kubernetes with a team on it."""
    version, files = previous

    @asynccontextmanager
    async def start(kubernetes: str) -> AsyncIterator[Site]:
        # paths of sockets are short
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            async with on_machine(folder, kubernetes, {version: files}) as (sandbox, team):
                (folder / "work").mkdir()
                yield Site(sandbox, team, Terminal(sandbox, folder / "work"), files, version)

    return start


@asynccontextmanager
async def on_machine(folder: Path, kubernetes: str, sources: Mapping[str, Path]) -> AsyncIterator[tuple[Sandbox, Team]]:
    """A sandbox whose apiserver reaches the pods of its machine, and a team that is not opened."""
    way = WayIn(folder)
    async with (
        Sandbox.start(kubernetes=kubernetes, apiserver_flags=way.apiserver_flags) as sandbox,
        sandbox.client() as client,
        Machine(sandbox, client, folder / "pods", sources).running() as machine,
        serving_logs(sandbox, folder, machine.named) as kubelet,
        way.open(machine.process, kubelet),
    ):
        yield sandbox, Team(client, sandbox)
