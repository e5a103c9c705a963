"""Builders of core values, legal and ordinary unless a test says otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from controller.cache.cluster import ClusterCache
from controller.cache.sinks import PodSink
from controller.core.capacity.node_index import NodeIndex
from controller.core.decision.decide import decide
from controller.core.eviction_rules.over_quota import excesses
from controller.core.forecasts.forecast import USUAL_DEPTH
from controller.core.keys import GATE
from controller.core.kubernetes.amounts import PODS, as_requests, demand_amount, supply_amount
from controller.core.kubernetes.labels import LabelSelector, Operator, Requirement, Term
from controller.core.kubernetes.nodes import Node
from controller.core.kubernetes.taints import Taint, Toleration
from controller.core.queueing.queues import (
    CapacityMode,
    ClusterQueue,
    Flavor,
    FlavorQuota,
    LocalQueue,
    QueueingStrategy,
    StopPolicy,
)
from controller.core.quota.quota_tree import QuotaTree, UsageKey
from controller.core.quota.tree_usage import TreeUsage
from controller.core.reasons import has_begun
from controller.core.snapshot import NodeView, QueueView, Snapshot, UsageView, WaitingView
from controller.core.workloads.backlog import Backlog
from controller.core.workloads.decisions import Plan
from controller.core.workloads.pods import Pod, PublishedCondition, SpecPresence
from controller.core.workloads.shapes import Constraints, Shape
from controller.core.workloads.workload import PodSet, Workload, WorkloadClass, order_key
from tests.support.snapshots import changed

GPU = "nvidia.com/gpu"
MAIN: Final = ("default", "main")
EVERY_NAMESPACE = LabelSelector()
STRICT = QueueingStrategy.STRICT_FIFO
HOLD = StopPolicy.HOLD
UNLIMITED = 10_000


def a_requirement(text: str) -> Requirement:
    """Read `pool In a,b`, `gpu Exists` or `cores Gt 4`."""
    key, operator, *values = text.split()
    return Requirement(key, Operator(operator), tuple(values[0].split(",")) if values else ())


def a_term(*expressions: str, fields: Iterable[str] = ()) -> Term:
    return Term(tuple(map(a_requirement, expressions)), tuple(map(a_requirement, fields)))


def a_taint(key: str = "spot", value: str = "", effect: str = "NoSchedule") -> Taint:
    return Taint(key, value, effect)


def constraints(
    *,
    selector: Mapping[str, str] | None = None,
    terms: Iterable[Term] | None = None,
    tolerations: Iterable[Toleration] = (),
) -> Constraints:
    return Constraints(
        tuple(sorted((selector or {}).items())), None if terms is None else tuple(terms), tuple(tolerations)
    )


def a_shape(where: Constraints | None = None, /, **amounts: str | int) -> Shape:
    """`a_shape(cpu="2", memory="1Gi")`; one of `pods` comes with every shape, as with every pod."""
    counted = {name: demand_amount(name, text) for name, text in (amounts or {"cpu": "1"}).items()}
    return Shape(as_requests({**counted, PODS: 1}), where or Constraints())


def a_pod(
    name: str = "pod",
    shape: Shape | None = None,
    *,
    namespace: str = "default",
    queue: str | None = "main",
    **fields: Any,
) -> Pod:
    """A queued pod; its uid is its name unless given."""
    filled = {"uid": name, "gates": (GATE,), "generation": 1, "resource_version": "1", **fields}
    return Pod(name=name, namespace=namespace, queue=queue, shape=shape or a_shape(), **filled)


def a_released_pod(name: str = "pod", shape: Shape | None = None, **fields: Any) -> Pod:
    """A pod that we released: no gate, our stamps on it."""
    filled = {"gates": (), "cluster_queue": "team-a", "flavor": "spot", "generation": 2, "resource_version": "2"}
    return a_pod(name, shape, **{**filled, **fields})


def a_foreign_pod(name: str = "foreign", shape: Shape | None = None, *, node: str | None = None, **fields: Any) -> Pod:
    """A pod that has nothing to do with us."""
    return a_pod(name, shape, queue=None, gates=(), node=node, **fields)


def a_saying(
    status: str = "False", reason: str = "NoCapacity", *, at: float = 0.0, message: str = ""
) -> PublishedCondition:
    """Our condition as it stands on a pod."""
    return PublishedCondition(status, reason, hash(message), at, has_begun=has_begun(reason, message))


def an_outline(*parts: str) -> SpecPresence:
    return SpecPresence(**dict.fromkeys(parts, True))


def a_node(
    name: str = "node-1",
    *,
    labels: Mapping[str, str] | None = None,
    taints: Iterable[Taint] = (),
    is_usable: bool = True,
    **allocatable: str | int,
) -> Node:
    """A ready node of the flavor `spot` with 4 cpu and room for 110 pods, unless given."""
    room = {PODS: 110, **(allocatable or {"cpu": "4"})}
    return Node(
        name=name,
        labels={"pool": "spot"} if labels is None else labels,
        taints=tuple(taints),
        allocatable={resource: supply_amount(resource, text) for resource, text in room.items()},
        is_cordoned=not is_usable,
    )


def a_flavor(
    name: str = "spot",
    *,
    labels: Mapping[str, str] | None = None,
    requirements: Iterable[str] = (),
    tolerations: Iterable[Toleration] = (),
    **fields: Any,
) -> Flavor:
    """A flavor of the nodes labelled `pool=<name>`, unless other labels are given."""
    return Flavor(
        name=name,
        node_labels=tuple(sorted(({"pool": name} if labels is None else labels).items())),
        requirements=tuple(map(a_requirement, requirements)),
        tolerations=tuple(tolerations),
        **fields,
    )


def a_static_flavor(name: str = "licence", *, labels: Mapping[str, str] | None = None, **capacity: str | int) -> Flavor:
    return Flavor(
        name=name,
        node_labels=tuple(sorted((labels or {}).items())),
        mode=CapacityMode.STATIC,
        sums={resource: supply_amount(resource, text) for resource, text in capacity.items()},
    )


def a_quota(flavor: str = "spot", **nominal: str | int) -> FlavorQuota:
    given = nominal or {"cpu": "8"}
    return FlavorQuota(flavor, {resource: supply_amount(resource, text) for resource, text in given.items()})


def a_tree_quota(
    flavor: str = "spot", cpu: int = 8, *, borrow: int | None = None, lend: int | None = None
) -> FlavorQuota:
    """A quota of cpu, in thousandths, with the limits of a queue that has a parent."""
    return FlavorQuota(
        flavor,
        {"cpu": cpu},
        borrowing={} if borrow is None else {"cpu": borrow},
        lending={} if lend is None else {"cpu": lend},
    )


def a_cluster_queue(name: str = "team-a", *quotas: FlavorQuota, **fields: Any) -> ClusterQueue:
    """A best-effort queue that every namespace may use, with 8 cpu of `spot` unless other quotas are given."""
    return ClusterQueue(name=name, flavors=quotas or (a_quota(),), **{"namespaces": EVERY_NAMESPACE, **fields})


def a_local_queue(
    name: str = "main", cluster_queue: str = "team-a", *, namespace: str = "default", stop: StopPolicy = StopPolicy.NONE
) -> LocalQueue:
    return LocalQueue(namespace=namespace, name=name, cluster_queue=cluster_queue, stop=stop)


def a_workload(pod: Pod) -> Workload:
    kind = WorkloadClass((pod.namespace, pod.queue or ""), (PodSet(pod.shape),), pod.hold)
    order = order_key(priority=pod.priority, since=pod.created, created=pod.created, name=pod.key, uid=pod.uid)
    return Workload(pod.uid, pod.key, kind, order)


def a_snapshot(
    *pods: Pod,
    nodes: Iterable[Node] | None = None,
    flavors: Iterable[Flavor] | None = None,
    queues: Iterable[ClusterQueue] | None = None,
    locals_: Iterable[LocalQueue] | None = None,
    usage: Mapping[UsageKey, int] | None = None,
    **fields: Any,
) -> Snapshot:
    """One node, one flavor, one cluster queue and one local queue, unless others are given; `pods` wait."""
    backlog = Backlog()
    for pod in pods:
        backlog.put(a_workload(pod))
    by_name = {flavor.name: flavor for flavor in ([a_flavor()] if flavors is None else flavors)}
    known = {node.name: node for node in ([a_node()] if nodes is None else nodes)}
    doors = [a_local_queue()] if locals_ is None else locals_
    by_queue = {queue.name: queue for queue in ([a_cluster_queue()] if queues is None else queues)}
    tree = QuotaTree(by_queue)
    used = TreeUsage(tree)
    for (queue, flavor, resource), amount in (usage or {}).items():
        used.add(queue, flavor, resource, amount)
    bare = Snapshot(
        queues=QueueView(
            cluster_queues=by_queue,
            tree=tree,
            local_queues={(door.namespace, door.name): door for door in doors},
            flavors=by_name,
            namespaces={"default": {}},
        ),
        usage=UsageView(in_tree=used),
        nodes=NodeView(index=NodeIndex(known, by_name)),
        waiting=WaitingView(runs=backlog.runs),
    )
    return changed(bare, **fields)


def a_cache(
    *pods: Pod,
    nodes: Iterable[Node] | None = None,
    flavors: Iterable[Flavor] | None = None,
    queues: Iterable[ClusterQueue] | None = None,
    locals_: Iterable[LocalQueue] | None = None,
    on_change: Callable[[], None] = lambda: None,
    backfill_depth: int = USUAL_DEPTH,
) -> ClusterCache:
    """A cache fed with what `a_snapshot` would show."""
    cache = ClusterCache(on_change, backfill_depth=backfill_depth)
    cache.set_namespace("default", {})
    for node in [a_node()] if nodes is None else nodes:
        cache.put_node(node)
    for flavor in [a_flavor()] if flavors is None else flavors:
        cache.set_flavor(flavor.name, flavor)
    for queue in [a_cluster_queue()] if queues is None else queues:
        cache.set_cluster_queue(queue.name, queue)
    for door in [a_local_queue()] if locals_ is None else locals_:
        cache.set_local_queue((door.namespace, door.name), door)
    list_pods(cache, pods)
    return cache


def list_pods(cache: ClusterCache, pods: Iterable[Pod]) -> None:
    """Let the cache take in a full list of pods."""
    for _ in PodSink(cache).replace(list(pods)):
        pass


def decided(cache: ClusterCache, *, limit: int = UNLIMITED) -> Plan:
    """Decide once and let the cache remember it."""
    plan = decide(cache.snapshot(), index=cache.feasibility, limit=limit)
    cache.absorb(plan)
    return plan


def too_much(cache: ClusterCache) -> dict[tuple[str, str, str], int]:
    """What is used, by queue, flavor (empty: of a limit) and resource, wherever that is more than may be."""
    tree, usage = cache.tree, cache.usage.in_tree
    found = ((name, one) for name in tree.names for one in excesses(tree, usage, name))
    return {(name, one.flavor, one.resource): one.used for name, one in found}


def admitted(plan: Plan) -> dict[str, tuple[str, str | None]]:
    """(flavor, node) by the uid of each admitted pod."""
    return {admit.uid: (admit.flavor, admit.node) for admit in plan.admits}


def waiting(plan: Plan) -> dict[str, str]:
    """Reason by class, the class written as its queue and demand of cpu in thousandths; for plans of few classes."""
    return {
        f"{kind.queue[1]}/{dict(kind.requests).get('cpu', 0)}": wait.reason.value for kind, wait in plan.waits.items()
    }
