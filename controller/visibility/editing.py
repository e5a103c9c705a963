"""A snapshot with something changed in it, as the cache would show it: what rests on the change is worked out anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from controller.core.capacity.node_index import NodeIndex
from controller.core.capacity.room import Room
from controller.core.forecasts.expected_ends import ExpectedEnds
from controller.core.forecasts.forecast import Forecast
from controller.core.kubernetes.nodes import Node
from controller.core.queueing.queues import ClusterQueue, Flavor
from controller.core.quota.quota_tree import QuotaTree, UsageKey
from controller.core.quota.tree_usage import TreeUsage
from controller.core.quota.user_limits import UserUsage
from controller.core.snapshot import Memo, NodeView, Snapshot, UsageView
from controller.core.workloads.charges import Charge
from controller.core.workloads.workload import Workload, WorkloadClass


@dataclass(frozen=True, slots=True)
class MadeNode:
    """Of a node that was added: the one that it is like, by name, and in words what it has beside; empty: nothing."""

    like: str
    enlarged: str


@dataclass(frozen=True, slots=True)
class Case:
    """A snapshot, and a workload that waits in it. `made`: the nodes that were added, by name."""

    snapshot: Snapshot
    workload: Workload
    made: Mapping[str, MadeNode] = field(default_factory=dict)

    def with_snapshot(self, snapshot: Snapshot) -> Case:
        """Return the same workload in another snapshot."""
        return replace(self, snapshot=snapshot)

    def with_class(self, kind: WorkloadClass) -> Case:
        """Return the case with the workload in another class, and nothing else of it changed."""
        former, made = self.workload, replace(self.workload, kind=kind)
        runs = dict(self.snapshot.waiting.runs)
        left = [one for one in runs.pop(former.kind) if one.uid != former.uid]
        if left:
            runs[former.kind] = left
        runs[kind] = sorted([*runs.get(kind, []), made], key=lambda one: one.order)
        waiting = replace(self.snapshot.waiting, runs=runs)
        return replace(self, snapshot=replace(self.snapshot, waiting=waiting, memo=Memo()), workload=made)


def with_queues(
    snapshot: Snapshot,
    changed: Mapping[str, ClusterQueue],
    *,
    flavors: Mapping[str, Flavor] | None = None,
    faulty: Mapping[str, str] | None = None,
) -> Snapshot:
    """Return the snapshot with these ClusterQueues instead of those of the same name, and these flavors."""
    known = snapshot.queues
    queues = {**known.cluster_queues, **changed}
    fault = known.faulty if faulty is None else faulty
    given = known.flavors if flavors is None else flavors
    tree = QuotaTree(queues, fault, known.tree.resources)
    view = replace(known, cluster_queues=queues, tree=tree, flavors=given, faulty=fault)
    edited = replace(snapshot, queues=view, usage=_counted_along(tree, snapshot.usage), memo=Memo())
    return edited if flavors is None else with_nodes(edited, {})


def with_nodes(snapshot: Snapshot, changed: Mapping[str, Node]) -> Snapshot:
    """Return the snapshot with these nodes, new ones or instead of those of the same name."""
    queues = snapshot.queues.cluster_queues.values()
    orders = [order for one in queues if len(order := tuple(it.flavor for it in one.flavors)) > 1]
    index = NodeIndex({**snapshot.nodes.index.nodes, **changed}, dict(snapshot.queues.flavors), orders)
    nodes = replace(snapshot.nodes, index=index, room=Room(index, snapshot.nodes.used))
    return replace(snapshot, nodes=nodes, memo=Memo())


def without_pods(snapshot: Snapshot, gone: Collection[str]) -> Snapshot:
    """Return the snapshot without these admitted pods, by uid, and without what they hold."""
    away = frozenset(gone)
    charges = dict(snapshot.usage.charges)
    ended = [(uid, charge) for uid in away if (charge := charges.pop(uid, None)) is not None]
    running, leaving = snapshot.running, snapshot.running.leaving
    pods = {uid: pod for uid, pod in running.pods.items() if uid not in away}
    left = replace(leaving, evicting=leaving.evicting - away, terminating=leaving.terminating - away)
    forecast = None if running.forecast is None else _without(running.forecast, away)
    return replace(
        snapshot,
        usage=_given_back(snapshot, charges, ended),
        nodes=_left_on_nodes(snapshot.nodes, ended),
        running=replace(running, pods=pods, leaving=left, forecast=forecast),
        memo=Memo(),
    )


def _given_back(snapshot: Snapshot, charges: Mapping[str, Charge], ended: Sequence[tuple[str, Charge]]) -> UsageView:
    """Return what is used without what these held."""
    known, tree = snapshot.usage, snapshot.queues.tree
    in_tree, users = TreeUsage(tree, known.in_tree), UserUsage(tree, known.by_user)
    by_flavor, charged = Counter(known.by_flavor), dict(known.charged)
    for uid, one in ended:
        if not one.cluster_queue:
            continue
        charged[one.cluster_queue] = dict.fromkeys(it for it in charged[one.cluster_queue] if it != uid)
        users.add(one.cluster_queue, one.user, one.requests, -1)
        for resource, amount in one.requests:
            for flavor in one.flavors:
                is_only_held = flavor != one.flavor
                in_tree.add(one.cluster_queue, flavor, resource, -amount, is_only_held=is_only_held)
                by_flavor[flavor, resource] -= amount
    by_user = Counter(known.by_user)
    by_user.update(users.sums)
    return replace(known, in_tree=in_tree, by_flavor=by_flavor, by_user=by_user, charges=charges, charged=charged)


def _left_on_nodes(nodes: NodeView, ended: Sequence[tuple[str, Charge]]) -> NodeView:
    """Return what is used on nodes without what these took there."""
    used, bound = dict(nodes.used), dict(nodes.bound)
    for uid, one in ended:
        if one.node is None:
            continue
        amounts = Counter(used.get(one.node, {}))
        amounts.subtract(dict(one.requests))
        used[one.node] = amounts
        bound[one.node] = dict.fromkeys(it for it in bound.get(one.node, ()) if it != uid)
    return replace(nodes, used=used, bound=bound, room=Room(nodes.index, used))


def _counted_along(tree: QuotaTree, known: UsageView) -> UsageView:
    """Return what is used, counted along another tree."""
    paid, held = dict[UsageKey, int](), dict[UsageKey, int]()
    users, limits_users = UserUsage(tree), tree.limits_users
    for one in known.charges.values():
        if not one.cluster_queue:
            continue
        for resource, amount in one.requests:
            for flavor, sums in ((one.flavor, paid), *((other, held) for other in one.also)):
                key: UsageKey = (one.cluster_queue, flavor, resource)
                sums[key] = sums.get(key, 0) + amount
        if limits_users:
            users.add(one.cluster_queue, one.user, one.requests)
    in_tree = TreeUsage(tree)
    for sums in (paid, held):
        for (queue, flavor, resource), amount in sums.items():
            in_tree.add(queue, flavor, resource, amount, is_only_held=sums is held)
    return replace(known, in_tree=in_tree, by_user=users.sums)


def _without(forecast: Forecast, gone: frozenset[str]) -> Forecast:
    ends = ExpectedEnds()
    for one in forecast.ends:
        if one.uid not in gone:
            ends.put(one)
    return replace(forecast, ends=ends)
