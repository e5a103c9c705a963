"""Decisions that a live controller has made, recorded one after the other: `decisions.json.xz`.

Streams of pods go side by side through queues that preempt, share, backfill, take gangs, fall back to another flavor or
have used a budget up, on a sandbox with Penstock in it. Pods end by themselves. Names are fixed, moments are not.
"""

from __future__ import annotations

import asyncio
import gzip
import lzma
import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import click

from controller.core.keys import EXPECTED_RUNTIME, POD_GROUP, POD_GROUP_SIZE, PRIORITY_CLASS
from controller.core.queueing.queues import QueueingStrategy
from controller.core.snapshot import Snapshot
from controller.kube.errors import NotFound
from controller.replay.decision_log import Decided, read_log
from controller.replay.packing import unpacked
from controller.sandbox import Sandbox
from controller.sandbox.installation import installed
from tests.support.team import Team
from tests.support.team_owners import a_replica_set, until_running

FILE: Final = Path(__file__).parent / "decisions.json.xz"
LEAST: Final = 300
FEATURES: Final = ("preemption", "shares", "backfill", "gang", "fallback", "budget")
_VARIABLE: Final = "PENSTOCK_RECORD_DECISIONS"
_ROUNDS: Final = 30


def decisions() -> Iterator[Decided]:
    """Read those that are stored."""
    return read_log(unpacked(FILE.read_bytes()))


def features(decided: Decided) -> set[str]:
    """Say which of the features had a part in what was decided."""
    snapshot = decided.snapshot
    found = {name for one in decided.plan["admits"] for name in _features_of(snapshot, one)}
    return found | {"preemption" for one in decided.plan["evicts"] if one["cause"] == "Preempted"}


def _features_of(snapshot: Snapshot, admit: dict[str, Any]) -> Iterator[str]:
    queue, tree = snapshot.queues.cluster_queues[admit["clusterQueue"]], snapshot.queues.tree
    path = tree.path(queue.name)
    if path[-1] in tree.fair_roots:
        yield "shares"
    if queue.strategy is QueueingStrategy.BACKFILL:
        yield "backfill"
    if admit["workload"] != admit["pod"]:
        yield "gang"
    if queue.flavors[0].fallback_after and admit["flavor"] != queue.flavors[0].flavor:
        yield "fallback"
    if any(snapshot.usage.budgets.by_queue.get(name) for name in path):
        yield "budget"


async def record_decisions() -> None:
    """Record them anew: some two minutes."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "decisions.json.gz"
        os.environ[_VARIABLE] = str(file)
        try:
            async with Sandbox.start() as sandbox, installed(sandbox), sandbox.client() as client:
                team = Team(client, sandbox)
                team.id = team.namespace = "streams"
                await team.open()
                await _set_up(team)
                await _let_stream(team)
        finally:
            del os.environ[_VARIABLE]
        lines = gzip.decompress(file.read_bytes()).splitlines(keepends=True)
        FILE.write_bytes(lzma.compress(b"".join(lines)))
    click.echo(f"{FILE.name}: {len(lines) - 1} decisions, {FILE.stat().st_size // 1024} KiB")


async def _set_up(team: Team) -> None:
    await team.nodes("spot", 3, cpu="16", memory="64Gi")
    await team.nodes("on-demand", cpu="16", memory="64Gi")
    for shape in ("spot", "on-demand"):
        await team.flavor(shape)
    await team.make("workloadpriorityclasses", "WorkloadPriorityClass", team.full("high"), {"value": 1000})
    await team.cluster_queue({"spot": {"cpu": 2}}, "ranked", preemption={"withinClusterQueue": "LowerPriority"})
    await team.cluster_queue({"spot": {"cpu": 2}}, "org", fairSharing={})
    for name in ("red", "blue"):
        await team.cluster_queue({"spot": {"cpu": 1}}, name, parent=team.full("org"))
    await team.cluster_queue({"spot": {"cpu": 3}}, "filling", queueingStrategy="Backfill")
    await team.cluster_queue({"spot": {"cpu": 3}}, "gangs")
    spot = {"name": team.full("spot"), "fallbackAfter": "1s", "resources": [{"name": "cpu", "nominalQuota": 0}]}
    steady = {"name": team.full("on-demand"), "resources": [{"name": "cpu", "nominalQuota": 8}]}
    falling = {"namespaceSelector": {}, "flavors": [spot, steady]}
    await team.make("clusterqueues", "ClusterQueue", team.full("falling"), falling)
    spent = {"name": "tiny", "resource": "cpu", "hours": "0.0001", "period": "Day", "atEnd": "LowerPriority"}
    await team.cluster_queue({"spot": {"cpu": 2}}, "spent", budgets=[spent])
    for name in ("red", "blue", "filling", "gangs", "falling", "spent"):
        await team.local_queue(name, name)
    await team.local_queue("main", "ranked")
    await a_replica_set(team, "low", 2)
    await until_running(team, "low", 2)


async def _let_stream(team: Team) -> None:
    streams = (_preempting, _sharing, _filling, _ganging, _falling, _spending)
    async with asyncio.TaskGroup() as group:
        clearing = group.create_task(_clear_ended(team), name="clear")
        await asyncio.gather(*(stream(team) for stream in streams))
        clearing.cancel()


async def _clear_ended(team: Team) -> None:
    """Delete pods that have succeeded, so that snapshots stay small."""
    while True:
        await asyncio.sleep(1.0)
        pods = await team.all()
        for name in [name for name, pod in pods.items() if pod["status"].get("phase") == "Succeeded"]:
            with suppress(NotFound):
                await team.delete(name)


async def _preempting(team: Team) -> None:
    """Each preempts a pod of a ReplicaSet, which is made anew and admitted again once this one has ended."""
    for number in range(_ROUNDS):
        await _pod(team, f"urgent-{number}", "main", seconds=1, labels={PRIORITY_CLASS: team.full("high")})
        await asyncio.sleep(3.0)


async def _sharing(team: Team) -> None:
    for number in range(2 * _ROUNDS):
        for name in ("red", "blue"):
            await _pod(team, f"{name}-{number}", name, seconds=2)
        await asyncio.sleep(1.2)


async def _filling(team: Team) -> None:
    """A large one that waits for all of the queue, and short ones that pass it."""
    for number in range(_ROUNDS):
        for name, cpu, seconds in (("long", "1", 3), ("large", "3", 1), ("short", "1", 1)):
            runtime = {EXPECTED_RUNTIME: f"{seconds}s"}
            await _pod(team, f"{name}-{number}", "filling", cpu, seconds=seconds, annotations=runtime)
            await asyncio.sleep(0.9)


async def _ganging(team: Team) -> None:
    for number in range(_ROUNDS):
        for member in range(3):
            labels, size = {POD_GROUP: f"gang-{number}"}, {POD_GROUP_SIZE: "3"}
            await _pod(team, f"gang-{number}-{member}", "gangs", seconds=1, labels=labels, annotations=size)
        await asyncio.sleep(2.4)


async def _falling(team: Team) -> None:
    for number in range(2 * _ROUNDS):
        await _pod(team, f"falls-{number}", "falling", seconds=1)
        await asyncio.sleep(1.1)


async def _spending(team: Team) -> None:
    for number in range(2 * _ROUNDS):
        await _pod(team, f"spends-{number}", "spent", seconds=1)
        await asyncio.sleep(1.3)


async def _pod(team: Team, name: str, queue: str, cpu: str = "1", *, seconds: int, **options: Any) -> None:
    annotations = {"run-for": f"{seconds}s", **options.pop("annotations", {})}
    await team.pod(name, cpu, queue=queue, annotations=annotations, **options)
