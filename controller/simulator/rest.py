"""Decisions at one moment, until nothing moves any more."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from typing import Final

from controller.cache.cluster import ClusterCache
from controller.core.decision.decide import decide
from controller.core.workloads.decisions import Plan
from controller.core.workloads.pods import Pod

_ROUNDS: Final = 100


class RestlessError(Exception):
    """Decisions at one moment do not come to an end: a fault of Penstock, to be reported with what led to it."""


def decide_to_rest(
    cache: ClusterCache,
    now: float,
    carry_out: Callable[[Plan], None],
    admitted: Callable[[Plan], Collection[Pod]] = lambda _: (),
) -> None:
    """Decide at `now`, epoch seconds, and let each plan be carried out, until one does nothing.

    The cache has absorbed a plan when `carry_out` is called with it. `admitted` returns pods that a plan admits as they
    are from then on, where nothing can come between: the cache has these by then. Raises RestlessError.
    """
    for _ in range(_ROUNDS):
        cache.advance(now)
        plan = decide(cache.snapshot(), index=cache.feasibility, limit=sys.maxsize)
        seen = admitted(plan)
        for pod in seen:
            cache.put_pod(pod)
        cache.absorb(plan, {pod.uid for pod in seen})
        if plan.is_complete and not plan.admits and not plan.evicts:
            return
        carry_out(plan)
    raise RestlessError(f"{_ROUNDS} decisions in a row at one moment admitted or evicted pods")
