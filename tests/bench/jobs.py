"""`python -m tests.bench.jobs`: Jobs until all their pods are bound, without a queue, as a whole, and pod by pod.

One control plane, and on it the three loads in turn. Rates and writes are told beside those without a queue in the same
round: what the machine does meanwhile is in both. Writes are those of pods, Jobs and Events.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import click
import orjson

from controller.kube import clock
from controller.kube.apply import apply
from controller.kube.client import Client
from controller.sandbox import Sandbox
from controller.sandbox.installation import Gate
from tests.bench.figures import Figure, tell
from tests.bench.gate import NAMESPACE, NODES, POLL_SECONDS, counted, kept, until_at_rest, watching
from tests.support.eventually import eventually
from tests.support.existence import until_takes_pods

Json = dict[str, Any]
LOADS: Final = ("no queue", "whole", "pod by pod")
_JOBS: Final = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"
_PODS: Final = f"/api/v1/namespaces/{NAMESPACE}/pods"
_DONE: Final = rb'^apiserver_request_total\{(?=[^}]*code="2)(?=[^}]*dry_run="")'
_BOUND: Final = re.compile(
    _DONE + rb'(?=[^}]*resource="pods")(?=[^}]*subresource="binding")[^}]*\} (\S+)$', re.MULTILINE
)
_WRITE: Final = re.compile(
    _DONE + rb'(?=[^}]*resource="(?:pods|events|jobs)")(?=[^}]*verb="(?:POST|PUT|PATCH|APPLY)")[^}]*\} (\S+)$',
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Figures:
    """Pods bound a second, and writes a pod until nothing more is written."""

    pace: float
    writes: float


@click.command(context_settings={"show_default": True})
@click.option("--jobs", type=click.IntRange(1, 1_000), default=40, help="Jobs of each load.")
@click.option("--width", type=click.IntRange(1, 1_000), default=50, help="Pods of each Job.")
@click.option("--rounds", type=click.IntRange(1, 20), default=3, help="How often each load is measured, in turn.")
@click.option("--check", is_flag=True, help="Fail where a figure exceeds its budget.")
def main(jobs: int, width: int, rounds: int, check: bool) -> None:
    """Measure how fast the pods of Jobs come to nodes on this machine, and what is written for them."""
    found = asyncio.run(_rounds(jobs, width, rounds))
    tell([figure for name in LOADS[1:] for figure in _figures(name, found[name], found[LOADS[0]])], check)


def _figures(name: str, found: Sequence[Figures], base: Sequence[Figures]) -> list[Figure]:
    load = f"jobs/{name.replace(' ', '-')}"
    return [
        Figure(f"{load}/pace", [one.pace for one in found], [one.pace for one in base], "pods/s"),
        Figure(f"{load}/writes", [one.writes for one in found], [one.writes for one in base], "a pod"),
    ]


async def _rounds(jobs: int, width: int, rounds: int) -> dict[str, list[Figures]]:
    found: dict[str, list[Figures]] = {name: [] for name in LOADS}
    async with Sandbox.start(node_shapes=[NODES]) as sandbox, sandbox.client() as client:
        await apply(client, [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}, *watching()])
        await until_takes_pods(client, NAMESPACE)
        for number in range(rounds):
            for name in (*LOADS[number % 3 :], *LOADS[: number % 3]):  # each is first at times
                async with _in_load(sandbox, client, name) as (own, inside):
                    await _measured(client, own, inside, 2, 5)
                    figures = await _measured(client, own, inside, jobs, width)
                found[name].append(figures)
                click.echo(f"round {number + 1}, {name}: {figures.pace:.0f} pods/s, {figures.writes:.2f}", err=True)
    return found


@asynccontextmanager
async def _in_load(sandbox: Sandbox, client: Client, name: str) -> AsyncIterator[tuple[Json, Json]]:
    """The labels of a Job and of its template, while there is a queue with room for all where they name one."""
    if name == LOADS[0]:
        yield {"app": "bench"}, {}
        return
    async with kept(sandbox, client, Gate.POLICIES) as queued:
        yield ({"app": "bench", **queued}, {}) if name == LOADS[1] else ({"app": "bench"}, queued)


async def _measured(client: Client, own: Json, inside: Json, jobs: int, width: int) -> Figures:
    count = jobs * width
    bound, written, start = await counted(client, _BOUND), await counted(client, _WRITE), clock.monotonic()
    await asyncio.gather(*(client.post(_JOBS, _job(f"job-{number}", own, inside, width)) for number in range(jobs)))

    async def all_bound() -> bool:
        await asyncio.sleep(POLL_SECONDS)
        return await counted(client, _BOUND) - bound >= count

    await eventually(all_bound, seconds=60 + count / 5, message="pods are not bound")
    took = clock.monotonic() - start
    at_rest = await until_at_rest(client, _WRITE)
    await _clear(client)
    return Figures(count / took, (at_rest - written) / count)


def _job(name: str, own: Mapping[str, str], inside: Mapping[str, str], width: int) -> Json:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "100m"}}}
    template = {
        "metadata": {"labels": dict(inside), "annotations": {"run-for": "1h"}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    spec = {"parallelism": width, "completions": width, "template": template}
    return {"metadata": {"name": name, "labels": dict(own)}, "spec": spec}


async def _clear(client: Client) -> None:
    await client.delete(_JOBS, params={"propagationPolicy": "Background"})
    await client.delete(_PODS, params={"gracePeriodSeconds": "0"})

    async def are_gone() -> bool:
        await asyncio.sleep(POLL_SECONDS)
        left: Sequence[Json] = orjson.loads(await client.get(_PODS, {"limit": "1"}))["items"]
        return not left

    await eventually(are_gone, seconds=240, message="pods do not go")


if __name__ == "__main__":
    main()
