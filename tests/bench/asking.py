"""`python -m tests.bench.asking`: how long `penstock pods -A` and `explain` take by the visibility API, and without.

A real control plane with Penstock on it, and so many pods that wait. The commands take turns, so that a core that is
shared is shared by all of them; each is a process of its own, from its start to its end.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from statistics import median
from time import perf_counter

import click

from controller.extension_api.paths import ROOT
from controller.sandbox import Sandbox
from tests.support.clusters import a_cluster
from tests.support.team import Team

_AT_ONCE = 100
_SETTLE_SECONDS = 10


def commands(namespace: str, pods: int) -> dict[str, list[str]]:
    """What is measured, by name; explained is a pod in the middle of its line."""
    penstock = [sys.executable, "-m", "controller.cli"]
    name = f"pod-{pods // 2}"
    explain = [*penstock, "explain", f"pod/{name}", "-n", namespace]
    explanation = f"{ROOT}/namespaces/{namespace}/explanations/pod.{name}"
    return {
        "pods by the API": [*penstock, "pods", "-A"],
        "pods without the API": [*penstock, "pods", "-A", "--without-api"],
        "kubectl get queuepods": ["kubectl", "get", "queuepods", "-A"],
        "kubectl get pods": ["kubectl", "get", "pods", "-A"],
        "explain by the API": explain,
        "explain without the API": [*explain, "--without-api"],
        "its explanation alone": ["kubectl", "get", "--raw", explanation],
        "its remedies alone": ["kubectl", "get", "--raw", f"{explanation}/remedies"],
        "penstock --version": [*penstock, "--version"],
    }


async def _fill(sandbox: Sandbox, pods: int) -> str:
    """Let so many pods of fifty sizes wait in ten LocalQueues of a namespace; return its name."""
    async with sandbox.client() as client:
        team = Team(client, sandbox)
        await team.open()
        await team.ready({"spot": {"cpu": 4}})
        for number in range(10):
            await team.local_queue(f"queue-{number}")
        for begin in range(0, pods, _AT_ONCE):
            part = range(begin, min(begin + _AT_ONCE, pods))
            made = (team.pod(f"pod-{one}", f"{5 + one % 50}", queue=f"queue-{one % 10}") for one in part)
            await asyncio.gather(*made)
    await asyncio.sleep(_SETTLE_SECONDS)
    return team.namespace


def _seconds(command: list[str], environment: dict[str, str]) -> tuple[float, int]:
    began = perf_counter()
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)
    return perf_counter() - began, done.stdout.count(b"\n")


@click.command(context_settings={"show_default": True})
@click.option("--pods", default=10_000, help="That wait.")
@click.option("--rounds", default=5, help="Of all commands.")
def main(pods: int, rounds: int) -> None:
    """Measure how long it takes to ask who waits."""
    with a_cluster(components=["visibility"]) as cluster:
        measured = commands(asyncio.run(_fill(cluster.sandbox, pods)), pods)
        environment = {**os.environ, "KUBECONFIG": str(cluster.sandbox.kubeconfig)}
        found: dict[str, list[float]] = {name: [] for name in measured}
        for _ in range(rounds):
            for name, command in measured.items():
                one, lines = _seconds(command, environment)
                found[name].append(one)
                click.echo(f"{name:>23}: {one:.2f} s, {lines:,} lines; load {os.getloadavg()[0]:.1f}", err=True)
    whole = median(found["kubectl get pods"])
    for name, seconds in found.items():
        click.echo(f"{name:>23}: {median(seconds):.2f} s, {median(seconds) / whole:.2f} of kubectl get pods -A")


if __name__ == "__main__":
    main()
