"""The parts of the order of those who wait, as Slurm's sprio shows those of a priority, and the shares of queues."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from controller.core.queueing.fair_sharing_policy import Share as FairShare
from controller.core.queueing.past_usage import PastUsage, Share, cores
from controller.core.quota.fair_sharing import FairShares, shown
from controller.core.snapshot import Snapshot
from controller.core.workloads.workload import QueueKey, Workload, among_all, is_ahead
from controller.kube.clock import rfc3339
from controller.visibility.lines import Place, cluster_queue_of, lines, places
from controller.visibility.rows import OrderRow, ShareRow


def order(snapshot: Snapshot, namespaces: Iterable[str] | None = None) -> list[OrderRow]:
    """Return the parts of everybody's place, ClusterQueue by ClusterQueue; `namespaces` None: of all."""
    wanted = None if namespaces is None else frozenset(namespaces)
    rows = list[OrderRow]()
    for name, line in lines(snapshot).items():
        found = places(line)
        those = [one for one in line if wanted is None or one.kind.queue[0] in wanted]
        rows += [order_row(snapshot, cluster_queue_of(name), one, found[one.uid]) for one in those]
    return rows


def order_row(snapshot: Snapshot, queue: str, workload: Workload, place: Place) -> OrderRow:
    """Return the parts of the place of a workload in the line of a ClusterQueue."""
    past = snapshot.usage.past.get(workload.kind.queue)
    users = None if past is None or past.users is None else past.users.get(workload.kind.user)
    front = workload.order[4] if workload.order[6] else ""
    # who stands behind another has the other's place, and its own behind that
    own = workload.order[6] or workload.order
    _, since, index, created, *_ = own
    return OrderRow(
        namespace=workload.kind.queue[0],
        name=workload.name.rpartition("/")[-1],
        cluster_queue=queue,
        local_queue=workload.kind.queue[1],
        place=place.in_cluster_queue,
        place_in_local_queue=place.in_local_queue,
        begun=bool(snapshot.waiting.preemptors.get(workload.uid)),
        completes_gang=is_ahead(workload.order),
        behind=front,
        priority=-among_all(workload.order)[0],
        queue_usage="" if past is None else cores(past.consumed),
        user_usage="" if users is None else cores(users.consumed),
        owner_created=rfc3339(since),
        index=index,
        created=rfc3339(created),
    )


def shares(snapshot: Snapshot) -> list[ShareRow]:
    """Return the shares of ClusterQueues whose tree shares fairly, then the LocalQueues that past usage orders."""
    return [row for rows in each_share(snapshot) for row in rows]


def each_share(snapshot: Snapshot) -> Iterator[list[ShareRow]]:
    """Yield the same in short steps, some of which only prepare what the next one shows."""
    tree = snapshot.queues.tree
    found = FairShares(tree, snapshot.usage.in_tree)
    for parent in [name for root in sorted(tree.fair_roots) for name in tree.below(root)]:
        ranked: list[tuple[FairShare, str]] = []
        for name in tree.children(parent):
            ranked.append((found.of(name), name))
            yield []
        yield [
            ShareRow("ClusterQueue", name, parent, str(tree.weight(name)), shown(share), "", rank)
            for rank, (share, name) in enumerate(sorted(ranked), start=1)
        ]
    yield from _local_shares(snapshot)


def _local_shares(snapshot: Snapshot) -> Iterator[list[ShareRow]]:
    by_queue: dict[str, list[tuple[Share, QueueKey, PastUsage]]] = {}
    for key, local in sorted(snapshot.queues.local_queues.items(), key=lambda one: one[0]):
        past = snapshot.usage.past.get(key)
        if past is not None:
            by_queue.setdefault(local.cluster_queue, []).append((past.share(), key, past))
            yield []
    for queue, those in sorted(by_queue.items(), key=lambda one: one[0]):
        yield [
            ShareRow("LocalQueue", "/".join(key), queue, str(past.weight), None, cores(past.consumed), rank)
            for rank, (_, key, past) in enumerate(sorted(those, key=lambda one: one[:2]), start=1)
        ]
