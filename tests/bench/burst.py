"""`make bench`: pods created at once, until all are released: how fast, how long each waits, and what is written.

The ceiling is a program that releases whatever it sees and decides nothing. On one control plane the ceiling and both
ways to keep the gate take turns, so that what else the machine does is in all of them.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import click
import psutil

from controller.core.keys import QUEUE_NAME
from controller.kube import clock
from controller.kube.apply import apply
from controller.kube.client import Client
from controller.sandbox import Sandbox
from controller.sandbox.installation import Gate, installed
from tests.bench.figures import Figure, tell
from tests.bench.gate import (
    NAMESPACE,
    NODES,
    PODS,
    WRITE,
    a_pod,
    clear,
    counted,
    queue,
    spent,
    until_at_rest,
    watching,
)
from tests.bench.releaser import GATE, READY
from tests.bench.waits import Waits, quantile
from tests.support.creating import create_all
from tests.support.existence import until_takes_pods

Json = dict[str, Any]
MODES: Final = {"policies": Gate.POLICIES, "webhook": Gate.WEBHOOK}
CEILING: Final = "ceiling"
_CLIENTS: Final = 32
_WARMING: Final = 50


@dataclass(frozen=True, slots=True)
class Measured:
    """Of one burst: pods a second, waits in seconds, writes a pod, and CPU time of its programs in ms a pod."""

    pace: float
    p50: float
    p99: float
    writes: float
    cpu: float


@dataclass(frozen=True, slots=True)
class Load:
    """How pods are made to wait, and whose CPU time counts."""

    queues: Sequence[str]
    gates: Sequence[str]
    programs: Sequence[psutil.Process]

    def pod(self, name: str, number: int) -> Json:
        """A pod of one of the queues, in turn."""
        labels = {QUEUE_NAME: self.queues[number % len(self.queues)]} if self.queues else {"app": "bench"}
        return a_pod(name, labels, schedulingGates=[{"name": gate} for gate in self.gates])


@click.command(context_settings={"show_default": True})
@click.option("--pods", type=click.IntRange(10, 5_000), default=2_000, help="Pods of each burst.")
@click.option("--queues", type=click.IntRange(1, 100), default=1, help="Over how many queues they are spread.")
@click.option("--rounds", type=click.IntRange(1, 20), default=3, help="How often each load is measured, in turn.")
@click.option("--check", is_flag=True, help="Fail where a figure exceeds its budget.")
def main(pods: int, queues: int, rounds: int, check: bool) -> None:
    """Measure bursts of pods on this machine."""
    found = asyncio.run(_rounds(pods, queues, rounds))
    tell([figure for mode in MODES for figure in _figures(mode, queues, found[mode], found[CEILING])], check)


def _figures(mode: str, queues: int, found: Sequence[Measured], ceiling: Sequence[Measured]) -> list[Figure]:
    name = f"burst/{mode}" if queues == 1 else f"burst-{queues}-queues/{mode}"
    parts = (("pace", "pods/s"), ("p50", "s"), ("p99", "s"), ("writes", "a pod"), ("cpu", "ms a pod"))
    called = {"p50": "wait-p50", "p99": "wait-p99"}
    return [
        Figure(
            f"{name}/{called.get(part, part)}",
            [getattr(one, part) for one in found],
            [getattr(one, part) for one in ceiling],
            unit,
        )
        for part, unit in parts
    ]


async def _rounds(pods: int, queues: int, rounds: int) -> dict[str, list[Measured]]:
    modes = (CEILING, *MODES)
    found: dict[str, list[Measured]] = {name: [] for name in modes}
    async with Sandbox.start(node_shapes=[NODES]) as sandbox, sandbox.client() as client:
        await prepare(client)
        for number in range(rounds):
            for name in (*modes[number % 3 :], *modes[: number % 3]):  # each is first at times
                async with loaded(sandbox, client, name, queues) as load:
                    await _burst(client, load, _WARMING)
                    measured = await _burst(client, load, pods)
                found[name].append(measured)
                click.echo(
                    f"round {number + 1}, {name}: {measured.pace:.0f} pods/s, waits p50 {measured.p50:.2f} s and p99 "
                    f"{measured.p99:.2f} s, {measured.writes:.2f} writes a pod",
                    err=True,
                )
    return found


async def prepare(client: Client) -> None:
    """Make the namespace, and keep the apiserver looking at Leases."""
    await apply(client, [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}, *watching()])
    await until_takes_pods(client, NAMESPACE)


@asynccontextmanager
async def loaded(sandbox: Sandbox, client: Client, name: str, queues: int = 1) -> AsyncIterator[Load]:
    """The load of a mode: its programs run while the block does."""
    if name == CEILING:
        async with _releaser(sandbox) as process:
            yield Load((), (GATE,), (process,))
        return
    async with installed(sandbox, gate=MODES[name]) as programs:
        names = [f"main-{number}" for number in range(queues)]
        await apply(client, [one for number in names for one in queue(number)])
        running = (programs.controller, programs.webhook) if MODES[name] is Gate.WEBHOOK else (programs.controller,)
        yield Load(names, (), [psutil.Process(one.process.pid) for one in running])


@asynccontextmanager
async def _releaser(sandbox: Sandbox) -> AsyncIterator[psutil.Process]:
    command = [sys.executable, "-m", "tests.bench.releaser", str(sandbox.kubeconfig), NAMESPACE]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert (await process.stdout.readline()).decode().strip() == READY
        yield psutil.Process(process.pid)
    finally:
        process.terminate()
        await process.wait()


async def _burst(client: Client, load: Load, count: int) -> Measured:
    waits = Waits("pod-")
    before, written = sum(map(spent, load.programs)), await counted(client, WRITE)
    async with waits.watching(client, PODS):
        start = clock.monotonic()
        await create(client, [load.pod(f"pod-{number:05}", number) for number in range(count)])
        await waits.until(lambda: len(waits.released) >= count, 30 + count / 20)
        took = clock.monotonic() - start
    at_rest = await until_at_rest(client, WRITE)
    cpu = sum(map(spent, load.programs)) - before
    await clear(client)
    seconds = waits.seconds
    return Measured(
        count / took, quantile(seconds, 0.5), quantile(seconds, 0.99), (at_rest - written) / count, 1000 * cpu / count
    )


async def create(client: Client, pods: Iterable[Json]) -> None:
    """Create pods, as many at once as there are clients."""
    await create_all(client, PODS, pods, at_once=_CLIENTS)


if __name__ == "__main__":
    main()
