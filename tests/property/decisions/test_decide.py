from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from controller.core.capacity.node_index import NodeIndex
from controller.core.decision.decide import decide
from controller.core.kubernetes.amounts import PODS
from controller.core.queueing.queues import CapacityMode, ClusterQueue, QueueingStrategy
from controller.core.quota.tree_usage import TreeUsage
from controller.core.reasons import Reason
from controller.core.snapshot import Snapshot
from controller.core.workloads.decisions import Plan
from controller.core.workloads.pods import Pod
from tests.support.builders import UNLIMITED, a_snapshot, a_workload
from tests.support.constraints import allows
from tests.support.snapshots import changed
from tests.support.strategies import DOORS, worlds

THOROUGH = settings(max_examples=200)
World = tuple[Snapshot, list[Pod]]


def leaves(world: Snapshot) -> list[ClusterQueue]:
    return [queue for queue in world.queues.cluster_queues.values() if not world.queues.tree.children(queue.name)]


def applied(world: Snapshot, plan: Plan, pods: list[Pod]) -> Snapshot:
    """The world in which the plan's workloads are admitted."""
    left = {pod.uid: pod for pod in pods}
    usage, of_flavor = TreeUsage(world.queues.tree), dict(world.usage.by_flavor)
    for queue in leaves(world):
        for quota in queue.flavors:
            for resource in {*quota.nominal, PODS}:
                used = world.usage.in_tree.used(queue.name, quota.flavor, resource)
                usage.add(queue.name, quota.flavor, resource, used)
    on_node = {node: dict(sums) for node, sums in world.nodes.used.items()}
    for admit in plan.admits:
        del left[admit.uid]
        for resource, amount in admit.workload.kind.requests:
            total = (admit.flavor, resource)
            usage.add(admit.cluster_queue, admit.flavor, resource, amount)
            of_flavor[total] = of_flavor.get(total, 0) + amount
            if admit.node is not None:
                taken = on_node.setdefault(admit.node, {})
                taken[resource] = taken.get(resource, 0) + amount
    fresh = a_snapshot(*left.values(), locals_=DOORS)
    return changed(world, runs=fresh.waiting.runs, in_tree=usage, by_flavor=of_flavor, used=on_node)


@THOROUGH
@given(worlds(), st.sampled_from((1, 3, UNLIMITED)))
def test_nothing_is_given_twice(made: World, limit: int) -> None:
    world, pods = made
    plan = decide(world, limit=limit)
    after = applied(world, plan, pods)
    for queue in world.queues.cluster_queues.values():
        for column in world.queues.tree.columns(queue.name):
            cell = world.queues.tree.cell(queue.name, column)
            assert cell is not None
            borrowed = after.usage.in_tree.used(queue.name, *column) - cell.subtree
            most = 0 if not queue.parent else cell.borrowing_limit
            assert most is None or borrowed <= most
        for resource, most in queue.limits.items():
            assert after.usage.in_tree.used(queue.name, "", resource) <= most
    for flavor in world.queues.flavors.values():
        for resource, capacity in flavor.sums.items():
            assert after.usage.by_flavor.get((flavor.name, resource), 0) <= capacity
    for node, used in after.nodes.used.items():
        for resource, amount in used.items():
            assert amount <= world.nodes.index.nodes[node].allocatable.get(resource, 0)
    assert len(plan.admits) <= limit


@THOROUGH
@given(worlds())
def test_a_pod_is_only_put_where_it_may_run(made: World) -> None:
    world, _ = made
    for admit in decide(world, limit=UNLIMITED).admits:
        queue, flavor = world.queues.cluster_queues[admit.cluster_queue], world.queues.flavors[admit.flavor]
        quota = next(one for one in queue.flavors if one.flavor == flavor.name)
        asked = {resource for resource, _ in admit.workload.kind.requests}
        assert asked - {"pods"} <= quota.nominal.keys()
        assert (admit.node is None) is (flavor.mode is CapacityMode.STATIC)
        if admit.node is not None:
            node = world.nodes.index.nodes[admit.node]
            assert node.is_usable
            assert not node.taints
            assert flavor.selects(node.labels)
            assert allows(admit.workload.kind.pod_sets[0].shape.constraints, node.name, node.labels)


@THOROUGH
@given(worlds(), st.randoms(use_true_random=False))
def test_the_order_of_insertion_changes_nothing(made: World, chance: random.Random) -> None:
    world, pods = made
    chance.shuffle(pods)
    nodes = list(world.nodes.index.nodes.values())
    chance.shuffle(nodes)
    other = changed(
        world,
        runs=a_snapshot(*pods).waiting.runs,
        index=NodeIndex({node.name: node for node in nodes}, dict(reversed(list(world.queues.flavors.items())))),
    )
    first, second = decide(world, limit=UNLIMITED), decide(other, limit=UNLIMITED)
    assert first.admits == second.admits
    assert dict(first.waits) == dict(second.waits)


@THOROUGH
@given(worlds())
def test_a_complete_decision_leaves_nothing_to_admit(made: World) -> None:
    world, pods = made
    plan = decide(world, limit=UNLIMITED)
    assert plan.is_complete
    assert decide(applied(world, plan, pods), limit=UNLIMITED).admits == ()


@THOROUGH
@given(worlds(), st.integers(1, 3))
def test_deciding_in_small_steps_comes_to_the_same_end(made: World, limit: int) -> None:
    world, pods = made
    whole = [admit.uid for admit in decide(world, limit=UNLIMITED).admits]
    uids: list[str] = []
    left = pods
    while True:
        plan = decide(world, limit=limit)
        uids += [admit.uid for admit in plan.admits]
        world = applied(world, plan, left)
        left = [pod for pod in left if pod.uid not in uids]
        if plan.is_complete:
            break
    assert uids == whole


@THOROUGH
@given(worlds())
def test_strict_fifo_is_never_overtaken(made: World) -> None:
    world, pods = made
    plan = decide(world, limit=UNLIMITED)
    admitted = {admit.uid for admit in plan.admits}
    never = {kind for kind, wait in plan.waits.items() if wait.reason is Reason.NEVER_FITS}
    doors = {(door.namespace, door.name): door.cluster_queue for door in DOORS}
    for queue in world.queues.cluster_queues.values():
        if queue.strategy is QueueingStrategy.STRICT_FIFO:
            behind = [a_workload(pod) for pod in pods if doors.get((pod.namespace, pod.queue or "")) == queue.name]
            may_fit = [workload for workload in behind if workload.kind not in never]
            in_order = [workload.uid in admitted for workload in sorted(may_fit, key=lambda one: one.order)]
            assert in_order == sorted(in_order, reverse=True)


@THOROUGH
@given(worlds())
def test_a_class_stays_in_order_and_who_waits_has_a_reason(made: World) -> None:
    world, _ = made
    plan = decide(world, limit=UNLIMITED)
    admitted = {admit.uid for admit in plan.admits}
    for kind, run in world.waiting.runs.items():
        flags = [workload.uid in admitted for workload in run]
        assert flags == sorted(flags, reverse=True)
        assert (kind in plan.waits) is (not all(flags))
