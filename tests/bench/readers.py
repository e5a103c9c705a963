"""`python -m tests.bench.readers`: what people who ask the visibility API do to decisions, in one process and run.

A world at rest; every 20 ms a pod ends, and it is measured how long after that the decision is made. Windows with and
without readers take turns, so that a core that is shared is shared by both.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from itertools import count
from statistics import median
from time import perf_counter
from typing import Any

import click

from controller.cache.cluster import ClusterCache
from controller.core.decision.decide import decide
from controller.core.forecasts.forecast import USUAL_DEPTH
from controller.core.workloads.decisions import Plan
from controller.core.workloads.pods import Phase, Pod
from controller.extension_api.answers import Answerer
from controller.extension_api.authorization import Action, Authorizer
from controller.extension_api.front_proxy import Viewer
from controller.extension_api.options import Form, IncludeObject, Options
from controller.extension_api.pacing import Turns
from controller.extension_api.paths import ROOT, read_path
from controller.extension_api.queueing.registry import resources
from controller.forking import Forks
from controller.runtime import garbage
from controller.visibility.start_forecasts import StartForecasts
from tests.bench.decide import WORLDS
from tests.bench.worlds import NOW, draw, load

_BATCH = 64
_TICK = 0.02
_SOMEBODY = Viewer("somebody", "", (), ())
_versions = count(1_000_000_000)


class EverybodyMay(Authorizer):
    """Asks nobody."""

    async def may(self, viewer: Viewer, action: Action) -> bool:
        return True

    async def seen(self, viewer: Viewer, namespaces: Collection[str]) -> frozenset[str]:
        return frozenset(namespaces)


@dataclass
class Window:
    """What was measured, in seconds."""

    decisions: list[float] = field(default_factory=list)
    answers: list[float] = field(default_factory=list)


def _decided(cache: ClusterCache) -> Plan:
    cache.advance(NOW + perf_counter())
    plan = decide(cache.snapshot(), index=cache.feasibility, limit=_BATCH)
    cache.absorb(plan)
    return plan


def _carry_out(cache: ClusterCache, plan: Plan) -> None:
    for admit in plan.admits:
        pod = cache.pods[admit.uid]
        released = replace(pod, gates=(), generation=2, cluster_queue=admit.cluster_queue, flavor=admit.flavor)
        cache.put_pod(replace(released, node=admit.node, pinned=admit.node, resource_version=str(next(_versions))))
        cache.settle(pod.uid)
    for evict in plan.evicts:
        cache.drop_pod(evict.pod.uid)


async def _decide(cache: ClusterCache, ending: list[Pod], seconds: float, window: Window) -> None:
    """End a pod at each tick; measure from when that was due."""
    loop = asyncio.get_running_loop()
    end = due = loop.time()
    end += seconds
    while due < end and ending:
        due += _TICK
        await asyncio.sleep(max(0.0, due - loop.time()))
        pod = cache.pods.get(ending.pop().uid)
        if pod is None:
            continue
        cache.put_pod(replace(pod, is_finished=True, resource_version=str(next(_versions))))
        for _ in cache.catch_up(NOW + perf_counter()):
            await asyncio.sleep(0)
        plan = _decided(cache)
        window.decisions.append(loop.time() - due)
        _carry_out(cache, plan)
        due = max(due, loop.time() - _TICK)


async def _read(answerer: Answerer, registry: Any, window: Window) -> None:
    """List everything, again and again."""
    for path in _forever(f"{ROOT}/pendingworkloads", f"{ROOT}/clusterqueues", f"{ROOT}/localqueues"):
        began = perf_counter()
        options = Options(include=IncludeObject.NOTHING)
        await answerer.answer(_SOMEBODY, read_path(path, registry), Form.TABLE, options, path=path)
        if "pending" in path:
            window.answers.append(perf_counter() - began)


def _forever(*paths: str) -> Any:
    while True:
        yield from paths


async def _run(cache: ClusterCache, ending: list[Pod], readers: int, rounds: int, seconds: float) -> None:
    turns = Turns()
    registry = resources(cache, StartForecasts(), turns, Forks(1))
    answerer = Answerer(EverybodyMay(None, perf_counter), turns)  # type: ignore[arg-type] # asks nobody
    alone, beside = Window(), Window()
    for _ in range(rounds):
        await _decide(cache, ending, seconds, alone)
        async with asyncio.TaskGroup() as group:
            asking = [group.create_task(_read(answerer, registry, beside)) for _ in range(readers)]
            await _decide(cache, ending, seconds, beside)
            for task in asking:
                task.cancel()
    for name, window in (("alone", alone), (f"{readers} readers", beside)):
        ordered = sorted(window.decisions)
        p99 = ordered[len(ordered) * 99 // 100]
        told = f"{len(ordered)} decisions, p50 {median(ordered) * 1000:.1f} ms, p99 {p99 * 1000:.1f} ms"
        listed = f"; {len(window.answers)} whole lists, {median(window.answers):.2f} s each" if window.answers else ""
        click.echo(f"{name:>10}: {told}{listed}")


@click.command(context_settings={"show_default": True})
@click.option("--scale", default=0.2, help="0.2 is a world of 10,000 pods that wait and as many that run.")
@click.option("--shapes", default=60, help="Makes of pods.")
@click.option("--readers", default=4, help="How many list everything all the time.")
@click.option("--rounds", default=5, help="Windows of each kind.")
@click.option("--seconds", default=4.0, help="Of each window.")
def main(scale: float, shapes: int, readers: int, rounds: int, seconds: float) -> None:
    """Measure decisions with and without people who ask."""
    garbage.look_through_all_seldom()
    cache = load(draw(replace(WORLDS["quota"], scale=scale, shapes=shapes)), lambda: None, backfill_depth=USUAL_DEPTH)
    while (plan := _decided(cache)).admits or plan.evicts:
        _carry_out(cache, plan)
    garbage.spare_what_is_known()
    running = [one for one in cache.pods.values() if one.phase is Phase.RUNNING]
    random.Random(1).shuffle(running)  # noqa: S311 - worlds, not secrets
    click.echo(f"{len(cache.backlog):,} wait, {len(running):,} run, {len(cache.cluster_queues):,} ClusterQueues")
    asyncio.run(_run(cache, running, readers, rounds, seconds))


if __name__ == "__main__":
    main()
