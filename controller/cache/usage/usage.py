"""What pods use, kept as running sums: by queue and flavor, by flavor, by node, and counts by queue.

Each pod has at most one charge. Replacing it adjusts the sums and says what was given back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TypeVar

from controller.cache.usage.past_usage import PastUsageBook
from controller.core.candidates.candidate import KnownCandidates
from controller.core.candidates.reclaimable import KnownReclaimable
from controller.core.kubernetes.amounts import Requests
from controller.core.quota.fair_sharing import KnownShares
from controller.core.quota.quota_tree import QuotaTree, UsageKey
from controller.core.quota.tree_usage import TreeUsage
from controller.core.quota.user_limits import UserUsage
from controller.core.workloads.charges import Charge
from controller.core.workloads.pods import Phase
from controller.core.workloads.workload import QueueKey

_K = TypeVar("_K")


class Usage:
    """The sums. Never negative: each charge is taken back exactly as it was made."""

    def __init__(self) -> None:
        self.by_queue: dict[UsageKey, int] = {}
        self.by_flavor: dict[tuple[str, str], int] = {}
        self.by_node: dict[str, dict[str, int]] = {}
        self.bound: dict[str, dict[str, None]] = {}
        """The uids of the pods that take room on each node."""
        self.moved_nodes: set[str] = set()
        """Nodes of which more or less is used since whoever follows that (the room) cleared it."""
        self.counts: Counter[tuple[str, Phase]] = Counter()
        self.local_counts: Counter[tuple[QueueKey, Phase]] = Counter()
        self.in_tree = TreeUsage(QuotaTree({}))
        """What is used at every queue of the tree, as it was planted last."""
        self.by_user = UserUsage(QuotaTree({}))
        """What users use at every queue that limits them."""
        self.past = PastUsageBook()
        """What LocalQueues have used, where that orders them."""
        self.charged: dict[str, dict[str, None]] = {}
        """The uids of the pods that each cluster queue is charged with, in the order in which they came."""
        self.candidates = KnownCandidates()
        """Who of the pods of each cluster queue may be preempted, where nothing moved since that was found."""
        self.known_reclaimable = KnownReclaimable(self.candidates)
        self.shares = KnownShares()
        self._charges: dict[str, Charge] = {}
        self._held: dict[UsageKey, int] = {}
        """Of `by_queue`, what is only held: another flavor pays for it."""

    def plant(self, tree: QuotaTree) -> None:
        """Count anew along this tree."""
        self.in_tree = TreeUsage(tree)
        for (queue, flavor, resource), amount in self.by_queue.items():
            held = self._held.get((queue, flavor, resource), 0)
            self.in_tree.add(queue, flavor, resource, amount - held)
            if held:
                self.in_tree.add(queue, flavor, resource, held, is_only_held=True)
        self.past.plant(tree, ((c.cluster_queue, c.local_queue, c.user, c.requests) for c in self._charges.values()))
        self.by_user = UserUsage(tree)
        for charge in self._charges.values() if tree.limits_users else ():
            if charge.cluster_queue:
                self.by_user.add(charge.cluster_queue, charge.user, charge.requests)

    @property
    def charges(self) -> Mapping[str, Charge]:
        """What each pod is charged with, by uid."""
        return self._charges

    def charge_of(self, uid: str) -> Charge | None:
        """Return what the pod is charged with."""
        return self._charges.get(uid)

    def set(self, uid: str, charge: Charge | None) -> bool:
        """Make `charge` the only one of a pod that changed; say whether it takes or leaves anything else by that."""
        former = self._charges.pop(uid, None)
        if charge is not None:
            self._charges[uid] = charge
        self.candidates.forget(*(one.cluster_queue for one in (former, charge) if one is not None))
        if former == charge:
            return former is not None and charge is not None and former.is_stamped != charge.is_stamped
        self.shares.forget(one.cluster_queue for one in (former, charge) if one is not None and one.cluster_queue)
        if former is not None:
            self._apply(former, -1)
        if charge is not None:
            self._apply(charge, 1)
        self._list(uid, former, charge)
        return former is None or charge is None or _taken(former) != _taken(charge)

    def _list(self, uid: str, former: Charge | None, charge: Charge | None) -> None:
        before, now = former.cluster_queue if former else "", charge.cluster_queue if charge else ""
        _enlist(self.charged, uid, before, now)
        from_nodes, to_nodes = ({node for node, _ in one.on_nodes} if one else set() for one in (former, charge))
        for node in from_nodes - to_nodes:
            _enlist(self.bound, uid, node, "")
        for node in to_nodes - from_nodes:
            _enlist(self.bound, uid, "", node)

    def _apply(self, charge: Charge, sign: int) -> None:
        for resource, amount in charge.requests:
            for flavor in charge.flavors if charge.cluster_queue else ():
                key, is_only_held = (charge.cluster_queue, flavor, resource), flavor != charge.flavor
                _shift(self.by_queue, key, sign * amount)
                _shift(self.by_flavor, (flavor, resource), sign * amount)
                self.in_tree.add(*key, sign * amount, is_only_held=is_only_held)
                if is_only_held:
                    _shift(self._held, key, sign * amount)
        for node, requests in charge.on_nodes:
            self._apply_on(node, requests, sign)
        if charge.cluster_queue:
            self.by_user.add(charge.cluster_queue, charge.user, charge.requests, sign)
            self.past.add(charge.cluster_queue, charge.local_queue, charge.user, charge.requests, sign)
            _shift(self.counts, (charge.cluster_queue, charge.phase), sign * charge.count)
            _shift(self.local_counts, (charge.local_queue, charge.phase), sign * charge.count)

    def _apply_on(self, node: str, requests: Requests, sign: int) -> None:
        sums = self.by_node.setdefault(node, {})
        for resource, amount in requests:
            _shift(sums, resource, sign * amount)
        self.moved_nodes.add(node)
        if not sums:
            del self.by_node[node]


def _taken(charge: Charge) -> tuple[object, ...]:
    """Return of what a pod takes quota and room, and whether it may be preempted."""
    return charge.cluster_queue, charge.flavors, charge.requests, charge.on_nodes, charge.is_stamped


def _shift(sums: dict[_K, int], key: _K, amount: int) -> None:
    total = sums.get(key, 0) + amount
    if total:
        sums[key] = total
    else:
        sums.pop(key, None)


def _enlist(lists: dict[str, dict[str, None]], uid: str, before: str, now: str) -> None:
    """Move a pod from one list to another; an empty name is no list."""
    if before and before != now:
        del lists[before][uid]
        if not lists[before]:
            del lists[before]
    if now and now != before:
        lists.setdefault(now, {})[uid] = None
