"""`python -m tests.bench.drain`: how fast a queue that drains returns its pods, beside a program that only evicts.

On one control plane both take turns. The program asks the Eviction API for all pods of a load, so many at a time as
Penstock does; Penstock also writes on each pod who evicts it and why. Both are measured until no pod is left.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import click

from controller.kube import clock
from controller.kube.apply import apply
from controller.kube.client import MERGE_PATCH, Client
from controller.sandbox import Sandbox
from controller.sandbox.installation import Gate, installed
from tests.bench.burst import Load, create, prepare
from tests.bench.figures import Figure, tell
from tests.bench.gate import NODES, PODS, WRITE, all_run, are_gone, counted, queue, until_at_rest
from tests.support.eventually import eventually

_QUEUE: Final = "/apis/penstock.dev/v1alpha1/clusterqueues/main"
_AT_ONCE: Final = 4
"""As many evictions as Penstock has under way."""
_GO_SECONDS: Final = 300


@dataclass(frozen=True, slots=True)
class Measured:
    """Pods a second until the last is gone, and writes a pod."""

    pace: float
    writes: float


@click.command(context_settings={"show_default": True})
@click.option("--pods", type=click.IntRange(10, 5_000), default=500, help="Pods of each load.")
@click.option("--rounds", type=click.IntRange(1, 20), default=3, help="How often both are measured, in turn.")
@click.option("--check", is_flag=True, help="Fail where a figure exceeds its budget.")
def main(pods: int, rounds: int, check: bool) -> None:
    """Measure how a queue drains on this machine."""
    ours, bare = asyncio.run(_rounds(pods, rounds))
    tell(
        [
            Figure("drain/pace", [one.pace for one in ours], [one.pace for one in bare], "pods/s"),
            Figure("drain/writes", [one.writes for one in ours], [one.writes for one in bare], "a pod"),
        ],
        check,
    )


async def _rounds(pods: int, rounds: int) -> tuple[list[Measured], list[Measured]]:
    ours, bare = list[Measured](), list[Measured]()
    async with Sandbox.start(node_shapes=[NODES]) as sandbox, sandbox.client() as client:
        await prepare(client)
        for number in range(rounds):
            names = await _running(client, Load((), (), ()), pods)
            bare.append(await _until_gone(client, names, partial(_evict, client, names)))
            async with installed(sandbox, gate=Gate.POLICIES):
                await apply(client, queue(allowBarePods=True, stopPolicy="None"))
                names = await _running(client, Load(("main",), (), ()), pods)
                ours.append(await _until_gone(client, names, partial(_drain, client)))
            click.echo(f"round {number + 1}: {ours[-1].pace:.0f} pods/s of {bare[-1].pace:.0f}", err=True)
    return ours, bare


async def _running(client: Client, load: Load, count: int) -> Sequence[str]:
    names = [f"pod-{number:06}" for number in range(count)]
    await create(client, (load.pod(name, number) for number, name in enumerate(names)))
    await eventually(partial(all_run, client), seconds=60 + count / 5, message="pods do not run")
    await until_at_rest(client, WRITE)
    return names


async def _until_gone(client: Client, names: Sequence[str], begin: Callable[[], Awaitable[None]]) -> Measured:
    written, start = await counted(client, WRITE), clock.monotonic()
    await begin()
    await eventually(partial(are_gone, client), seconds=_GO_SECONDS, message="pods do not go")
    took = clock.monotonic() - start
    return Measured(len(names) / took, (await until_at_rest(client, WRITE) - written) / len(names))


async def _evict(client: Client, names: Sequence[str]) -> None:
    left = iter(names)

    async def work() -> None:
        for name in left:
            body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
            await client.post(f"{PODS}/{name}/eviction", body)

    async with asyncio.TaskGroup() as group:
        for _ in range(_AT_ONCE):
            group.create_task(work())


async def _drain(client: Client) -> None:
    await client.patch(_QUEUE, {"spec": {"stopPolicy": "HoldAndDrain"}}, content_type=MERGE_PATCH)


if __name__ == "__main__":
    main()
