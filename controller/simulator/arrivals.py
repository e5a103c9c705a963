"""Pods that may come while others wait: by each LocalQueue at its recent rate, like those that came lately.

They stand behind those that are there already, but a pod that needs less may be admitted before one that is blocked.
Without them a start is foreseen too early. The busiest of the last hours does not count, nor the quietest: a thousand
pods that came at once do not come every hour.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import merge
from random import Random
from typing import Final

from controller.core.forecasts.run_history import SAMPLES
from controller.core.kubernetes.amounts import Requests
from controller.core.workloads.pods import Pod
from controller.core.workloads.shapes import Shape
from controller.core.workloads.workload import QueueKey
from controller.simulator.pod_states import created_again
from controller.simulator.world import PastRun, World

_HOURS: Final = 6
"""So many count as recent."""
_HOUR: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Stream:
    """What comes to a LocalQueue that asks for the same: so many pods a second, each like one of these."""

    queue: QueueKey
    requests: Requests
    rate: float
    like: Sequence[Pod]


_Kind = tuple[QueueKey, Requests]


def streams(world: World, runs: Sequence[PastRun]) -> list[Stream]:
    """Return what comes to each LocalQueue of which a pod is there; `runs` are all that are known."""
    created: dict[_Kind, list[float]] = {}
    began: dict[_Kind, list[float]] = {}
    like: dict[QueueKey, list[Pod]] = {}
    for pod in (world.pods[uid] for uid in sorted(world.pods)):
        if pod.queue is not None and not pod.is_terminating:
            queue = (pod.namespace, pod.queue)
            like.setdefault(queue, []).append(pod)
            created.setdefault((queue, pod.shape.requests), []).append(pod.created)
    for run in runs:
        if run.uid not in world.pods:
            began.setdefault((run.queue, run.requests), []).append(float(run.ended - run.seconds))
    found = ((kind, _rate(world.now, created.get(kind, ()), began.get(kind, ()))) for kind in {**created, **began})
    return [
        Stream(queue, requests, rate, _best(like[queue], requests))
        for (queue, requests), rate in sorted(found)
        if rate and queue in like
    ]


def _best(pods: Sequence[Pod], requests: Requests) -> list[Pod]:
    """Return the latest of those that ask for the same, or else of all, since their constraints are known at least."""
    latest = sorted(pods, key=lambda pod: (pod.created, pod.uid))
    return [pod for pod in latest if pod.shape.requests == requests][-SAMPLES:] or latest[-SAMPLES:]


def _rate(now: float, created: Iterable[float], began: Iterable[float]) -> float:
    """Return how many pods came in a second. In their place count those that began where more did: these have gone."""
    counts = [max(pair) for pair in zip(_by_hour(now, created), _by_hour(now, began), strict=True)]
    usual = sorted(counts)[1:-1]
    return sum(usual) / len(usual) / _HOUR


def _by_hour(now: float, times: Iterable[float]) -> list[int]:
    counts = [0] * _HOURS
    for at in times:
        hours_ago = int((now - at) / _HOUR)
        if 0 <= hours_ago < _HOURS:
            counts[hours_ago] += 1
    return counts


def drawn(coming: Sequence[Stream], now: float, seed: str) -> Iterator[tuple[float, Pod]]:
    """Yield pods that come after `now`, epoch seconds, each with its time, without an end."""
    return merge(*(_drawn(stream, number, now, seed) for number, stream in enumerate(coming)), key=_at)


def _at(arrival: tuple[float, Pod]) -> float:
    return arrival[0]


def _drawn(stream: Stream, number: int, now: float, seed: str) -> Iterator[tuple[float, Pod]]:
    chance, at = Random(f"{seed}/arrivals/{number}"), now  # noqa: S311 - a forecast, no secret
    for count in itertools.count():
        at += chance.expovariate(stream.rate)
        like = chance.choice(stream.like)
        name = f"arrival-{number}-{count}"
        shape = Shape(stream.requests, like.shape.constraints, like.shape.user)
        new = created_again(like, f"{'/'.join(stream.queue)}/{name}", shape, at)
        yield at, replace(new, name=name, owner=None, group=None, completion_index=0, held=None, is_on_top=False)
