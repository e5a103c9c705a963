"""An elastic Job in any order of what happens to it: what may run is charged at every moment, and nothing else is.

The apiserver is a document to which patches are applied. The controller's cache hears of it late; answers come, are
lost, or come after the watch. Whatever happens, the queue is charged for as many pods as the Job may keep alive, by
what is stored and by any patch that may still take effect.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from random import Random

import pytest

from controller.cache.cluster import ClusterCache
from controller.cache.sinks import JobSink
from controller.core.gate.job_growth import widening_patch
from controller.core.gate.json_patch import Operations
from controller.core.gate.release_fate import Fate, fate_of_widening, revocation
from controller.core.keys import WANTED_PARALLELISM
from controller.core.workloads.decisions import Admit
from controller.core.workloads.pods import Pod
from tests.support.builders import a_cache, a_cluster_queue, a_flavor, a_node, a_quota, decided
from tests.support.job_documents import Json, a_job_document, a_released_job, edited, pods_of, state_of
from tests.support.json_patch import PatchFailed, patched
from tests.support.seeds import seeds

MORE = "train/more"
MOST = 12
STEPS = 60


@dataclass
class Sent:
    """A patch under way, and the Job as it was built from."""

    admit: Admit
    job: Pod
    patch: Operations

    def on(self, stored: Json) -> Json | None:
        """The Job with it; None: it does not apply."""
        try:
            return patched(stored, self.patch)
        except PatchFailed:
            return None


@dataclass
class World:
    """The stored Job, what the cache has not heard of it, and the patches that are under way."""

    random: Random
    stored: Json
    cache: ClusterCache
    late: list[Json] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)

    def store(self, changed: Json, *, is_spec: bool) -> None:
        document = edited(changed)
        if not is_spec:
            document["metadata"]["generation"] -= 1
        document["metadata"]["resourceVersion"] = str(int(self.stored["metadata"]["resourceVersion"]) + 1)
        self.stored = document
        self.late.append(document)

    def see(self) -> None:
        """Let the cache hear of all there is."""
        while self.late:
            JobSink(self.cache).upsert(state_of(self.late.pop(0)))

    # -- what happens ---------------------------------------------------------------------------------------------

    def hear(self) -> None:
        if self.late:
            JobSink(self.cache).upsert(state_of(self.late.pop(0)))

    def want(self) -> None:
        changed = copy.deepcopy(self.stored)
        number = self.random.choice((1, 4, MOST))
        notes = changed["metadata"]["annotations"]
        if number > changed["spec"]["parallelism"]:
            notes[WANTED_PARALLELISM] = str(number)
            self.store(changed, is_spec=False)
            return
        notes.pop(WANTED_PARALLELISM, None)
        is_spec = number != changed["spec"]["parallelism"]
        if changed["spec"]["completionMode"] == "Indexed":
            changed["spec"]["completions"] = number
        changed["spec"]["parallelism"] = number
        self.store(changed, is_spec=is_spec)

    def edit(self) -> None:
        changed = copy.deepcopy(self.stored)
        changed["spec"]["backoffLimit"] += 1
        self.store(changed, is_spec=True)

    def end_one(self) -> None:
        changed = copy.deepcopy(self.stored)
        succeeded = changed["status"].get("succeeded", 0)
        if succeeded < changed["spec"]["completions"] - 1:
            changed["status"]["succeeded"] = succeeded + 1
            self.store(changed, is_spec=False)

    def decide(self) -> None:
        for admit in decided(self.cache).admits:
            job = self.cache.pods["train"]
            self.sent.append(Sent(admit, job, widening_patch(job, admit.count, by="leader")))

    def arrive(self) -> None:
        """Let a patch reach the apiserver, once more even."""
        one = self.random.choice(self.sent) if self.sent else None
        after = None if one is None else one.on(self.stored)
        if after is not None:
            self.store(after, is_spec=True)

    def conclude(self) -> None:
        """Let the controller find out what became of a patch, which it revokes where that may still apply."""
        if not self.sent:
            return
        one, now = self.sent.pop(self.random.randrange(len(self.sent))), pods_of(self.stored)
        if fate_of_widening(one.job, "leader", now) is Fate.OPEN:
            self.store(patched(self.stored, revocation(one.job, now, by="leader")), is_spec=False)
        self.cache.update_pod(pods_of(self.stored))
        # as the executor does: by now another patch may be under way
        if self.cache.assumed(MORE) is one.admit:
            self.cache.settle(MORE)

    # -- what has to be so ----------------------------------------------------------------------------------------

    @property
    def charged(self) -> int:
        return self.cache.usage.by_queue.get(("team-a", "spot", "cpu"), 0) // 1000

    @property
    def may_run(self) -> int:
        """How many pods the Job may keep alive, at most, by what is stored and what may still take effect."""
        futures = [after for one in self.sent if (after := one.on(self.stored)) is not None]
        return max(pods_of(one).count for one in (self.stored, *futures))

    @property
    def is_open(self) -> bool:
        """Whether what is under way may still take effect some day: the same may be wanted again."""
        now = self.stored["metadata"]["generation"]
        return any(one.job.generation == now for one in self.sent)


def a_world(seed: int) -> World:
    random = Random(seed)  # noqa: S311 - cases, not secrets
    spec = {"parallelism": 2, "completions": 2, "completionMode": "Indexed"} if seed % 2 else {"completions": 20}
    job = a_released_job(a_job_document(spec=spec), [a_flavor()])
    queue = a_cluster_queue("team-a", a_quota("spot", cpu=random.randint(2, MOST)))
    cache = a_cache(nodes=[a_node("node-1", cpu="32")], queues=[queue])
    JobSink(cache).upsert(state_of(job))
    return World(random, job, cache)


@pytest.mark.parametrize("seed", seeds(40))
def test_what_may_run_is_charged_whatever_happens(seed: int) -> None:
    world = a_world(seed)
    happens = [
        world.hear,
        world.want,
        world.edit,
        world.end_one,
        world.decide,
        world.decide,
        world.arrive,
        world.conclude,
    ]
    for _ in range(STEPS):
        one = world.random.choice(happens)
        one()
        assert world.charged >= world.may_run, one
        if not world.late and not world.is_open:
            assert world.charged == world.may_run, one
    while world.sent:
        world.conclude()
    world.see()
    assert world.charged == pods_of(world.stored).count
    assert world.cache.assumed(MORE) is None


def test_patches_take_effect_in_these_worlds() -> None:
    grown = 0
    for seed in range(20):
        world = a_world(seed)
        for _ in range(STEPS):
            world.random.choice([world.hear, world.want, world.decide, world.decide, world.arrive, world.conclude])()
            grown += any(pods_of(world.stored).count > one.job.count for one in world.sent)
    assert grown > 20
