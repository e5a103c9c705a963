"""One more apiserver on the etcd of a sandbox, as each node of a control plane has one; a test may kill it.

The sandbox's own one it cannot do this to: a sandbox ends with its apiserver.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import psutil

from controller.sandbox import Sandbox, binaries, probe, process
from controller.sandbox.layout import Layout
from controller.sandbox.spec import load_state
from tests.support.eventually import eventually
from tests.support.kubeconfigs import leading_to
from tests.support.kubernetes import VERSION
from tests.support.ports import free_port

_PROGRAM = "kube-apiserver"
_START_SECONDS = 120.0


class Apiserver:
    """One process, which ends with the test."""

    def __init__(self, name: str, url: str, arguments: Sequence[str], layout: Layout) -> None:
        self.name, self.url = name, url
        self.log = layout.log(f"{_PROGRAM}-{name}")
        self._arguments, self._layout = arguments, layout
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, also again."""
        environment = {"PATH": os.defpath, "HOME": str(self._layout.folder), "TZ": "UTC"}
        self._process = process.spawn(
            self._arguments, log=self.log, folder=self._layout.folder, environment=environment
        )

    async def until_ready(self) -> None:
        """Wait until it takes requests."""

        async def is_ready() -> bool:
            assert self._process is not None, f"apiserver {self.name} was not started"
            code = self._process.poll()
            if code is not None:
                raise RuntimeError(f"{self.name} ended with {code}: {self.log.read_text()[-2000:]}")
            admin = self._layout.pki / "admin"
            why = await asyncio.to_thread(probe.trouble, f"{self.url}/readyz", ca=self._layout.ca, client=admin)
            assert why is None, why
            return True

        await eventually(is_ready, seconds=_START_SECONDS, message=f"apiserver {self.name} is not ready")

    def kill(self) -> None:
        """End it as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def kubeconfig(self, original: Path) -> Path:
        """A copy of a kubeconfig of the sandbox that leads here."""
        return leading_to(self.url, original, self._layout.kubeconfigs / f"{original.name}-at-{self.name}")


@asynccontextmanager
async def another_apiserver(
    sandbox: Sandbox, name: str, *, kubernetes: str = VERSION, etcd: str = ""
) -> AsyncIterator[Apiserver]:
    """Start one beside that of the sandbox, by the same command but for its version, and wait until it is ready.

    `etcd`: the way to etcd, where that is another one.
    """
    layout = Layout(sandbox.folder)
    # all are built, where they are missing, which takes minutes
    programs = await asyncio.to_thread(binaries.ensure, kubernetes=kubernetes)
    port = free_port()
    other = {"secure-port": str(port), "audit-log-path": str(layout.log(f"audit-{name}"))}
    other |= {"etcd-servers": etcd} if etcd else {}
    arguments = [programs[_PROGRAM], *_changed(_flags(layout), other)]
    apiserver = Apiserver(name, f"https://127.0.0.1:{port}", arguments, layout)
    apiserver.start()
    try:
        await apiserver.until_ready()
        yield apiserver
    finally:
        apiserver.kill()


def etcd_of(sandbox: Sandbox) -> str:
    """Where the sandbox's own apiserver finds etcd."""
    flags = dict(flag.removeprefix("--").split("=", 1) for flag in _flags(Layout(sandbox.folder)))
    return flags["etcd-servers"]


def _flags(layout: Layout) -> list[str]:
    """The flags that the sandbox's own apiserver was started with."""
    state = load_state(layout)
    assert state is not None, "the sandbox does not run"
    (pid,) = (one.process.pid for one in state.components if one.name == _PROGRAM)
    return psutil.Process(pid).cmdline()[1:]


def _changed(flags: Sequence[str], other: Mapping[str, str]) -> list[str]:
    """The flags with other values, of those that are there."""
    named = ((flag, flag.removeprefix("--").partition("=")[0]) for flag in flags)
    return [f"--{name}={other[name]}" if name in other else flag for flag, name in named]
