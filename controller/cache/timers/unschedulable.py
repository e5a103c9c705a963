"""From which flavors pods came back since kube-scheduler found no node there; the next pods of their owners try others.

What fit does not model (volumes, pod affinity, topology spread) is learnt so. It is kept in memory alone: a controller
that starts has to learn it again, which takes one reservation for each flavor.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from controller.cache.timers.timers import Timers
from controller.core.calendar.windows import FOR_EVER
from controller.core.eviction_rules.reservations import is_learnt_from, unschedulable_text
from controller.core.kubernetes.amounts import Requests
from controller.core.workloads.decisions import Evict
from controller.core.workloads.pods import Phase, Pod
from controller.core.workloads.shapes import Unschedulable
from controller.kube.backoff import Backoff

_BACKOFF: Final = Backoff(first=600.0, longest=86_400.0)
_REMEMBERED: Final = 86_400.0
"""Seconds after a pause for which it is known that there was one: the next is twice as long."""


@dataclass(frozen=True, slots=True)
class _Learnt:
    """What a pod showed, at `at` in epoch seconds, when the pause was begun that it is in, and how many times in a row
    that is; `requests` are the pod's.
    """

    requests: Requests
    namespace: str
    at: float
    times: int
    told: Unschedulable


class UnschedulableFlavors:
    """By maker of pods and flavor. The pause of a flavor doubles, up to a day, each time that it was tried in vain."""

    def __init__(self, moved: set[str]) -> None:
        """`moved` is told the namespaces whose waiting pods have to be looked at anew."""
        self._moved = moved
        self._learnt: dict[str, dict[str, _Learnt]] = {}
        self._timers = Timers()

    def learn(self, evict: Evict) -> None:
        """Take in an eviction: it may be one of a pod that got no node where it was sent."""
        pod, maker = evict.pod, _maker(evict.pod)
        if maker is None or not is_learnt_from(evict):
            return
        for flavor in (pod.flavor or "", *pod.also):
            self._learn(maker, flavor, pod)

    def _learn(self, maker: str, flavor: str, pod: Pod) -> None:
        known, now, requests = self._learnt.setdefault(maker, {}), self._timers.now, pod.shape.requests
        former, times = known.get(flavor), 1
        if former is not None and former.requests == requests:
            # of many that were sent before it was known, and of one whose eviction is tried again, one counts
            is_next = pod.admitted_at > former.at
            if not is_next and now < former.told.until:
                return
            times = former.times + 1 if is_next else former.times
        told = Unschedulable(flavor, now + _BACKOFF.delay(times), unschedulable_text(pod))
        known[flavor] = _Learnt(requests, pod.namespace, now, times, told)
        self._timers.set(_timer(maker, flavor), told.until)
        self._moved.add(pod.namespace)

    def observe(self, pod: Pod) -> None:
        """Forget what is no longer true: a pod of the same maker was sent to the flavor since, or has begun to run."""
        if not self._learnt or pod.phase is not Phase.RUNNING:
            return
        maker, flavor = _maker(pod) or "", pod.flavor or ""
        learnt = self._learnt.get(maker, {}).get(flavor)
        if learnt is not None and learnt.at <= max(pod.admitted_at, pod.started):
            self._forget(maker, flavor)

    def applied(self, pod: Pod) -> Pod:
        """Return a waiting pod with the flavors that are not tried for it now."""
        known = self._learnt.get(_maker(pod) or "")
        if not known:
            return pod
        now = self._timers.now
        told = [known[one].told for one in sorted(known) if known[one].requests == pod.shape.requests]
        avoided = tuple(one for one in told if one.until > now)
        return replace(pod, shape=replace(pod.shape, unschedulable=avoided)) if avoided else pod

    def advance(self, now: float) -> None:
        """Let it be this time (epoch seconds): flavors are tried again whose pause is over."""
        for timer in self._timers.advance(now):
            maker, _, flavor = timer.rpartition(" ")
            learnt = self._learnt[maker][flavor]
            forgotten_at = learnt.told.until + _REMEMBERED
            if forgotten_at <= now:
                self._forget(maker, flavor)
            else:
                self._moved.add(learnt.namespace)
                self._timers.set(timer, forgotten_at)

    def next_change(self) -> float:
        """Return when time changes something next."""
        return self._timers.next_change() if self._learnt else FOR_EVER

    def _forget(self, maker: str, flavor: str) -> None:
        known = self._learnt[maker]
        self._moved.add(known.pop(flavor).namespace)
        self._timers.set(_timer(maker, flavor), None)
        if not known:
            del self._learnt[maker]


def _timer(maker: str, flavor: str) -> str:
    return f"{maker} {flavor}"


def _maker(pod: Pod) -> str | None:
    """Return what makes the next pod like it: its owner, and in a StatefulSet its name, since volumes go by that."""
    if pod.owner is None:
        return None
    return f"{pod.namespace}/{pod.owner.uid}/{pod.name if pod.owner.kind == 'StatefulSet' else ''}"
