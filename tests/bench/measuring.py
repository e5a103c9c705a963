"""What is measured of the decision in one world, in seconds of CPU time: on a shared machine wall time says little.

Everything goes by way of the cache, as in the controller's loop: an event, a snapshot, a decision, what it said taken
in. Benchmarks run this in a process of its own for each world, with all of the controller loaded, so that its memory is
that of a controller.
"""

from __future__ import annotations

import random
import sys
from asyncio import Event
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from statistics import fmean, median
from time import process_time

import click
import psutil

import controller.runtime.app  # noqa: F401  # what a controller has in memory besides its world
from controller.cache.cluster import ClusterCache
from controller.core.decision.decide import decide
from controller.core.workloads.decisions import Admit, Plan
from controller.core.workloads.pods import Phase, Pod
from controller.runtime import garbage
from tests.bench.rules import RULES
from tests.bench.worlds import NOW, Recipe, draw, load

_ALL = sys.maxsize
BATCH = 64
"""As many as the executor, with its 32 workers, asks for at once while it is busy."""
_FULL_PASSES = 3
_IDLE_DECISIONS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Times in seconds of CPU, memory in bytes. `admitted` is what the full pass admits, `pods` how many are known.

    `ended` is the decision after one pod of a world at rest ended. `then_p99` is of those decisions that follow until
    the world is at rest again: victims go, all at once, preemptors come in, and let others in or have others go.
    `then_sum` is what these take together after one end, in the mean.

    `pace` is what a fixed piece of Python takes meanwhile: CPU time too is longer while others use the same core.
    """

    pods: int
    classes: int
    admitted: int
    memory: int
    pace: float
    first: float
    full: float
    batches: float
    again: float
    anew: float
    ended_p50: float
    ended_p99: float
    ended_mean: float
    then_p99: float
    then_sum: float


def measure_alone(
    recipe: Recipe, what: str, *, rules: Sequence[str] = (), depth: int, endings: int, is_batched: bool
) -> Figures:
    """Measure in a new process, since what one world leaves in memory is nothing to the next; `what` is shown."""
    say = partial(_say, what)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        measured = pool.submit(measure, recipe, rules, depth=depth, endings=endings, is_batched=is_batched, say=say)
        return measured.result()


def _say(what: str, step: str) -> None:
    click.echo(f"{what}: {step} ...", err=True)


def measure(
    recipe: Recipe, rules: Sequence[str], *, depth: int, endings: int, is_batched: bool, say: Callable[[str], None]
) -> Figures:
    """Draw the world and measure it under these rules, with so many reservations; `say` is told what comes next."""
    # as the controller does when it starts, and below once it has listed everything
    garbage.look_through_all_seldom()
    say("drawing")
    changed, chance = Event(), random.Random(recipe.seed)  # noqa: S311 - worlds, not secrets
    cache = _loaded(recipe, rules, chance, changed, depth)
    pods, classes = len(cache.pods), len(cache.backlog.runs)
    garbage.spare_what_is_known()
    memory = psutil.Process().memory_info().rss
    say(f"full pass, {pods:,} pods known, {classes:,} classes")
    pace = median(_timed(_paced) for _ in range(_FULL_PASSES))
    passes = [_full_pass(cache) for _ in range(_FULL_PASSES)]
    admitted = passes[0][1]
    say(f"all that fits, {admitted:,} pods, {'in batches' if is_batched else 'at once'}")
    batches = _timed(lambda: _come_to_rest(cache, changed, BATCH if is_batched else _ALL))
    say("again, where nothing fits")
    again = median(_timed(lambda: _decided(cache, _ALL)) for _ in range(_IDLE_DECISIONS))
    anew = median(_timed(lambda: _anew(cache)) for _ in range(_FULL_PASSES))
    say(f"{endings} pods end")
    ended, then = _end_pods(cache, changed, chance, endings)
    return Figures(
        pods=pods,
        classes=classes,
        admitted=admitted,
        memory=memory,
        pace=pace,
        first=passes[0][0],
        full=median(seconds for seconds, _ in passes[1:]),
        batches=batches,
        again=again,
        anew=anew,
        ended_p50=median(ended),
        ended_p99=_p99(ended),
        ended_mean=fmean(ended),
        then_p99=_p99(then),
        then_sum=sum(then) / len(ended),
    )


def _loaded(recipe: Recipe, rules: Sequence[str], chance: random.Random, changed: Event, depth: int) -> ClusterCache:
    world = draw(recipe)
    for name in rules:
        RULES[name](world, chance)
    return load(world, changed.set, backfill_depth=depth)


def _p99(seconds: Sequence[float]) -> float:
    return sorted(seconds)[len(seconds) * 99 // 100]


def _timed(work: Callable[[], object]) -> float:
    start = process_time()
    work()
    return process_time() - start


def _paced() -> None:
    known = {number: number for number in range(1_000)}
    for number in range(1_000_000):
        known[number % 1_000] += number


def _full_pass(cache: ClusterCache) -> tuple[float, int]:
    """Decide until nothing more fits, and leave the cache as it was; say how long it took and how many it admits."""
    start = process_time()
    snapshot = cache.snapshot()
    plan = decide(snapshot, index=cache.feasibility, limit=_ALL)
    return process_time() - start, len(plan.admits)


def _decided(cache: ClusterCache, limit: int) -> Plan:
    cache.advance(NOW + process_time())
    snapshot = cache.snapshot()
    plan = decide(snapshot, index=cache.feasibility, limit=limit)
    cache.absorb(plan)
    return plan


def _anew(cache: ClusterCache) -> None:
    """The pass over everything that heals, every ten seconds, what an event missed."""
    cache.reopen_all()
    _decided(cache, _ALL)


def _carry_out(cache: ClusterCache, plan: Plan) -> None:
    """Take in the pods as their releases, bindings and evictions leave them."""
    for admit in plan.admits:
        _bind(cache, admit)
    for evict in plan.evicts:
        cache.drop_pod(evict.pod.uid)


def _bind(cache: ClusterCache, admit: Admit) -> None:
    """Take in the pod as its release and its binding leave it."""
    pod = cache.pods[admit.uid]
    # as if they had begun at different times, as they do in life
    began = NOW - int(pod.created) % max(1, pod.expected_runtime)
    released = replace(
        pod, gates=(), generation=2, cluster_queue=admit.cluster_queue, flavor=admit.flavor, started=began
    )
    cache.put_pod(replace(released, node=admit.node, pinned=admit.node, resource_version=_later(pod)))
    cache.settle(pod.uid)


def _come_to_rest(cache: ClusterCache, changed: Event, limit: int = BATCH) -> list[float]:
    """Decide as the controller does, as long as anything changes, every pod being released and bound at once.

    Say how long each decision took.
    """
    seconds = []
    while changed.is_set():
        changed.clear()
        start = process_time()
        plan = _decided(cache, limit)
        seconds.append(process_time() - start)
        _carry_out(cache, plan)
    return seconds


def _end_pods(
    cache: ClusterCache, changed: Event, chance: random.Random, count: int
) -> tuple[list[float], list[float]]:
    """End running pods, each once the world is at rest; say how long the first decision and each after it took."""
    _come_to_rest(cache, changed)
    running = [uid for uid, pod in cache.pods.items() if pod.phase is Phase.RUNNING]
    seconds, then = list[float](), list[float]()
    for uid in chance.sample(running, min(count, len(running))):
        pod = cache.pods.get(uid)
        if pod is None:
            continue  # preempted meanwhile
        ended = replace(pod, is_finished=True, resource_version=_later(pod))
        start = process_time()
        cache.put_pod(ended)
        plan = _decided(cache, BATCH)
        seconds.append(process_time() - start)
        _carry_out(cache, plan)
        cache.drop_pod(uid)
        then += _come_to_rest(cache, changed)
    return seconds, then


def _later(pod: Pod) -> str:
    return f"{int(pod.resource_version) + 1}"
