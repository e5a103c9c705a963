"""`python -m tests.bench.flood`: what one user's flood of pods does to how long the pods of another wait.

Another user creates a pod now and then. Meanwhile somebody creates pods at a fixed rate: of no queue, which is what the
apiserver alone makes of it, and of a queue of their own that admits none. Both take turns on one control plane.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from statistics import median
from typing import Final

import click

from controller.core.keys import QUEUE_NAME
from controller.kube import clock
from controller.kube.apply import apply
from controller.kube.client import Client
from controller.sandbox import Sandbox
from controller.sandbox.installation import Gate, installed
from tests.bench.burst import prepare
from tests.bench.figures import Figure, tell
from tests.bench.gate import NODES, PODS, a_pod, clear, queue
from tests.bench.waits import Waits

KINDS: Final[Mapping[str, Mapping[str, str]]] = {"of no queue": {"app": "flood"}, "queued": {QUEUE_NAME: "flooded"}}
_PAUSE_SECONDS: Final = 0.5
_LONGEST_SECONDS: Final = 120.0


@click.command(context_settings={"show_default": True})
@click.option("--rate", type=click.IntRange(1, 1_000), default=50, help="Pods a second of the flood.")
@click.option("--pods", type=click.IntRange(10, 1_000), default=40, help="Pods of the other user in each round.")
@click.option("--rounds", type=click.IntRange(1, 20), default=3, help="How often each flood is measured, in turn.")
@click.option("--check", is_flag=True, help="Fail where a figure exceeds its budget.")
def main(rate: int, pods: int, rounds: int, check: bool) -> None:
    """Measure what a flood does to others on this machine."""
    found = asyncio.run(_rounds(rate, pods, rounds))
    tell([Figure("flood/wait-p50", found["queued"], found["of no queue"], "s")], check)


async def _rounds(rate: int, pods: int, rounds: int) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {name: [] for name in KINDS}
    async with Sandbox.start(node_shapes=[NODES]) as sandbox, sandbox.client() as client:
        await prepare(client)
        async with installed(sandbox, gate=Gate.POLICIES):
            await apply(client, [*queue("main"), *queue("flooded", stopPolicy="Hold")])
            await _waits(client, 10)
            for number in range(rounds):
                for name in sorted(KINDS, reverse=number % 2 == 1):
                    async with _flood(client, KINDS[name], rate):
                        wait = await _waits(client, pods)
                    await clear(client)
                    found[name].append(wait)
                    click.echo(f"round {number + 1}, flood {name}: p50 {1000 * wait:.1f} ms", err=True)
    return found


@asynccontextmanager
async def _flood(client: Client, labels: Mapping[str, str], rate: int) -> AsyncIterator[None]:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(_create(client, labels, rate), name="flood")
        yield
        task.cancel()


async def _create(client: Client, labels: Mapping[str, str], rate: int) -> None:
    """Create pods when it is their time, whether those before are there or not."""
    begin, number = clock.monotonic(), 0
    async with asyncio.TaskGroup() as group:
        while True:
            await asyncio.sleep(max(0.0, begin + number / rate - clock.monotonic()))
            group.create_task(client.post(PODS, a_pod(f"flood-{number:06}", labels, "1m")), name=f"flood-{number}")
            number += 1


async def _waits(client: Client, count: int) -> float:
    """Create pods of the other user one after the other; return the median of their waits in seconds."""
    waits = Waits("calm-")
    async with waits.watching(client, PODS):
        for number in range(count):
            await client.post(PODS, a_pod(f"calm-{number}", {QUEUE_NAME: "main"}, "1m"))
            await asyncio.sleep(_PAUSE_SECONDS)
        await waits.until(lambda: len(waits.released) >= count, _LONGEST_SECONDS)
    await _delete(client, count)
    return median(waits.seconds)


async def _delete(client: Client, count: int) -> None:
    """Delete the pods of the other user."""
    for number in range(count):
        await client.delete(f"{PODS}/calm-{number}", {"gracePeriodSeconds": 0})


if __name__ == "__main__":
    main()
