"""`python -m tests.bench.start`: how soon a controller decides where many pods wait already, and what it costs then.

Beside it a program that lists and decodes the same pods and does nothing with them, in turn on one control plane. Both
are measured from the start of their process. A controller starts in two ways: after one that gave its Lease up; and
after one that may still have writes on their way, which it waits for before it lists anything.
"""

from __future__ import annotations

import asyncio
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import aiohttp
import click
import psutil

from controller.core.keys import GATE
from controller.kube import clock
from controller.kube.apply import apply
from controller.sandbox import Sandbox
from controller.sandbox.installation import CONTROLLER_ACCOUNT, NAMESPACE, Gate, controller_program, installed
from controller.sandbox.programs import Program
from tests.bench.burst import Load, create, prepare
from tests.bench.figures import Figure, tell
from tests.bench.gate import NODES, queue
from tests.support.leaders import delete_lease

_DECISIONS: Final = re.compile(rb"^penstock_decision_seconds_count (\S+)$", re.MULTILINE)
_QUEUES: Final = 20
_POLL_SECONDS: Final = 0.05
_LONGEST_SECONDS: Final = 120.0
_IDLE_SECONDS: Final = 20.0


@dataclass(frozen=True, slots=True)
class Measured:
    """Seconds until it is done, memory in MiB, and while nothing happens CPU time in ms a second."""

    seconds: float
    memory: float
    idle: float = 0.0


@click.command(context_settings={"show_default": True})
@click.option("--pods", type=click.IntRange(10, 200_000), default=50_000, help="Pods that wait.")
@click.option("--rounds", type=click.IntRange(1, 20), default=3, help="How often both are measured, in turn.")
@click.option("--check", is_flag=True, help="Fail where a figure exceeds its budget.")
def main(pods: int, rounds: int, check: bool) -> None:
    """Measure how a controller starts where many pods wait on this machine."""
    ours, crashed, bare = asyncio.run(_rounds(pods, rounds))
    tell(
        [
            Figure("start/first-decision", [one.seconds for one in ours], [one.seconds for one in bare], "s"),
            Figure("start/after-crash", crashed, [one.seconds for one in bare], "s"),
            Figure("start/memory", [one.memory for one in ours], [one.memory for one in bare], "MiB"),
            Figure("idle/cpu", [one.idle for one in ours], [1000.0] * len(ours), "ms/s"),
        ],
        check,
    )


async def _rounds(pods: int, rounds: int) -> tuple[list[Measured], list[float], list[Measured]]:
    """Return what a controller took after one that ended, seconds after one that crashed, and what a bare list took."""
    ours, crashed, bare = list[Measured](), list[float](), list[Measured]()
    async with Sandbox.start(node_shapes=[NODES]) as sandbox, sandbox.client() as client:
        await prepare(client)
        async with installed(sandbox, gate=Gate.POLICIES):
            pass  # what stays: kinds, rights and guards
        await apply(client, [one for number in range(_QUEUES) for one in queue(f"main-{number}", cpu="100m")])
        load = Load([f"main-{number}" for number in range(_QUEUES)], (GATE,), ())
        click.echo(f"creating {pods:,} pods", err=True)
        await create(client, (load.pod(f"pod-{number:06}", number) for number in range(pods)))
        kubeconfig = await sandbox.service_account_kubeconfig(NAMESPACE, CONTROLLER_ACCOUNT)
        for number in range(rounds):
            bare.append(await _bare(sandbox.kubeconfig, pods))
            await delete_lease(client)  # as if its holder had crashed
            crashed.append((await _ours(kubeconfig)).seconds)
            ours.append(await _ours(kubeconfig, idle_seconds=_IDLE_SECONDS))
            click.echo(
                f"round {number + 1}: {ours[-1].seconds:.1f} s to the first decision, {crashed[-1]:.1f} s after "
                f"a crash, {bare[-1].seconds:.1f} s to list",
                err=True,
            )
    return ours, crashed, bare


async def _bare(kubeconfig: Path, pods: int) -> Measured:
    start = clock.monotonic()
    command = [sys.executable, "-m", "tests.bench.lister", str(kubeconfig)]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    took = clock.monotonic() - start
    count, memory = output.split()
    assert int(count) >= pods
    return Measured(took, int(memory) / 1024)


async def _ours(kubeconfig: Path, idle_seconds: float = 0.0) -> Measured:
    """Start a controller, watch it doing nothing for so long, and stop it so that it gives its Lease up."""
    with TemporaryDirectory() as folder:
        program = controller_program(kubeconfig, Path(folder, "log"))
        start = clock.monotonic()
        program.start()
        try:
            await _until_decided(program, start)
            took = clock.monotonic() - start
            process = psutil.Process(program.process.pid)
            await asyncio.sleep(idle_seconds / 2)  # what follows the first decision ends
            before, memory = sum(process.cpu_times()[:2]), process.memory_info().rss
            await asyncio.sleep(idle_seconds)
            idle = 1000 * (sum(process.cpu_times()[:2]) - before) / idle_seconds if idle_seconds else 0.0
        finally:
            await program.stop()
    return Measured(took, memory / 2**20, idle)


async def _until_decided(program: Program, start: float) -> None:
    async with aiohttp.ClientSession() as session:
        while clock.monotonic() - start < _LONGEST_SECONDS:
            port = program.port("http")
            if port is not None and await _decisions(session, port) > 0:
                return
            await asyncio.sleep(_POLL_SECONDS)
    raise TimeoutError(program.tail())


async def _decisions(session: aiohttp.ClientSession, port: int) -> float:
    async with session.get(f"http://127.0.0.1:{port}/metrics") as answer:
        found = _DECISIONS.search(await answer.read())
    return float(found[1]) if found else 0.0


if __name__ == "__main__":
    main()
