"""One pod as a process: the command of its container, with the files, variables and account that the pod has."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from controller.kube.client import Client
from controller.sandbox import Sandbox, probe, process
from tests.support.machine.volumes import Missing, Volumes

Json = dict[str, Any]
ROOT = Path(__file__).resolve().parents[3]
_ADDRESS = re.compile(r"^(--[a-z-]*address)=:(\d+)$")


class PodProcess:
    """The process of a pod. `sources` says which folder has the programs of an image, by its tag."""

    def __init__(self, sandbox: Sandbox, client: Client, pod: Json, folder: Path, sources: Mapping[str, Path]) -> None:
        self._sandbox = sandbox
        self._pod = pod
        self._folder = folder
        self._container = pod["spec"]["containers"][0]
        self._volumes = Volumes(client, pod, folder)
        self._root = sources.get(self._container["image"].rpartition(":")[2], ROOT)
        self._process: subprocess.Popen[bytes] | None = None
        self.log = folder / "log"
        self.restarts = 0

    @property
    def name(self) -> str:
        """Of the pod."""
        return str(self._pod["metadata"]["name"])

    @property
    def exit_code(self) -> int | None:
        """What it ended with; None: it runs, or was not started yet."""
        return None if self._process is None else self._process.poll()

    async def start(self) -> bool:
        """Start it; False: what it needs is not there yet."""
        self._folder.mkdir(parents=True, exist_ok=True)
        try:
            await self._volumes.write()
            environment = await self._volumes.environment()
        except Missing:
            return False
        # `python -m` of the image is the interpreter of the tests
        command = [sys.executable, *self._container["command"][1:], *await self._arguments()]
        environment = {**os.environ, **environment, "PYTHONPATH": str(self._root)}
        self._process = process.spawn(command, log=self.log, folder=self._folder, environment=environment)
        return True

    async def refresh(self) -> None:
        """Write the files of its volumes anew."""
        await self._volumes.write()

    async def is_ready(self) -> bool:
        """Whether its readiness probe succeeds."""
        port = self.port("http")
        if port is None or self.exit_code is not None:
            return False
        return await asyncio.to_thread(probe.trouble, f"http://127.0.0.1:{port}/readyz") is None

    def port(self, what: str) -> int | None:
        """Where it listens for that, as it last logged it."""
        lines = self.log.read_bytes().splitlines() if self.log.exists() else []
        said = [orjson.loads(line) for line in lines if b'"listening"' in line and line.startswith(b"{")]
        return next((int(one["port"]) for one in reversed(said) if one.get("what") == what), None)

    async def end(self) -> None:
        """Let its preStop hook pass, then ask it to end, and wait until it has."""
        hook = self._container.get("lifecycle", {}).get("preStop", {})
        if self._process is None:
            return
        await asyncio.sleep(hook.get("sleep", {}).get("seconds", 0))
        self._process.send_signal(signal.SIGTERM)
        await asyncio.to_thread(self._process.wait, 20)

    def kill(self) -> None:
        """End it at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    async def _arguments(self) -> list[str]:
        """Those of the container, listening on free ports of loopback, as the account of the pod."""
        given = [self._volumes.translated(text) for text in self._container.get("args", ())]
        account = self._pod["spec"]["serviceAccountName"]
        kubeconfig = await self._sandbox.service_account_kubeconfig(self._pod["metadata"]["namespace"], account)
        given = [_ADDRESS.sub(r"\1=127.0.0.1:0", text) for text in given]
        if account == "penstock-controller" and self._container["name"] == "controller":
            given.append(f"--identity={self.name}")
        return [*given, f"--kubeconfig={kubeconfig}"]
