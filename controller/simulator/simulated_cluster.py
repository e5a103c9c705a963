"""A cluster in virtual time: what happens goes into the cache, and what is decided happens at once.

Events are taken in by their time; those of one moment are taken in together before the next decision. Between events
time passes to whatever the cache says changes by itself: windows, budgets, timers, the grace of nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from heapq import heappop, heappush
from math import ceil, inf
from typing import Protocol

from controller.cache.cluster import ClusterCache
from controller.core.forecasts.runtimes import GOING_SECONDS
from controller.core.kubernetes.nodes import Node
from controller.core.kubernetes.owners import Job
from controller.core.workloads.decisions import Admit, Evict, Plan
from controller.core.workloads.pods import Phase, Pod
from controller.simulator.filling import filled, shown_pods
from controller.simulator.owners import Owners
from controller.simulator.pod_states import UNKNOWN_NODE, bound, started, succeeded
from controller.simulator.rest import decide_to_rest
from controller.simulator.world import World

EndOf = Callable[[Pod, float], float]
"""When a pod that runs at a time ends, both in epoch seconds; infinite: never."""


class Observer(Protocol):
    """Who is told what happens; times in epoch seconds. `pod` is as it was before, but where it says otherwise."""

    def arrived(self, pod: Pod, at: float) -> None:
        """A queued pod has come."""

    def began(self, pod: Pod, at: float) -> None:
        """A pod was admitted and has started; it is as it is then."""

    def succeeded(self, pod: Pod, at: float) -> None:
        """A pod has succeeded."""

    def lost(self, pod: Pod, at: float, evict: Evict | None) -> None:
        """A pod was evicted, or (None) its node is gone."""


class SimulatedCluster:
    """The cache, what is to come, and who is told. `now` is in epoch seconds, and in steps of `resolution` seconds.

    Pods end at the nearest step; all else happens at the next one. A coarser resolution makes fewer decisions.
    The pods of a Job that is held as a whole start and end together, so many at a time as it keeps alive.
    """

    def __init__(
        self,
        world: World,
        *,
        end_of: EndOf,
        observer: Observer,
        resolution: float = 1.0,
        elapsed: Callable[[ClusterCache, float], None] = lambda *_: None,
    ) -> None:
        """`elapsed` is called before each step but the first with the cache as it was until then, and the time."""
        self._elapsed = elapsed
        self.now = world.now
        self.cache = filled(world)
        self._end_of = end_of
        self._observer = observer
        self._resolution = resolution
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbered = 0
        self._again_at = world.now
        self._owners = Owners(self.cache)
        pods = shown_pods(world)
        self._owners.take_in(pods)
        for pod in pods:
            self._take_up(pod)

    # -- what is to come -------------------------------------------------------------------------------------------

    def at(self, when: float, happens: Callable[[], None]) -> None:
        """Let something happen at a time, epoch seconds; one that has passed is now."""
        self._numbered += 1
        heappush(self._events, (when, self._numbered, happens))

    def arrive(self, arrivals: Iterable[tuple[float, Pod]]) -> None:
        """Let queued pods come, each at its time; they are asked for one by one, so they have to be sorted by time."""
        self._expect(iter(arrivals))

    def _expect(self, arrivals: Iterator[tuple[float, Pod]]) -> None:
        found = next(arrivals, None)
        if found is not None:
            self.at(found[0], partial(self._arrive, found[1], arrivals))

    def _arrive(self, pod: Pod, arrivals: Iterator[tuple[float, Pod]]) -> None:
        self.create(pod)
        self._expect(arrivals)

    # -- what happens ----------------------------------------------------------------------------------------------

    def create(self, pod: Pod) -> None:
        """Let a queued pod come now."""
        self._owners.take_in((pod,))
        self._queue(pod)

    def create_job(self, job: Job, pods: Iterable[Pod]) -> None:
        """Let a Job come now with the pods that it creates first."""
        self.cache.set_job(job.uid, job)
        for pod in pods:
            self.create(pod)

    def put_node(self, node: Node) -> None:
        """Let a node come, or become another one."""
        self.cache.put_node(node)

    def drop_node(self, name: str) -> None:
        """Let a node go, and the pods on it with it; owners create theirs again."""
        on_it = [self.cache.pods[uid] for uid in sorted(self.cache.usage.bound.get(name, ()))]
        self.cache.drop_node(name)
        for pod in on_it:
            self._lose(pod, None)

    def steps(self, until: float) -> Iterator[float]:
        """Let time pass to `until`, epoch seconds, and decide; yield the time after each step.

        Whoever takes no more steps ends the simulation there. Raises RestlessError.
        """
        self._decide()
        yield self.now
        while (when := self._next_step()) <= until:
            self.now = when
            self._elapsed(self.cache, when)
            while self._events and self._events[0][0] <= self.now:
                heappop(self._events)[2]()
            self._decide()
            yield self.now

    def _next_step(self) -> float:
        """Return when something happens next, infinite: nothing does."""
        when = min(self._events[0][0] if self._events else inf, self._again_at)
        if when == inf:
            return inf
        rounded = ceil(when / self._resolution) * self._resolution
        return rounded if rounded > self.now else self.now + self._resolution

    def _decide(self) -> None:
        decide_to_rest(self.cache, self.now, self._carry_out, self._admitted)
        self._again_at = min(self.cache.next_change(), self.cache.next_portion())
        # nobody writes conditions here: what would be due is let go
        while self.cache.reasons.next(inf) is not None:
            pass

    # -- what comes of it ------------------------------------------------------------------------------------------

    def _take_up(self, pod: Pod) -> None:
        """Let a pod that is there at the start go on; one whose node is gone is lost."""
        if pod.is_terminating and not pod.is_finished:
            gone_at = max(self.now, pod.gone_by) if pod.gone_by else self.now + GOING_SECONDS
            self.at(gone_at, partial(self._vanish, pod.uid))
        elif pod.phase is Phase.RUNNING:
            if pod.node not in self.cache.nodes and not (pod.node or "").endswith(UNKNOWN_NODE):
                self._lose(pod, None)
            else:
                self._run(pod)
        elif pod.phase is Phase.RESERVED:
            bound_now = bound(pod, self.now)
            self.cache.put_pod(bound_now)
            self._observer.began(bound_now, self.now)
            self._run(bound_now)

    def _carry_out(self, plan: Plan) -> None:
        for evict in plan.evicts:
            self.cache.evictions.begin(evict)
            self._lose(evict.pod, evict)
        for admit in plan.admits:
            pod = self.cache.pods[admit.uid]
            if pod.is_job:
                pod = self._started(pod, admit)
                self.cache.put_pod(pod)
                self.cache.settle(pod.uid)
            self._observer.began(pod, self.now)
            self._run(pod)

    def _admitted(self, plan: Plan) -> list[Pod]:
        """Return the pods of a plan as they start: assumed first, each would cost the cache 6 changes, not 4."""
        pods = [(admit, self.cache.pods[admit.uid]) for admit in plan.admits]
        return [self._started(pod, admit) for admit, pod in pods if not pod.is_job]

    def _started(self, pod: Pod, admit: Admit) -> Pod:
        return started(pod, admit, self.now, self.cache.positions.run_time(pod))

    def _run(self, pod: Pod) -> None:
        """Let it run to its end, or until a limit ends it."""
        at_most = pod.ends_by or (pod.started + pod.deadline if pod.deadline else inf)
        ends = min(self._end_of(pod, self.now), at_most)
        if ends < inf:
            # the nearest step: rounded up, each pod after another one would start half a step later than that
            self.at(round(ends / self._resolution) * self._resolution, partial(self._succeed, pod.uid))

    def _succeed(self, uid: str) -> None:
        pod = self.cache.pods.get(uid)
        if pod is None or not pod.is_admitted:
            return
        self._observer.succeeded(pod, self.now)
        self.cache.put_pod(succeeded(pod, self.now))
        self.cache.drop_pod(uid)
        self._queue(self._owners.succeeded(pod, self.now))

    def _vanish(self, uid: str) -> None:
        """A pod that somebody deleted is gone; its owner creates another."""
        pod = self.cache.pods.get(uid)
        if pod is not None:
            self.cache.drop_pod(uid)
            self._queue(self._owners.lost(pod, self.now) if pod.queue is not None else None)

    def _lose(self, pod: Pod, evict: Evict | None) -> None:
        self._observer.lost(pod, self.now, evict)
        self.cache.drop_pod(pod.uid)
        self._queue(self._owners.lost(pod, self.now) if pod.queue is not None else None)

    def _queue(self, pod: Pod | None) -> None:
        if pod is not None:
            self.cache.put_pod(pod)
            self._observer.arrived(pod, self.now)
