"""Controllers that are started again when they end, as a kubelet does it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from controller.kube.client import Client
from controller.sandbox.programs import Program
from tests.support.leaders import delete_lease, holder

TWO = ("one", "two")
SHORT_LEASE = ("--lease-seconds", "6")
_AGAIN_SECONDS = 0.5


class Controllers:
    """By name. All but the first know the cluster while they stand by."""

    def __init__(
        self,
        client: Client,
        kubeconfig: Path,
        folder: Path,
        names: Sequence[str] = TWO,
        options: Sequence[str] = SHORT_LEASE,
    ) -> None:
        self._client = client
        self._programs: dict[str, Program] = {}
        for name in names:
            arguments = ["--kubeconfig", str(kubeconfig), "--http-address", "127.0.0.1:0", "--identity", name]
            arguments += ["--visibility-address", "127.0.0.1:0"] if name != names[0] else []
            arguments += options
            self._programs[name] = Program("tests.faults.seeds.jumping", arguments, folder / f"{name}.log")

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Controllers]:
        """Have both run from now on."""
        for program in self._programs.values():
            program.start()
        try:
            async with asyncio.TaskGroup() as group:
                watching = group.create_task(self._start_again(), name="kubelet")
                await next(iter(self._programs.values())).wait_ready()
                yield self
                watching.cancel()
        finally:
            for program in self._programs.values():
                program.kill()
            await delete_lease(self._client)

    async def _start_again(self) -> None:
        while True:
            await asyncio.sleep(_AGAIN_SECONDS)
            for program in self._programs.values():
                if program.exit_code is not None:
                    program.start()

    async def leader(self) -> Program:
        """The one that holds the Lease; the first where nobody does."""
        name = (await holder(self._client)).partition("_")[0]
        return self._programs.get(name) or next(iter(self._programs.values()))

    async def kill(self) -> None:
        """Kill the leader."""
        (await self.leader()).kill()

    async def stop(self) -> None:
        """Ask the leader to end."""
        (await self.leader()).process.send_signal(signal.SIGTERM)

    async def pause(self, seconds: float) -> None:
        """Let the leader stand still."""
        paused = (await self.leader()).process
        paused.send_signal(signal.SIGSTOP)
        try:
            await asyncio.sleep(seconds)
        finally:
            paused.send_signal(signal.SIGCONT)
