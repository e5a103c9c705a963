"""Which Autoscaled flavors are dry, until when, and who waits for their nodes. Rules: `core.eviction_rules.stock_outs`.

A dry spell is kept in the status of its flavor, so that a restart forgets nothing.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping

from controller.cache.keyed import put_or_drop
from controller.cache.timers.timers import Timers
from controller.core.calendar.windows import FOR_EVER
from controller.core.eviction_rules.stock_outs import dry_spell, gives_up_at, is_unprovided
from controller.core.queueing.queues import CapacityMode, Flavor
from controller.core.workloads.decisions import DrySpell
from controller.core.workloads.pods import Pod


class StockOuts:
    """`spells` has the latest of each flavor, over or not; `unprovided` the pods that wait for nodes, by flavor."""

    def __init__(self, flavors: Mapping[str, Flavor]) -> None:
        """The cache's own flavors, read as they are at the time."""
        self._flavors = flavors
        self._seen: dict[str, Flavor] = {}
        self.spells: dict[str, DrySpell] = {}
        self.unprovided: dict[str, dict[str, None]] = {}
        self._flavor_of: dict[str, str] = {}
        self._not_before: dict[str, float] = {}
        self._timers = Timers()
        self._landed: dict[str, tuple[str, float]] = {}
        self._in_flavor: dict[str, list[tuple[float, str]]] = {}
        """By flavor who is on its nodes, the last admitted last."""

    @property
    def dry(self) -> Mapping[str, DrySpell]:
        """The spells that are not over."""
        return {name: spell for name, spell in self.spells.items() if spell.until > self._timers.now}

    def restore(self, flavor: str, spell: DrySpell | None) -> None:
        """Take in what the status of a flavor says, unless more is known."""
        if spell is not None:
            self.spells.setdefault(flavor, spell)

    def observe(self, uid: str, pod: Pod | None) -> None:
        """Take in a pod as it is now; None: it is gone."""
        self._land(uid, pod)
        former = self._flavor_of.pop(uid, None)
        if former is not None:
            del self.unprovided[former][uid]
        flavor = self._flavors.get(pod.flavor or "") if pod is not None else None
        if pod is None or flavor is None or not is_unprovided(pod, flavor):
            self._not_before.pop(uid, None)
            self._timers.set(uid, None)
            return
        self._flavor_of[uid] = flavor.name
        self.unprovided.setdefault(flavor.name, {})[uid] = None
        at = gives_up_at(pod, flavor, self.spells.get(flavor.name))
        self._timers.set(uid, max(at, self._not_before.get(uid, 0.0)))

    def advance(self, now: float, pods: Mapping[str, Pod]) -> bool:
        """Let it be this time (epoch seconds); say whether any flavor has become dry, or is so no longer."""
        before = self.dry.keys()
        for uid in self._timers.advance(now):
            self._judge(pods[uid], now)
        return self.dry.keys() != before

    def next_change(self) -> float:
        """Return when the next pod has waited in vain, or the next spell is over."""
        return min([self._timers.next_change(), *(spell.until for spell in self.dry.values())], default=FOR_EVER)

    def moved(self, pods: Mapping[str, Pod]) -> list[str]:
        """Return the pods of Autoscaled flavors that are others than when this was asked last."""
        former, self._seen = self._seen, {n: f for n, f in self._flavors.items() if f.mode is CapacityMode.AUTOSCALED}
        for name in [name for name in self.spells if name not in self._flavors]:
            del self.spells[name]
        others = {name for name in former.keys() | self._seen.keys() if former.get(name) != self._seen.get(name)}
        return [uid for uid, pod in pods.items() if pod.flavor in others] if others else []

    def _land(self, uid: str, pod: Pod | None) -> None:
        """Note when a pod that is on a node was admitted, by its flavor."""
        former = self._landed.get(uid)
        now = None if pod is None or not pod.node or not pod.flavor else (pod.flavor, pod.admitted_at)
        if now == former:
            return
        put_or_drop(self._landed, uid, now)
        if former is not None:
            line = self._in_flavor[former[0]]
            del line[bisect_left(line, (former[1], uid))]
        if now is not None:
            insort(self._in_flavor.setdefault(now[0], []), (now[1], uid))

    def _landed_at(self, flavors: Iterable[str]) -> float:
        """Return when the last was admitted of those on nodes of these flavors; 0: nobody is."""
        return max((self._in_flavor[one][-1][0] for one in flavors if self._in_flavor.get(one)), default=0.0)

    def _judge(self, pod: Pod, now: float) -> None:
        flavor = self._flavors.get(pod.flavor or "")
        if flavor is None or not is_unprovided(pod, flavor):
            return  # the flavor is another one since, or gone: `see` is told of it before the next decision
        if flavor.name not in self.dry:
            spell = dry_spell(pod, flavor, self._landed_at({flavor.name, *pod.also}), now)
            if spell is not None:
                self.spells[flavor.name] = spell
        at = gives_up_at(pod, flavor, self.spells.get(flavor.name))
        self._not_before[pod.uid] = at if at > now else now + flavor.provision_timeout
        self._timers.set(pod.uid, self._not_before[pod.uid])
