"""The cache's shortcuts lose nothing: whatever happens, what it skips is what a look at everything would not admit."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from controller.cache.cluster import ClusterCache
from controller.core.calendar.windows import outlook
from controller.core.capacity.room import Room
from controller.core.decision.decide import decide
from controller.core.evictions.lost_pods import LOST_SECONDS
from controller.core.gate.narrowing import Conflict, narrow
from controller.core.keys import GATE
from controller.core.queueing.effective import FIXED, Variation
from controller.core.queueing.queues import StopPolicy
from controller.core.queueing.shares import Share
from controller.core.reasons import Reason
from controller.core.workloads.decisions import Admit
from controller.core.workloads.pods import Pod
from tests.support.builders import UNLIMITED, a_cache, a_foreign_pod, decided, list_pods
from tests.support.seeds import examples
from tests.support.snapshots import changed
from tests.support.strategies import DOORS, FLAVORS, parent_queues, waiting_pods
from tests.support.tight_worlds import SHAPES, VARIATIONS, tight_nodes, tight_queues
from tests.support.zones import utc

NODE_NAMES = st.sampled_from(("node-0", "node-1", "node-2"))
QUEUE_NAMES = st.sampled_from(("team-a", "team-b"))
INDEXES = st.integers(0, 1000)
USERS = ("", "ann", "bob", "ann")
RUNTIMES = (0, 3600, 0, 60, 7200)
CARRIED = ((), ("wide",), ("wide", "default/own"), ("default/own",))
BY_NAME = {flavor.name: flavor for flavor in FLAVORS}


class ClusterMachine(RuleBasedStateMachine):
    """A cluster in which anything may happen: `pods` is what the apiserver has, `sent` what has no answer yet."""

    def __init__(self) -> None:
        super().__init__()
        self.cache: ClusterCache = a_cache()
        self.pods: dict[str, Pod] = {}
        self.sent: dict[str, Admit] = {}
        self.rejected: set[str] = set()
        self.made = 0
        self.landed: dict[tuple[str, str | None], str] = {}
        self.is_eager = False
        self.now = utc("2026-03-04 11:00")
        self.variations: dict[str, Variation] = {}

    @initialize(data=st.data(), is_eager=st.booleans(), waiting=st.integers(0, 8), running=st.integers(0, 3))
    def start(self, data: st.DataObject, waiting: int, running: int, *, is_eager: bool) -> None:
        """Eager: decisions come to rest after every single event, so that each has to open what it can by itself."""
        self.cache = a_cache(
            nodes=[data.draw(tight_nodes(name)) for name in ("node-0", "node-1")],
            flavors=FLAVORS,
            queues=[data.draw(parent_queues()), *(data.draw(tight_queues(name)) for name in ("team-a", "team-b"))],
            locals_=DOORS,
        )
        self.cache.advance(self.now)
        self.is_eager = is_eager
        for _ in range(waiting):
            name = f"p{self.made}"
            self.put(replace(data.draw(waiting_pods(name)), shape=data.draw(SHAPES), created=float(self.now)))
        for _ in range(running):
            pod = replace(data.draw(waiting_pods(f"p{self.made}")), shape=data.draw(SHAPES), hold=None, gates=())
            stamps: dict[str, Any] = data.draw(st.sampled_from(({"cluster_queue": "team-a", "flavor": "spot"}, {})))
            late: dict[str, Any] = data.draw(
                st.sampled_from(({}, {"is_terminating": True, "gone_by": self.now - 60.0}))
            )
            self.put(pod, node=data.draw(NODE_NAMES), started=self.now, **stamps, **late)

    def put(self, pod: Pod, **changes: Any) -> None:
        self.made += 1
        carried, runtime = CARRIED[self.made % len(CARRIED)], RUNTIMES[self.made % len(RUNTIMES)]
        pod = replace(pod, policies=carried, expected_runtime=runtime)
        self.pods[pod.uid] = replace(pod, resource_version=str(self.made + 10), **changes)
        self.cache.put_pod(self.pods[pod.uid])

    def pick(self, index: int, *uids: str) -> str:
        return sorted(uids)[index % len(uids)]

    @property
    def gated(self) -> list[str]:
        return [uid for uid, pod in self.pods.items() if GATE in pod.gates]

    @property
    def bindable(self) -> list[str]:
        return [uid for uid, pod in self.pods.items() if not pod.gates and pod.node is None and not pod.is_finished]

    @property
    def deletable(self) -> list[str]:
        return [uid for uid, pod in self.pods.items() if not pod.gates and not pod.is_terminating and pod.queue]

    # -- pods ------------------------------------------------------------------------------------------------------

    @rule(data=st.data(), count=st.integers(1, 3))
    def pods_come(self, data: st.DataObject, count: int) -> None:
        drawn = replace(data.draw(waiting_pods("drawn")), shape=data.draw(SHAPES), created=float(self.now))
        for _ in range(count):
            name = f"p{self.made}"
            self.put(replace(drawn, name=name, uid=name, user=USERS[self.made % len(USERS)]))

    @rule(shape=SHAPES, node=NODE_NAMES)
    def a_foreign_pod_runs(self, shape: Any, node: str) -> None:
        self.put(a_foreign_pod(f"f{self.made}", shape, node=node))

    @precondition(lambda self: self.pods)
    @rule(index=INDEXES)
    def a_pod_goes(self, index: int) -> None:
        uid = self.pick(index, *self.pods)
        del self.pods[uid]
        self.sent.pop(uid, None)
        self.rejected.discard(uid)
        self.cache.drop_pod(uid)

    @precondition(lambda self: self.pods)
    @rule(index=INDEXES)
    def a_pod_finishes(self, index: int) -> None:
        pod = self.pods[self.pick(index, *self.pods)]
        if not pod.gates:
            self.put(pod, is_finished=True, has_succeeded=True, ended=self.now)

    @precondition(lambda self: self.deletable)
    @rule(index=INDEXES, grace=st.sampled_from((0, 30, 3600)))
    def a_pod_is_being_deleted(self, index: int, grace: int) -> None:
        pod = self.pods[self.pick(index, *self.deletable)]
        self.put(pod, is_terminating=True, gone_by=float(self.now + grace))

    @precondition(lambda self: self.gated)
    @rule(index=INDEXES, shape=SHAPES)
    def a_queued_pod_is_edited(self, index: int, shape: Any) -> None:
        self.put(self.pods[self.pick(index, *self.gated)], shape=shape)

    @precondition(lambda self: self.gated)
    @rule(index=INDEXES)
    def a_stranger_opens_the_gate(self, index: int) -> None:
        uid = self.pick(index, *self.gated)
        self.put(self.pods[uid], gates=())
        if self.sent.pop(uid, None) is not None:
            self.cache.settle(uid)

    @precondition(lambda self: self.bindable)
    @rule(index=INDEXES, node=NODE_NAMES)
    def the_scheduler_binds(self, index: int, node: str) -> None:
        self.put(self.pods[self.pick(index, *self.bindable)], node=node, started=self.now)

    @precondition(lambda self: self.sent)
    @rule(index=INDEXES, event_first=st.booleans())
    def a_release_succeeds(self, index: int, *, event_first: bool) -> None:
        uid = self.pick(index, *self.sent)
        admit = self.sent.pop(uid)
        stamps: dict[str, Any] = {
            "cluster_queue": admit.cluster_queue,
            **({"flavors": admit.flavors} if admit.flavors else {"flavor": admit.flavor}),
            "pinned": admit.node,
            "admitted_at": float(self.now),
        }
        before = self.pods[uid]
        self.put(before, gates=(), **stamps)
        self.cache.settle(uid)
        if event_first:
            self.cache.put_pod(before)

    @precondition(lambda self: self.sent)
    @rule(index=INDEXES, refused=st.booleans())
    def a_release_fails(self, index: int, *, refused: bool) -> None:
        uid = self.pick(index, *self.sent)
        del self.sent[uid]
        if refused:
            self.cache.reject(uid, "no")
            self.rejected.add(uid)
        else:
            self.cache.settle(uid)

    @precondition(lambda self: self.rejected)
    @rule(index=INDEXES)
    def a_refused_pod_is_tried_again(self, index: int) -> None:
        uid = self.pick(index, *self.rejected)
        self.rejected.discard(uid)
        self.cache.retry(uid)

    # -- the rest of the world -------------------------------------------------------------------------------------

    @rule(data=st.data(), name=NODE_NAMES)
    def a_node_comes_or_changes(self, data: st.DataObject, name: str) -> None:
        self.cache.put_node(data.draw(tight_nodes(name)))

    @rule(name=NODE_NAMES)
    def a_node_goes(self, name: str) -> None:
        self.cache.drop_node(name)

    @rule(data=st.data(), name=QUEUE_NAMES)
    def a_queue_changes(self, data: st.DataObject, name: str) -> None:
        self.variations[name] = data.draw(VARIATIONS)
        self.cache.set_cluster_queue(name, data.draw(tight_queues(name)), variation=self.variations[name])

    @rule(seconds=st.sampled_from((60, 299, 3600, 28_800)))
    def time_passes(self, seconds: int) -> None:
        self.now += seconds
        self.cache.advance(self.now)

    @rule(name=NODE_NAMES)
    def a_node_is_no_longer_ready(self, name: str) -> None:
        node = self.cache.nodes.get(name)
        if node is not None:
            self.cache.put_node(replace(node, is_ready=False, not_ready_since=self.now))

    @rule(name=QUEUE_NAMES)
    def a_queue_goes(self, name: str) -> None:
        self.cache.set_cluster_queue(name, None)

    @rule(name=st.sampled_from(sorted(BY_NAME)), is_there=st.booleans())
    def a_flavor_comes_or_goes(self, name: str, *, is_there: bool) -> None:
        self.cache.set_flavor(name, BY_NAME[name] if is_there else None)

    @rule()
    def everything_is_listed_again(self) -> None:
        list_pods(self.cache, list(self.pods.values()))

    # -- deciding --------------------------------------------------------------------------------------------------

    def step(self, limit: int) -> bool:
        plan = decided(self.cache, limit=limit)
        for admit in plan.admits:
            assert admit.uid not in self.sent
            self.sent[admit.uid] = admit
        return plan.is_complete and not plan.admits

    @rule(limit=st.integers(1, 3))
    def one_decision_is_made(self, limit: int) -> None:
        self.step(limit)

    @rule(limit=st.sampled_from((1, 2, UNLIMITED)))
    def decisions_come_to_rest(self, limit: int) -> None:
        while not self.step(limit):
            pass
        full = changed(self.cache.snapshot(), asked=None)
        assert decide(full, limit=UNLIMITED).admits == ()
        for kind in self.cache.backlog.runs:
            assert self.cache.reasons.of(kind).reason is not Reason.PENDING

    @invariant()
    def the_eager_rest_at_once(self) -> None:
        if self.is_eager:
            self.decisions_come_to_rest(limit=1 + self.made % 3)

    # -- what always holds -----------------------------------------------------------------------------------------

    @invariant()
    def the_sums_are_what_a_recount_finds(self) -> None:
        by_queue: Counter[tuple[str, str, str]] = Counter()
        by_flavor: Counter[tuple[str, str]] = Counter()
        by_node: Counter[tuple[str, str]] = Counter()
        for pod in self.pods.values():
            queue, flavors, node = self.account_of(pod)
            for resource, amount in pod.shape.requests:
                for flavor in flavors if queue else ():
                    by_queue[(queue, flavor, resource)] += amount
                    by_flavor[(flavor, resource)] += amount
                if node:
                    by_node[(node, resource)] += amount
        self.cache.snapshot()
        usage = self.cache.usage
        assert usage.by_queue == by_queue
        assert usage.by_flavor == by_flavor
        assert {(n, r): amount for n, sums in usage.by_node.items() for r, amount in sums.items()} == by_node

    @invariant()
    def the_room_that_was_kept_up_is_what_is_free(self) -> None:
        room, fresh = self.cache.room, Room(self.cache.index, self.cache.usage.by_node)
        for flavor in BY_NAME:
            for resource in ("cpu", "memory", "pods"):
                assert list(room.row(flavor, resource)) == list(fresh.row(flavor, resource))

    @invariant()
    def quotas_are_what_a_direct_computation_finds(self) -> None:
        live = [
            node.allocatable["cpu"]
            for node in self.cache.nodes.values()
            if node.labels["pool"] == "spot" and (node.is_ready or self.now < node.not_ready_since + 300)
        ]
        capacity = sum(live) if "spot" in self.cache.flavors else 0
        for name, queue in self.cache.cluster_queues.items():
            variation = self.variations.get(name, FIXED)
            opened = [one for one in variation.overrides if outlook((one.window,), self.now).open]
            layers = [variation.shares, *(one.quotas for one in opened)]
            said = [quota.nominal["cpu"] for layer in layers for quota in layer]
            for quota in queue.flavors if said else ():
                if quota.flavor == "spot":
                    last = said[-1]
                    expected = last.hundredths * capacity // 10_000 if isinstance(last, Share) else last
                    assert quota.nominal["cpu"] == expected
            stops = [one.stop for one in opened if one.stop is not None]
            assert queue.stop is (stops[-1] if stops else StopPolicy.NONE)

    @invariant()
    def policies_are_counted_as_pods_carry_them(self) -> None:
        carried = [name for pod in self.pods.values() for name in pod.policies]
        assert self.cache.policies.count(("", "wide")) == carried.count("wide")
        assert self.cache.policies.count(("default", "own")) == carried.count("default/own")

    def account_of(self, pod: Pod) -> tuple[str, tuple[str, ...], str | None]:
        """Who pays for a pod, the flavors in which it holds quota, and on which node it takes room."""
        if pod.uid in self.sent:
            admit = self.sent[pod.uid]
            return admit.cluster_queue, admit.flavors or (admit.flavor,), admit.node
        if pod.gates or pod.is_finished:
            return "", (), None
        if pod.cluster_queue and (pod.flavor or pod.flavors):
            at = pod.node or (None if self.is_overdue(pod) else pod.pinned)
            held = self.held_by(pod)  # asked of a lost one too: where it landed it stays
            return ("", (), at) if self.is_lost(pod) else (pod.cluster_queue, held, at)
        door = self.cache.local_queues.get((pod.namespace, pod.queue or ""))
        queue = self.cache.cluster_queues.get(door.cluster_queue) if door is not None else None
        if queue is None or self.is_lost(pod):
            return "", (), pod.node
        known, landed = [quota.flavor for quota in queue.flavors], self.pool_of(pod)
        there = {name: narrow(pod.shape.constraints, BY_NAME[name]) for name in known if name in self.cache.flavors}
        allowed = [name for name, found in there.items() if not isinstance(found, Conflict)]
        return queue.name, (landed if landed in known else [*allowed, *known][0],), pod.node

    def held_by(self, pod: Pod) -> tuple[str, ...]:
        """The flavor of the stamp; of several, all until its node is known, then for good the node's or the last."""
        if not pod.flavors:
            return (pod.flavor or "",)
        if (pod.uid, pod.node) not in self.landed and pod.node in self.cache.nodes:
            landed = self.pool_of(pod)
            self.landed[pod.uid, pod.node] = landed if landed in pod.flavors else pod.flavors[-1]
        known = self.landed.get((pod.uid, pod.node))
        return pod.flavors if known is None else (known,)

    def pool_of(self, pod: Pod) -> str:
        node = self.cache.nodes.get(pod.node or "")
        return node.labels["pool"] if node is not None and node.labels["pool"] in self.cache.flavors else ""

    def is_lost(self, pod: Pod) -> bool:
        node = self.cache.nodes.get(pod.node or "")
        is_late = pod.is_terminating and pod.gone_by + LOST_SECONDS <= self.now
        return is_late and pod.node is not None and (node is None or not node.is_ready)

    def is_overdue(self, pod: Pod) -> bool:
        queue = self.cache.cluster_queues.get(pod.cluster_queue or "")
        timeout = queue.reservation_timeout if queue is not None else None
        return timeout is not None and pod.admitted_at + timeout <= self.now

    @invariant()
    def who_waits_is_who_is_gated_and_not_on_the_way(self) -> None:
        waiting = [workload.uid for run in self.cache.backlog.runs.values() for workload in run]
        assert sorted(waiting) == sorted(uid for uid in self.gated if uid not in self.sent)


# it takes more than the two minutes of other tests where a machine is shared, and minutes more to shrink an example:
# for that add Phase.shrink and --timeout 0
TestClusterMachine = pytest.mark.timeout(400)(ClusterMachine.TestCase)
TestClusterMachine.settings = settings(
    max_examples=examples(300), stateful_step_count=40, phases=(Phase.explicit, Phase.reuse, Phase.generate)
)
