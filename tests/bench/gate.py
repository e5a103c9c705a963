"""`make bench-gate`: what it costs the apiserver to keep the gate, by the webhook and by its own policies.

One control plane, and on it in turn pods of no queue (the ceiling) and pods of one queue in either mode, all from their
creation until they run and nothing more is written of them. What counts is CPU time of the apiserver's process, for
pods per second move with whatever else the machine does; and both are told in proportion to the ceiling of the run.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any, Final

import click
import orjson
import psutil

from controller.core.keys import QUEUE_NAME
from controller.kube import clock
from controller.kube.apply import apply
from controller.kube.client import Client
from controller.sandbox import NodeShape, Sandbox, launch
from controller.sandbox.installation import Gate, installed
from tests.support.creating import create_all
from tests.support.eventually import eventually
from tests.support.existence import until_takes_pods

Json = dict[str, Any]
MODES: Final[dict[str, Gate | None]] = {"ceiling": None, "webhook": Gate.WEBHOOK, "policies": Gate.POLICIES}
"""What keeps the gate; in the first nothing of Penstock is there but its kinds, and pods name no queue."""

NAMESPACE: Final = "bench"
PODS: Final = f"/api/v1/namespaces/{NAMESPACE}/pods"
NODES: Final = NodeShape("node", 100, "64", "256Gi")
_CLIENTS: Final = 8
_AT_REST_SECONDS: Final = 2.0
POLL_SECONDS: Final = 0.25
_WARMING: Final = 50
WRITE: Final = re.compile(
    rb'^apiserver_request_total\{(?=[^}]*code="2)(?=[^}]*dry_run="")(?=[^}]*resource="(?:pods|events)")'
    rb'(?=[^}]*verb="(?:POST|PUT|PATCH|APPLY)")[^}]*\} (\S+)$',
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one load: CPU time of the apiserver in milliseconds a pod, pods a second, and writes a pod."""

    cpu: float
    pace: float
    writes: float

    def of(self, ceiling: Figures) -> Figures:
        """The same in proportion to the ceiling's; writes as how many more there are."""
        return Figures(self.cpu / ceiling.cpu, self.pace / ceiling.pace, self.writes - ceiling.writes)


@click.command(context_settings={"show_default": True})
@click.option("--pods", type=click.IntRange(1, 5_000), default=800, help="Pods of each load.")
@click.option("--rounds", type=click.IntRange(1, 20), default=3, help="How often each load is measured, in turn.")
@click.option("--mode", "modes", type=click.Choice(list(MODES)), multiple=True, help="Only these; the ceiling always.")
def main(pods: int, rounds: int, modes: Sequence[str]) -> None:
    """Measure what keeping the gate costs the apiserver of this machine."""
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    click.echo(f"{os.cpu_count()} cores, load {load}, {pods} pods, {_CLIENTS} clients, median of {rounds} rounds\n")
    chosen = [name for name, gate in MODES.items() if gate is None or not modes or name in modes]
    found = asyncio.run(_rounds(chosen, pods, rounds))
    click.echo(
        f"{'gate':<10} {'cpu ms a pod':>13} {'of ceiling':>11} {'pods/s':>8} {'of ceiling':>11} {'writes a pod':>13}"
    )
    for name, figures in found.items():
        _tell(name, figures, found["ceiling"])


def _tell(name: str, figures: Sequence[Figures], ceilings: Sequence[Figures]) -> None:
    """Proportions are of the same round, so that what the machine did then is in both."""
    pairs = [one.of(ceiling) for one, ceiling in zip(figures, ceilings, strict=True)]

    def middle(of: Sequence[Figures], value: Callable[[Figures], float]) -> float:
        return median(value(one) for one in of)

    click.echo(
        f"{name:<10} {middle(figures, lambda one: one.cpu):>13.1f} {middle(pairs, lambda one: one.cpu):>11.2f} "
        f"{middle(figures, lambda one: one.pace):>8.0f} {middle(pairs, lambda one: one.pace):>11.2f} "
        f"{middle(figures, lambda one: one.writes):>13.2f}"
    )


async def _rounds(modes: Sequence[str], pods: int, rounds: int) -> dict[str, list[Figures]]:
    found: dict[str, list[Figures]] = {name: [] for name in modes}
    async with Sandbox.start(node_shapes=[NODES]) as sandbox, sandbox.client() as client:
        await apply(client, [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}, *watching()])
        await until_takes_pods(client, NAMESPACE)
        process = apiserver(sandbox)
        for number in range(rounds):
            for name in (*modes[number % len(modes) :], *modes[: number % len(modes)]):  # each is first at times
                async with kept(sandbox, client, MODES[name]) as labels:
                    await _warm(client, labels)
                    figures = await _measured(client, process, labels, pods)
                found[name].append(figures)
                click.echo(f"round {number + 1}, {name}: {figures.cpu:.1f} ms, {figures.pace:.0f} pods/s", err=True)
    return found


def apiserver(sandbox: Sandbox) -> psutil.Process:
    components = launch.running_state(sandbox.name).components
    return psutil.Process(next(one.process.pid for one in components if one.name == "kube-apiserver"))


@asynccontextmanager
async def kept(sandbox: Sandbox, client: Client, gate: Gate | None) -> AsyncIterator[dict[str, str]]:
    """The labels that a pod is given, while the gate is kept so and there is a queue with room for all."""
    if gate is None:
        yield {}
        return
    async with installed(sandbox, gate=gate):
        await apply(client, queue())
        yield {QUEUE_NAME: "main"}


def watching() -> list[Json]:
    """A policy that matches nothing and reads Leases, as the fence does: without it the apiserver would stop to look at
    Leases when the first installation goes, and never begin again (kubernetes/kubernetes#130887)."""
    group, name = "admissionregistration.k8s.io", "bench-watches-leases"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["bindings"]}
    policy = {
        "paramKind": {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"},
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": "true"}],
    }
    of_no_name = {"name": "none", "namespace": NAMESPACE, "parameterNotFoundAction": "Allow"}
    binding = {"policyName": name, "paramRef": of_no_name, "validationActions": ["Deny"]}
    kinds = {"ValidatingAdmissionPolicy": policy, "ValidatingAdmissionPolicyBinding": binding}
    return [
        {"apiVersion": f"{group}/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}
        for kind, spec in kinds.items()
    ]


def queue(name: str = "main", cpu: str = "1000", **spec: Any) -> list[Json]:
    """A LocalQueue of this name with a ClusterQueue of its own, which `spec` is laid over."""
    version, group = "penstock.dev/v1alpha1", {"name": "cpu", "nominalQuota": cpu}
    inside: Json = {"namespaceSelector": {}, "flavors": [{"name": "any", "resources": [group]}], **spec}
    return [
        {"apiVersion": version, "kind": "ResourceFlavor", "metadata": {"name": "any"}, "spec": {}},
        {"apiVersion": version, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": inside},
        {
            "apiVersion": version,
            "kind": "LocalQueue",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"clusterQueue": name},
        },
    ]


async def _measured(client: Client, apiserver: psutil.Process, labels: dict[str, str], count: int) -> Figures:
    before, written, start = spent(apiserver), await counted(client, WRITE), clock.monotonic()
    await _create(client, labels, count)
    await eventually(partial(all_run, client), seconds=60 + count / 5, message="pods do not run")
    took = clock.monotonic() - start
    at_rest = await until_at_rest(client, WRITE)
    cpu = spent(apiserver) - before
    await clear(client)
    return Figures(1000 * cpu / count, count / took, (at_rest - written) / count)


async def _warm(client: Client, labels: dict[str, str]) -> None:
    """Let everybody see a few pods: what is compiled or connected at the first belongs to no load."""
    await _create(client, labels, _WARMING)
    await eventually(partial(all_run, client), seconds=60, message="pods do not run")
    await until_at_rest(client, WRITE)
    await clear(client)


async def _create(client: Client, labels: dict[str, str], count: int) -> None:
    pods = (a_pod(f"pod-{number:04}", {"app": "bench", **labels}) for number in range(count))
    await create_all(client, PODS, pods, at_once=_CLIENTS)


def a_pod(name: str, labels: Mapping[str, str], cpu: str = "100m", **spec: Any) -> Json:
    """A pod that asks for so much cpu."""
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}
    return {"metadata": {"name": name, "labels": dict(labels)}, "spec": {"containers": [container], **spec}}


async def all_run(client: Client) -> bool:
    """Whether no pod is left that does not run; AssertionError names the state of one that is."""
    left = await _items(client, {"fieldSelector": "status.phase!=Running", "limit": "1"})
    assert not left, left[0]["status"]
    return True


async def clear(client: Client) -> None:
    await client.delete(PODS, params={"gracePeriodSeconds": "0"})

    await eventually(partial(are_gone, client), seconds=120, message="pods do not go")


async def are_gone(client: Client) -> bool:
    """Whether there is no pod."""
    return not await _items(client, {"limit": "1"})


async def _items(client: Client, params: dict[str, str]) -> list[Json]:
    found: list[Json] = orjson.loads(await client.get(PODS, params))["items"]
    await asyncio.sleep(POLL_SECONDS)  # a list costs the apiserver too
    return found


async def until_at_rest(client: Client, written: re.Pattern[bytes]) -> int:
    """Wait until the requests of this pattern have not grown in number for a while; return it."""
    last = await counted(client, written)
    while True:
        await asyncio.sleep(_AT_REST_SECONDS)
        if (now := await counted(client, written)) == last:
            return now
        last = now


async def counted(client: Client, pattern: re.Pattern[bytes]) -> int:
    """Return how many requests of this pattern the apiserver has served."""
    return sum(int(float(count)) for count in pattern.findall(await client.get("/metrics")))


def spent(process: psutil.Process) -> float:
    """Return the CPU time of a process in seconds."""
    times = process.cpu_times()
    return times.user + times.system


if __name__ == "__main__":
    main()
