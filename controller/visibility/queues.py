"""ClusterQueues and LocalQueues as people see them: quota, what is used, borrowed and lent, and how many wait."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from controller.core.decision.admission_checks import admitting_queue, closed_queue
from controller.core.kubernetes.amounts import format_amount
from controller.core.queueing.queues import ClusterQueue
from controller.core.quota.fair_sharing import FairShares, shown
from controller.core.quota.quota_tree import Column
from controller.core.snapshot import Snapshot
from controller.core.workloads.charges import Charge
from controller.core.workloads.decisions import Wait
from controller.core.workloads.pods import Phase
from controller.core.workloads.workload import QueueKey
from controller.visibility.rows import ClusterQueueRow, FlavorUse, LimitUse, LocalQueueRow, ResourceUse


def cluster_queues(snapshot: Snapshot) -> list[ClusterQueueRow]:
    """Return every ClusterQueue, each behind its parent, those of one parent by name."""
    rows = QueueRows(snapshot)
    return [rows.cluster_queue(name) for name in rows.names]


def local_queues(snapshot: Snapshot, namespaces: Iterable[str] | None = None) -> list[LocalQueueRow]:
    """Return the LocalQueues by namespace and name; `namespaces` None: of all."""
    wanted = None if namespaces is None else frozenset(namespaces)
    rows = QueueRows(snapshot)
    return [rows.local_queue(key) for key in rows.keys if wanted is None or key[0] in wanted]


class QueueRows:
    """The rows of one snapshot, one at a time, for who has to give way in between.

    `names` are the ClusterQueues, each behind its parent, those of one parent by name, and the faulty ones last; `keys`
    the LocalQueues by namespace and name.
    """

    def __init__(self, snapshot: Snapshot, counts: Counts | None = None) -> None:
        """`counts` are those of the snapshot, where they were made before."""
        self.snapshot = snapshot
        self._counts = counted(snapshot) if counts is None else counts
        self._lending = Lending(snapshot)
        self._shares = FairShares(snapshot.queues.tree, snapshot.usage.in_tree)
        view = snapshot.queues
        roots = sorted(name for name in view.tree.names if len(view.tree.path(name)) == 1)
        faulty = sorted(name for name in view.faulty if name not in view.cluster_queues)
        self.names = [*(name for root in roots for name in _depth_first(snapshot, root)), *faulty]
        self.keys = sorted(view.local_queues)

    def cluster_queue(self, name: str) -> ClusterQueueRow:
        """Return the row of one of `names`."""
        fault = self.snapshot.queues.faulty.get(name)
        if name not in self.snapshot.queues.cluster_queues and fault is not None:
            return _faulty(name, fault, self._counts)
        return _cluster_queue(self.snapshot, name, self._counts, self._lending, self._shares)

    def local_queue(self, key: QueueKey) -> LocalQueueRow:
        """Return the row of one of `keys`."""
        return _local_queue(self.snapshot, key, self._counts, self._lending)


def counted(snapshot: Snapshot) -> Counts:
    """Count at once."""
    counts = Counts()
    for _ in counts.count(snapshot):
        pass
    return counts


class Counts:
    """How many pods stand where, by LocalQueue and by ClusterQueue, and what those of each LocalQueue use."""

    def __init__(self) -> None:
        self.pending: Counter[QueueKey] = Counter()
        self.admitted: Counter[tuple[QueueKey, Phase]] = Counter()
        self.below: Counter[tuple[str, str]] = Counter()
        self.used: dict[QueueKey, Counter[Column]] = {}
        self.doors: dict[str, list[str]] = {}

    def count(self, snapshot: Snapshot) -> Iterator[None]:
        """Count, in parts as this is gone through."""
        for kind, run in list(snapshot.waiting.runs.items()):
            self.pending[kind.queue] += kind.wanted * len(run)
            yield
        for key in sorted(snapshot.queues.local_queues):
            local = snapshot.queues.local_queues.get(key)
            if local is not None:
                self.below[local.cluster_queue, "pending"] += self.pending[key]
                self.doors.setdefault(local.cluster_queue, []).append("/".join(key))
        for charge in list(snapshot.usage.charges.values()):
            self._charge(charge)
            yield

    def _charge(self, charge: Charge) -> None:
        self.admitted[charge.local_queue, charge.phase] += 1
        if not charge.cluster_queue:
            return
        self.below[charge.cluster_queue, charge.phase.value] += 1
        used = self.used.setdefault(charge.local_queue, Counter())
        for resource, amount in charge.requests:
            used[charge.flavor, resource] += amount

    def sum(self, names: Iterable[str], what: str) -> int:
        """Return how many pods of these ClusterQueues are in a phase, or pending."""
        return sum(self.below[name, what] for name in names)


def _cluster_queue(
    snapshot: Snapshot, name: str, counts: Counts, lending: Lending, shares: FairShares
) -> ClusterQueueRow:
    queue, tree = snapshot.queues.cluster_queues[name], snapshot.queues.tree
    below = tree.below(name)
    closed = _closed(snapshot, queue)
    is_fair = tree.path(name)[-1] in tree.fair_roots
    return ClusterQueueRow(
        name=name,
        parent=queue.parent,
        depth=len(tree.path(name)) - 1,
        strategy=queue.strategy.value,
        active=closed is None,
        message="" if closed is None else closed.text,
        pending=counts.sum(below, "pending"),
        reserved=counts.sum(below, Phase.RESERVED.value),
        running=counts.sum(below, Phase.RUNNING.value),
        flavors=tuple(_flavors(snapshot, queue, lending)),
        limits=tuple(
            LimitUse(one, format_amount(one, most), format_amount(one, snapshot.usage.in_tree.used(name, "", one)))
            for one, most in queue.limits.items()
        ),
        weight=str(tree.weight(name)) if is_fair else None,
        share=shown(shares.of(name)) if is_fair else None,
        used_up=tuple(one.sentence for one in snapshot.usage.budgets.by_queue.get(name, ())),
        local_queues=tuple(counts.doors.get(name, ())),
    )


def _closed(snapshot: Snapshot, queue: ClusterQueue) -> Wait | None:
    """Return why it admits nobody; one that only shares its quota among those below it is not closed by that."""
    below = snapshot.queues.tree.children(queue.name)
    found = closed_queue(snapshot, queue)
    if found is not None and below and found.text.startswith(f"ClusterQueue {queue.name} takes no pods itself"):
        return None
    return found


def _faulty(name: str, fault: str, counts: Counts) -> ClusterQueueRow:
    return ClusterQueueRow(
        name=name,
        parent="",
        depth=0,
        strategy="",
        active=False,
        message=f"ClusterQueue {name} cannot be used as written: {fault}",
        pending=counts.below[name, "pending"],
        reserved=counts.below[name, Phase.RESERVED.value],
        running=counts.below[name, Phase.RUNNING.value],
        flavors=(),
        local_queues=tuple(counts.doors.get(name, ())),
    )


def _local_queue(snapshot: Snapshot, key: QueueKey, counts: Counts, lending: Lending) -> LocalQueueRow:
    local = snapshot.queues.local_queues[key]
    queue, found = snapshot.queues.cluster_queues.get(local.cluster_queue), admitting_queue(snapshot, key)
    own = counts.used.get(key, Counter())
    flavors = () if queue is None else tuple(_flavors(snapshot, queue, lending, own))
    return LocalQueueRow(
        namespace=local.namespace,
        name=local.name,
        cluster_queue=local.cluster_queue,
        active=not isinstance(found, Wait),
        message=found.text if isinstance(found, Wait) else "",
        pending=counts.pending[key],
        reserved=counts.admitted[key, Phase.RESERVED],
        running=counts.admitted[key, Phase.RUNNING],
        flavors=flavors,
    )


def _depth_first(snapshot: Snapshot, name: str) -> Iterator[str]:
    yield name
    for child in snapshot.queues.tree.children(name):
        yield from _depth_first(snapshot, child)


def _flavors(
    snapshot: Snapshot, queue: ClusterQueue, lending: Lending, used: Counter[Column] | None = None
) -> Iterator[FlavorUse]:
    """Yield its own flavors in their order, then those that only queues below it have; `used`: instead of the queue's.

    Resources are in the order in which the queue has them.
    """
    columns: dict[str, list[str]] = {quota.flavor: list(quota.nominal) for quota in queue.flavors}
    for flavor, resource in sorted(snapshot.queues.tree.columns(queue.name)):
        those = columns.setdefault(flavor, [])
        if resource not in those:
            those.append(resource)
    for flavor, resources in columns.items():
        yield FlavorUse(
            flavor, tuple(_resource(snapshot, queue.name, (flavor, resource), lending, used) for resource in resources)
        )


def _resource(
    snapshot: Snapshot, name: str, column: Column, lending: Lending, used: Counter[Column] | None
) -> ResourceUse:
    tree, usage, resource = snapshot.queues.tree, snapshot.usage.in_tree, column[1]
    cell, total = tree.cell(name, column), usage.used(name, *column)
    own = 0 if cell is None else cell.subtree
    available = 0 if cell is None else usage.available(name, column).amount
    amounts = (own, total if used is None else used[column], max(0, total - own), lending.of(name, column))
    return ResourceUse(resource, *(format_amount(resource, one) for one in (*amounts, max(0, available))))


class Lending:
    """Who lends how much: of what some queues borrow each other has its part, by what it leaves."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._pools: dict[tuple[str, Column], tuple[int, Mapping[str, int], int]] = {}

    def of(self, name: str, column: Column) -> int:
        """Return what of the queue's own quota those beside it use."""
        path = self._snapshot.queues.tree.path(name)
        if len(path) == 1:
            return 0
        key = path[1], column
        if key not in self._pools:
            self._pools[key] = self._pool(*key)
        borrowed, left, pool = self._pools[key]
        return min(borrowed, pool) * left.get(name, 0) // pool if pool else 0

    def _pool(self, parent: str, column: Column) -> tuple[int, Mapping[str, int], int]:
        """Return what is borrowed among the children, what each of them lends, and all there is to borrow."""
        tree, usage = self._snapshot.queues.tree, self._snapshot.usage.in_tree
        beyond = {one: usage.beyond(one, column) for one in tree.children(parent)}
        borrowed = sum(amount for amount in beyond.values() if amount > 0)
        left = {one: _lendable(self._snapshot, one, column, -amount) for one, amount in beyond.items() if amount < 0}
        parents = tree.cell(parent, column)
        cells = [cell for one in tree.children(parent) if (cell := tree.cell(one, column)) is not None]
        parents_own = 0 if parents is None else parents.subtree - sum(one.subtree - one.local for one in cells)
        return borrowed, left, sum(left.values()) + max(0, parents_own)


def _lendable(snapshot: Snapshot, name: str, column: Column, unused: int) -> int:
    """Return what of its unused quota a queue lends: what its lendingLimit keeps back is used up first."""
    cell = snapshot.queues.tree.cell(name, column)
    return 0 if cell is None else max(0, min(unused, cell.subtree - cell.local))
