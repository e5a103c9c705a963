"""The decision agrees with the plain rules (`tests/oracle`), in 2,000 small worlds at every run."""

from __future__ import annotations

import os
import secrets
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import pytest
import yaml

from controller.core.decision.decide import decide
from controller.core.reasons import Reason
from controller.core.snapshot import Snapshot
from controller.core.workloads.decisions import Plan, Wait
from tests.oracle import agreement, rules, sequences
from tests.oracle.agreement import decided, disagreement, report, smallest
from tests.oracle.drawing import draw_world
from tests.oracle.remedies import REMEDIES, undone
from tests.oracle.turns import Decided
from tests.oracle.worlds import Amounts, Door, Flavor, Make, Node, Pod, Preemption, Queue, Running, World

_BATCHES, _BATCH = 20, 100
SEED = 0 if "CI" in os.environ else secrets.randbits(32)
"""CI judges a change by what it changes; elsewhere the search goes on."""
NOT_DRAWN = {
    Reason.FLAVOR_DRY,
    Reason.BUDGET_EXHAUSTED,
    Reason.HELD,
    Reason.INVALID_REQUESTS,
    Reason.PATCH_REJECTED,
    Reason.PENDING,
    Reason.PRIORITY_CLASS_NOT_FOUND,
    Reason.PRIORITY_CLASS_NOT_ALLOWED,
    Reason.SCHEDULER_PREEMPTION_FORBIDDEN,
    Reason.UNSCHEDULABLE,
    Reason.UNSUPPORTED_RESOURCE_CLAIMS,
    Reason.USER_LIMIT,
    Reason.WOULD_DELAY,
}
"""What comes of a pod's form, its creator or the past, and not of the decision on worlds as they are drawn."""


@pytest.mark.parametrize("number", range(_BATCHES))
def test_what_is_decided_is_what_the_rules_say(number: int) -> None:
    chance = Random(f"{SEED}/{number}")  # noqa: S311 - cases, not secrets
    for _ in range(_BATCH):
        world = draw_world(chance)
        assert not disagreement(world), f"seed {SEED}\n{report(world)}"


@pytest.mark.parametrize("number", range(10))
def test_decisions_after_an_event_follow_the_rules(number: int) -> None:
    chance = Random(f"{SEED}/after/{number}")  # noqa: S311
    for _ in range(20):
        told = sequences.disagreement(draw_world(chance), chance)
        assert not told, f"seed {SEED}\n{told}"


@pytest.mark.parametrize("number", range(5))
def test_a_remedy_admits_or_brings_another_reason(number: int) -> None:
    chance = Random(f"{SEED}/undone/{number}")  # noqa: S311
    for _ in range(40):
        world = draw_world(chance)
        said = decided(world)
        assert {pod.name for pod in world.pods} == {*said.waiting, *(name for name, _, _ in said.admitted)}
        for pod in {said.waiting[pod.name]: pod for pod in world.pods if pod.name in said.waiting}.values():
            then = decided(undone(world, pod, said))
            others_go = bool(then.evicted) and not {*then.evicted} & {*said.evicted}
            is_same = then.waiting.get(pod.name) == said.waiting[pod.name] and not others_go
            assert not is_same, f"seed {SEED}: {pod.name}\n{report(world)}"


def test_every_reason_that_is_drawn_can_be_undone() -> None:
    assert {*REMEDIES} == {reason.value for reason in Reason if reason not in {*NOT_DRAWN, Reason.PREEMPTING}}


def test_the_worlds_that_are_drawn_come_to_everything() -> None:
    chance = Random(0)  # noqa: S311
    seen: Counter[str] = Counter()
    for _ in range(800):
        found = decided(draw_world(chance))
        seen.update(found.waiting.values())
        seen["admitted"] += len(found.admitted)
        seen["several"] += sum(rules.OR in flavor for _, flavor, _ in found.admitted)
    assert seen["several"] > 10
    assert {reason for reason in Reason if reason not in NOT_DRAWN} <= seen.keys()
    assert seen["admitted"] > seen.total() / 6


def test_the_drawn_trees_let_pods_borrow_near_and_far(monkeypatch: pytest.MonkeyPatch) -> None:
    borrows: Counter[int] = Counter()

    def counting(*given: Any) -> rules.Turn:
        result = plain(*given)
        borrows[result.borrows] += 1
        return result

    plain = rules.turn
    monkeypatch.setattr(rules, "turn", counting)
    chance = Random(0)  # noqa: S311
    for _ in range(800):
        disagreement(draw_world(chance))
    assert min(borrows[1], borrows[2]) > 10


# -- what the oracle itself notices --------------------------------------------------------------------------------


def a_world(*pods: Pod, **cpu: int) -> World:
    """One node, and one queue behind one door; both have 2 cpu unless said otherwise."""
    return World(
        pods=pods,
        running=(),
        nodes=(Node("one", {}, {"cpu": cpu.get("node", 2000), "pods": 9}),),
        flavors=(Flavor("first", {}),),
        queues=(Queue("queue", (("first", {"cpu": cpu.get("quota", 2000)}),)),),
        doors=(Door("dev", "queue", "queue"),),
        namespaces={"dev": {}},
    )


def a_waiting_pod(name: str, cpu: int = 1000, *, created: int = 0, queue: str = "queue") -> Pod:
    return Pod(name, "dev", queue, _asking({"cpu": cpu}), priority=0, created=created, has_foreign_gate=False)


def a_tree(*pods: Pod, **queues: Any) -> World:
    """Queues by name below `org`, which owns nothing, each behind a door of its name, and room for all of them."""
    planted = (Queue(name, **{"parent": "org", "quotas": (), **fields}) for name, fields in queues.items())
    return replace(
        a_world(*pods, node=90000),
        queues=(*planted, Queue("org", ())),
        doors=tuple(Door("dev", name, name) for name in queues),
    )


def a_full_world(*running: Running, within: str = "LowerPriority", **cpu: int) -> World:
    """One pod of priority 1 waits behind these that run."""
    world = a_world(replace(ONE, priority=1), **cpu)
    queue = replace(world.queues[0], preemption=Preemption(within))
    return replace(world, running=running, queues=(queue,))


def a_running_pod(name: str, **fields: Any) -> Running:
    plain = Running(name, {"cpu": 1000}, "one", "queue", "first", is_replaced=True)
    return replace(plain, **fields)


def preempting(*victims: str) -> Decided:
    return Decided((), {"pod-1": "Preempting"}, victims, frozenset({"pod-1"}))


def a_choice(*pods: Pod, **fields: Any) -> World:
    """The flavors first, of spot, and second, each with quota and a node for two."""
    return replace(
        a_world(*pods),
        nodes=tuple(Node(name, {"pool": name}, {"cpu": 2000, "pods": 9}) for name in ("spot", "steady")),
        flavors=(Flavor("first", {"pool": "spot"}, is_spot=True), Flavor("second", {"pool": "steady"})),
        queues=(Queue("queue", tuple((name, {"cpu": 2000}) for name in ("first", "second")), **fields),),
    )


def a_mixed_world() -> World:
    """One pod waits for another to leave its only flavor, on-demand; with so few pods spot is closed to the second."""
    steady = replace(ONE, priority=1, make=replace(ONE.make, selector={"pool": "steady"}))
    world = a_choice(steady, TWO, on_demand_base=1, spot_percent=50, preemption=Preemption("LowerPriority"))
    queue = replace(world.queues[0], quotas=(("first", {"cpu": 2000}), ("second", {"cpu": 1000})))
    low = a_running_pod("low", flavor="second", node="steady")
    return replace(world, queues=(queue,), running=(low,))


def a_fair_tree(*pods: Pod, weight: int = 1, **poor: Any) -> World:
    """Two queues that borrow all from their root by shares, `poor` by this weight."""
    world = a_tree(*pods, poor={**POOR, "weight": Fraction(weight), **poor}, rich={"quotas": owning(0)})
    root = replace(world.queues[-1], quotas=owning(4000), is_fair=True)
    return replace(world, queues=(*world.queues[:-1], root))


def a_tree_of_hope(*, is_ending: bool) -> World:
    """By shares pod-4 goes before pod-6, and pod-3, if there is hope for it once run-1 is gone, after both."""
    large, small = a_waiting_pod("pod-3", 4000, created=2, queue="poor"), a_waiting_pod("pod-6", 1500, queue="rich")
    pods = replace(large, priority=1), LENT, replace(small, priority=1)
    there = a_running_pod("run-1", queue="rich", requests={"cpu": 2000}, is_ending=is_ending)
    return replace(a_fair_tree(*pods, preemption=Preemption(reclaim="LowerPriority")), running=(there,))


def owning(cpu: int) -> tuple[tuple[str, Amounts], ...]:
    return (("first", {"cpu": cpu}),)


def _asking(amounts: Amounts) -> Make:
    return Make(amounts, {}, (), tolerates=False)


ONE, TWO = a_waiting_pod("pod-1"), a_waiting_pod("pod-2", created=1)
LARGE = a_waiting_pod("pod-3", 3000, created=2)
LENT, OWN = a_waiting_pod("pod-4", queue="poor"), a_waiting_pod("pod-5", created=1, queue="rich")
GANG = tuple(replace(a_waiting_pod(name), group="gang", size=2) for name in ("pod-7", "pod-8"))
BEGUN = Running("run-1", {"cpu": 1000}, "one", "queue", "first", door="queue", group="gang", size=2)
POOR = {"quotas": owning(0)}
RICH = {"quotas": owning(1000)}
SMALL_WENT = Decided((("pod-6", "first", "one"),), {"pod-3": "ParentQueueLimit", "pod-4": "ParentQueueLimit"})


@pytest.mark.parametrize(
    ("world", "said", "told"),
    [
        (a_world(ONE), Decided((), {"pod-1": "NoCapacity"}), "pod-1: waits with NoCapacity; by the rules it goes"),
        (a_world(ONE), Decided((("pod-1", "second", "one"),), {}), "pod-1: went onto .*; by the rules it goes onto"),
        (a_world(ONE), Decided((("pod-1", "first", "two"),), {}), "pod-1: went onto .*on .'one'"),
        (a_world(ONE), Decided((("pod-1", "first", None),), {}), "pod-1: went onto .*on .'one'"),
        (
            a_world(ONE, TWO),
            Decided((("pod-2", "first", "one"), ("pod-1", "first", "one")), {}),
            r"admitted in the order \['pod-2', 'pod-1'\]; the rules: \['pod-1', 'pod-2'\]",
        ),
        (
            a_world(ONE, TWO, quota=1000),
            Decided((("pod-1", "first", "one"), ("pod-2", "first", "one")), {}),
            r"pod-2: went onto .*; by the rules it waits with \['QuotaExceeded'\]",
        ),
        (
            a_world(ONE, TWO, node=1000),
            Decided((("pod-1", "first", "one"),), {"pod-2": "QuotaExceeded"}),
            r"pod-2: waits with QuotaExceeded; by the rules with \['NoCapacity'\]",
        ),
        (
            a_world(ONE, TWO, quota=500),
            Decided((), {"pod-1": "NeverFits", "pod-2": "QuotaExceeded"}),
            "pod-2: waits with QuotaExceeded, another pod that is just alike with NeverFits",
        ),
        (
            a_tree(LENT, OWN, poor=POOR, rich={"quotas": owning(2000)}),
            Decided((("pod-5", "first", "one"), ("pod-4", "first", "one")), {}),
            r"admitted in the order \['pod-5', 'pod-4'\]; the rules: \['pod-4', 'pod-5'\]",
        ),
        (
            a_tree(LENT, OWN, poor=POOR, rich=RICH),
            Decided((("pod-5", "first", "one"),), {"pod-4": "ParentQueueLimit"}),
            "pod-4: waits with ParentQueueLimit; by the rules it goes onto first",
        ),
        (
            a_tree(LENT, OWN, poor=POOR, rich=RICH),
            Decided((("pod-4", "first", "one"),), {"pod-5": "QuotaExceeded"}),
            r"pod-5: waits with QuotaExceeded; by the rules with \['ParentQueueLimit'\]",
        ),
        (
            a_tree(LENT, poor={**POOR, "borrowing": {("first", "cpu"): 500}}, rich=RICH),
            Decided((("pod-4", "first", "one"),), {}),
            r"pod-4: went onto .*; by the rules it waits with \['NeverFits'\]",
        ),
        (
            a_tree(LENT, poor=POOR, rich={**RICH, "lending": {("first", "cpu"): 0}}),
            Decided((), {"pod-4": "ParentQueueLimit"}),
            r"pod-4: waits with ParentQueueLimit; by the rules with \['NeverFits'\]",
        ),
        (
            a_tree(OWN, replace(OWN, name="pod-6", created=2), rich={"quotas": owning(9000), "limits": {"pods": 1}}),
            Decided((("pod-5", "first", "one"),), {"pod-6": "QuotaExceeded"}),
            r"pod-6: waits with QuotaExceeded; by the rules with \['QueueLimit'\]",
        ),
        (
            a_tree(OWN, rich={**RICH, "parent": "gone"}),
            Decided((("pod-5", "first", "one"),), {}),
            r"pod-5: went onto .*; by the rules it waits with \['QueueInvalid'\]",
        ),
        (
            a_world(*GANG, quota=1500),
            Decided((("pod-7", "first", "one"),), {"pod-8": "QuotaExceeded"}),
            r"pod-8: waits with QuotaExceeded; by the rules with \['NeverFits'\]|pod-7: went onto",
        ),
        (
            a_world(*GANG),
            Decided((("pod-7", "first", "one"),), {"pod-8": "QuotaExceeded"}),
            "pod-8: waits with QuotaExceeded; by the rules it goes onto first",
        ),
        (
            a_world(GANG[0], TWO, replace(GANG[1], created=2), quota=9000, node=9000),
            Decided((("pod-7", "first", "one"), ("pod-2", "first", "one"), ("pod-8", "first", "one")), {}),
            r"admitted in the order .*; the rules: \['pod-2', 'pod-7.pod-8'\]",
        ),
        (
            a_world(GANG[0]),
            Decided((("pod-7", "first", "one"),), {}),
            r"pod-7: went onto .*; by the rules it waits with \['MembersNeverComplete'\]",
        ),
        (
            replace(a_world(ONE, GANG[1]), running=(BEGUN,)),
            Decided((("pod-1", "first", "one"),), {"pod-8": "NoCapacity"}),
            r"pod-8: waits with NoCapacity; by the rules it goes onto first",
        ),
        (
            a_choice(ONE, is_any=True),
            Decided((("pod-1", "first", "spot"),), {}),
            "pod-1: went onto .*; by the rules it goes onto first or second, on .'spot',",
        ),
        (
            a_choice(LARGE, is_any=True),
            Decided((("pod-3", "first or second", "spot"),), {}),
            "pod-3: went onto .*; by the rules it waits with .'NeverFits'",
        ),
        (
            a_choice(ONE, spot_percent=50),
            Decided((("pod-1", "first", "spot"),), {}),
            "pod-1: went onto .*; by the rules it goes onto second, on .'steady',",
        ),
        (
            a_choice(ONE, TWO, on_demand_base=1),
            Decided((("pod-1", "second", "steady"), ("pod-2", "second", "steady")), {}),
            "pod-2: went onto .*; by the rules it goes onto first, on .'spot',",
        ),
        (
            a_fair_tree(LENT, replace(LENT, name="pod-7", created=1), replace(OWN, created=2)),
            Decided(tuple((name, "first", "one") for name in ("pod-4", "pod-7", "pod-5")), {}),
            r"admitted in the order .*; the rules: .'pod-4', 'pod-5', 'pod-7'.",
        ),
        (
            a_fair_tree(LENT, replace(LENT, name="pod-7", created=1), replace(OWN, created=2), weight=2),
            Decided(tuple((name, "first", "one") for name in ("pod-4", "pod-5", "pod-7")), {}),
            r"admitted in the order .*; the rules: .'pod-4', 'pod-7', 'pod-5'.",
        ),
        (a_tree_of_hope(is_ending=False), SMALL_WENT, "pod-4: waits with ParentQueueLimit; by the rules it goes onto"),
        (
            a_full_world(a_running_pod("low"), quota=1000),
            Decided((), {"pod-1": "QuotaExceeded"}),
            "pod-1: pods of its own queue may be preempted for it, and are not",
        ),
        (a_full_world(a_running_pod("low")), preempting("low"), "pod-1: waits with Preempting; by the rules it goes"),
        (
            a_full_world(a_running_pod("low"), a_running_pod("bare", is_replaced=False)),
            preempting("bare"),
            "pod-1: others are preempted for it: bare: may not be preempted",
        ),
        (
            a_full_world(a_running_pod("low"), a_running_pod("high", priority=1)),
            preempting("high"),
            "pod-1: others are preempted for it: high: may not be preempted",
        ),
        (
            a_full_world(a_running_pod("low"), a_running_pod("late", minutes=5)),
            preempting("low", "late"),
            r"pod-1: others are preempted for it: some of \['late', 'low'\] could have stayed",
        ),
        (
            a_full_world(a_running_pod("low"), a_running_pod("late", minutes=5)),
            preempting("low"),
            r"pod-1: others are preempted for it: \['low'\] go instead of \['late'\]",
        ),
        (
            a_full_world(a_running_pod("low"), a_running_pod("other", queue="")),
            preempting(),
            r"pod-1: others are preempted for it: does not fit without \[\]",
        ),
        (
            a_full_world(a_running_pod("low"), quota=1000, node=9000, within="Never"),
            preempting("low"),
            "pod-1: others are preempted for it: low: may not be preempted",
        ),
        (
            a_mixed_world(),
            replace(preempting("low"), admitted=(("pod-2", "first", "spot"),)),
            "pod-1: others are preempted for it: pod-2: went onto .*'first', 'spot'.*; by the rules it waits with",
        ),
        (
            a_full_world(a_running_pod("low"), a_running_pod("bare", is_replaced=False)),
            replace(preempting("low"), evicted=("low", "bare")),
            "pod-1: others are preempted for it: bare: may not be preempted",
        ),
    ],
)
def test_a_wrong_decision_is_noticed(monkeypatch: pytest.MonkeyPatch, world: World, said: Decided, told: str) -> None:
    assert not disagreement(world)
    monkeypatch.setattr(agreement, "decided", lambda _: said)
    with pytest.raises(AssertionError, match=told):
        assert not disagreement(world), disagreement(world)


def test_a_futile_preemptor_takes_part_by_its_share() -> None:
    assert decided(a_tree_of_hope(is_ending=True)) == SMALL_WENT
    assert not disagreement(a_tree_of_hope(is_ending=True))


def test_a_disagreement_is_shown_as_its_smallest_scenario(monkeypatch: pytest.MonkeyPatch) -> None:
    def admitting_one(snapshot: Snapshot, *, limit: int, index: object) -> Plan:
        assert index is not None
        admits = decide(snapshot, limit=limit).admits[:1]
        return Plan(admits, {kind: Wait(Reason.NO_CAPACITY) for kind in snapshot.waiting.runs}, is_complete=True)

    monkeypatch.setattr(agreement, "decide", admitting_one)
    world = a_world(ONE, TWO, LARGE, node=8000, quota=8000)
    assert len(smallest(world).pods) == 2
    told, _, scenario = report(world).partition("\n\n")
    assert told == "pod-3: waits with NoCapacity; by the rules it goes onto first, on ('one',)"
    assert yaml.safe_load(scenario)["steps"][0]["create"].keys() == {"pod-2", "pod-3"}
