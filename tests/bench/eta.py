"""Forecast against actual starts on a real control plane: `python -m tests.bench.eta [QUEUES] [SEED]`, by default 8.

Each queue gets 100 pods at once; each runs for 5 to 20 seconds, which nobody states, and ten of a queue run at a time.
When a third has started, the starts of the others are forecast. Starts of one queue are early or late together, as its
pods so far happened to be longer or shorter than the rest: so many queues count, not many pods. What passes from the
end of a pod to the admission of the next is printed too. A figure, never asserted: it takes about five minutes.
"""

from __future__ import annotations

import asyncio
import sys
from random import Random
from statistics import fmean, median

import orjson

from controller.core.keys import ADMITTED_AT, QUEUE_NAME
from controller.kube import clock
from tests.support.clusters import Cluster, a_cluster
from tests.support.command import penstock
from tests.support.eventually import eventually
from tests.support.team import Json, Team, is_gated

_QUEUES, _PODS, _AT_ONCE, _BATCH = 8, 100, 10, 50


async def measure(cluster: Cluster, queues: int, seed: int) -> str:
    async with cluster.sandbox.client() as client:
        team = Team(client, cluster.sandbox)
        await team.open()
        await team.nodes("spot", queues, cpu=str(2 * _AT_ONCE), memory="64Gi")
        await team.flavor("spot")
        names = [f"queue-{number}" for number in range(queues)]
        for name in names:
            await team.cluster_queue({"spot": {"cpu": _AT_ONCE}}, name)
            await team.local_queue(name, name)
        for name in names:
            await _create(team, name, Random(f"{seed}/{name}"))  # noqa: S311 - cases, not secrets

        async def started(part: float) -> bool:
            return sum(not is_gated(pod) for pod in (await team.all()).values()) >= part * queues * _PODS

        await eventually(lambda: started(1 / 3), seconds=600, message="a third has not started")
        asked_at = clock.now()
        done = await penstock(cluster.sandbox, "eta", "-n", team.namespace, "-o", "json")
        rows = {one["name"]: one["start"] for one in orjson.loads(done.output) if one["start"]["p50"]}
        took = clock.now() - asked_at
        await eventually(lambda: started(1.0), seconds=1200, message="not all have started")
        pods_now = await team.all()
    return f"{_figures(rows, pods_now, took)}; {_turnaround(pods_now, names)}"


async def _create(team: Team, queue: str, chance: Random) -> None:
    for first in range(0, _PODS, _BATCH):
        runs = [chance.randint(5, 20) for _ in range(_BATCH)]
        each = (
            team.pod(f"{queue}-{first + n:03}", queue=queue, annotations={"run-for": f"{one}s"})
            for n, one in enumerate(runs)
        )
        await asyncio.gather(*each)


def _admitted(pod: Json) -> float:
    return clock.epoch(pod["metadata"]["annotations"][ADMITTED_AT])


def _figures(rows: dict[str, dict[str, str]], pods: dict[str, Json], took: float) -> str:
    errors, off, widths = list[float](), list[float](), list[float]()
    inside: dict[str, list[bool]] = {}
    for name, row in rows.items():
        started = _admitted(pods[name])
        wait = max(1.0, started - clock.epoch(pods[name]["metadata"]["creationTimestamp"]))
        p20, p50, p90 = (clock.epoch(row[part]) for part in ("p20", "p50", "p90"))
        off.append((p50 - started) / wait)
        errors.append(abs(off[-1]))
        inside.setdefault(pods[name]["metadata"]["labels"][QUEUE_NAME], []).append(p20 <= started <= p90)
        widths.append((p90 - p20) / wait)
    by_queue = ", ".join(f"{100 * fmean(found):.0f}" for found in inside.values())
    return (
        f"{len(rows)} forecasts in {took:.1f} s: median error {100 * median(errors):.1f} % of the wait, in the mean "
        f"{100 * fmean(off):+.1f} %; {100 * fmean(one for found in inside.values() for one in found):.0f} % of the "
        f"starts in the range (by queue: {by_queue}), median width {100 * median(widths):.0f} % of the wait"
    )


def _turnaround(pods: dict[str, Json], queues: list[str]) -> str:
    """The kth end makes room for the admission after those that were first; both are in whole seconds."""
    gaps: list[float] = []
    for queue in queues:
        mine = [pod for pod in pods.values() if pod["metadata"]["labels"][QUEUE_NAME] == queue]
        states = [one["state"] for pod in mine for one in pod["status"].get("containerStatuses", ())]
        ends = sorted(clock.epoch(one["terminated"]["finishedAt"]) for one in states if "terminated" in one)
        later = sorted(map(_admitted, mine))[_AT_ONCE:]
        gaps += [admitted - end for end, admitted in zip(ends, later, strict=False)]
    return f"from an end to the next admission {fmean(gaps):.2f} s in the mean"


def main(queues: int, seed: int) -> None:
    with a_cluster() as cluster:
        print(asyncio.run(measure(cluster, queues, seed)))  # noqa: T201


if __name__ == "__main__":
    given = [int(one) for one in sys.argv[1:]]
    main(given[0] if given else _QUEUES, given[1] if given[1:] else 1)
