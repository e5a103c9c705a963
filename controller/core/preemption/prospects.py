"""Whether by shares anybody may go for a workload: so it is for few of those that look again after something ended.

It is told by less than a search would take. No: nobody is found. Yes: it has to be searched for.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet

from controller.core.ledgers.away import Away
from controller.core.ledgers.booked import AnyLedger
from controller.core.ledgers.ledger import Ledger
from controller.core.ledgers.looked_at import Emptied
from controller.core.preemption.attempts import Attempt, Need
from controller.core.preemption.eligibility import Candidates
from controller.core.preemption.fair_preempting import FairVictims
from controller.core.preemption.single_pods import SinglePods
from controller.core.preemption.victim_lines import VictimLines
from controller.core.queueing.queues import ClusterQueue
from controller.core.workloads.workload import WorkloadClass
from controller.core.world.candidates import Candidate
from controller.core.world.snapshot import Snapshot


class Prospects:
    """Those of one decision."""

    def __init__(
        self,
        snapshot: Snapshot,
        ledger: Ledger,
        candidates: Candidates,
        away: Away,
        lines: VictimLines,
        single: SinglePods,
        emptied: Emptied,
    ) -> None:
        self._snapshot = snapshot
        self._tree = snapshot.tree
        self._ledger = ledger
        self._candidates = candidates
        self._away = away
        self._lines = lines
        self._single = single
        self._emptied = emptied
        self._moved_in: dict[str, tuple[int, int, AbstractSet[str]]] = {}
        """By root of a tree, with how much was charged and how many went there by then."""
        self._there: dict[tuple[str, str, str], Collection[Candidate]] = {}
        """By node, flavor and root."""

    def are_none(self, ahead: AnyLedger, need: Need, attempt: Attempt) -> bool:
        """Say whether nobody goes who would help."""
        is_any_going = bool(self._lines.going(need, attempt))
        if is_any_going or attempt.takes_going:
            return not is_any_going
        own = list(self._lines.own(need, attempt))
        if self._may_others_go(ahead, need, own):
            return False
        return not own or not self._may_own_help(ahead, need, own)

    def are_new(self, ahead: AnyLedger, need: Need, attempt: Attempt, nodes: Collection[str]) -> bool:
        """Say whether anybody may help a settled class that waits for room, which there is more of on `nodes` at most.

        Each part of a tree gives up what it does whatever the others do. So who found nobody then finds somebody only
        in a part that moved since, or anywhere if its own did.
        """
        of_one_flavor = self._single.are_of_one_flavor(need.queue, need.kind, need.flavor)
        if not of_one_flavor or self._lines.going(need, attempt):
            return not self.are_none(ahead, need, attempt)
        own, moved = list(self._lines.own(need, attempt)), self.moved(self._tree.path(need.queue.name)[-1])
        if self._may_others_go(ahead, need, own, moved, nodes):
            return True
        return bool(own) and need.queue.name in moved and self._may_own_help(ahead, need, own)

    def is_untouched(self, queue: ClusterQueue, kind: WorkloadClass, flavor: str, nodes: Collection[str]) -> bool:
        """Say whether it is not so by less still: nobody goes, and no share moved on its path, nor of who borrows."""
        if self._candidates.going or self._away.victims:
            return False
        path = self._tree.path(queue.name)
        moved = self.moved(path[-1])
        if moved:
            borrow = self._lines.shares(self._ledger, queue.name).parts(path[-1], flavor)
            if not (moved.isdisjoint(path[:-1] or path) and borrow.isdisjoint(moved - {path[-1]})):
                return False
        if nodes and self._near(flavor, kind, nodes):
            return False
        return self._single.are_of_one_flavor(queue, kind, flavor)

    def roomier(self, queue: ClusterQueue, kind: WorkloadClass, left: AnyLedger, nodes: Collection[str]) -> list[str]:
        """Return those of these nodes that would hold a class if all went there whom it may preempt at most.

        For a gang each of them may help.
        """
        if not kind.is_free:
            return list(nodes)
        near = (node for quota in queue.flavors for node in self._near(quota.flavor, kind, nodes))
        return [node for node in near if left.is_spared(node, kind.pod_sets[0].shape.requests)]

    def _may_own_help(self, ahead: AnyLedger, need: Need, own: Sequence[Candidate]) -> bool:
        return not self._single.is_plain(ahead, need) or self._single.nodes(ahead, need).find(own) is not None

    def moved(self, root: str) -> AbstractSet[str]:
        """Return the queues of a tree at or below which a share, or who may go, is another since all was looked at."""
        charged, victims = self._ledger.charged_in(root), self._away.queues_in(root)
        known = self._moved_in.get(root)
        if known is None or known[:2] != (len(charged), len(victims)):
            settled = self._snapshot.settled
            before = settled.moved_shares.get(root, ()) if settled is not None else ()
            queues = {*before, *charged, *victims} - {""}
            found = {name for queue in queues for name in self._tree.path(queue)}
            known = self._moved_in[root] = len(charged), len(victims), found
        return known[2]

    def _may_others_go(
        self,
        ahead: AnyLedger,
        need: Need,
        own: Sequence[Candidate],
        moved: AbstractSet[str] | None = None,
        nodes: Collection[str] = (),
    ) -> bool:
        """Whether others than its own may have a larger share, even once all of these are gone from its own.

        `moved`: only where these moved, or where that makes room on one of `nodes`, beside its own there.
        """
        near = self._near(need.flavor, need.kind, nodes)
        if not near and moved is not None and not moved:
            return False
        name, shares = need.queue.name, self._lines.shares(ahead, need.queue.name)
        borrowers = [(one, at) for at in need.flavors for one in shares.borrowers(self._tree.path(name)[-1], at)]
        if not near and not any(one != name and self._candidates.of(one, at) for one, at in borrowers):
            return False
        for at in need.flavors:
            shares.keep(name, at)
        with self._away.without(ahead, own, keeps_room=True):
            victims = self._lines.fair_victims(ahead, need)
            for one in own:
                victims.note_gone(one)
            if victims.has_larger_shares(moved):
                return True
            return any(self._may_hold(ahead, node, need, own, victims) for node in near)

    def _near(self, flavor: str, kind: WorkloadClass, nodes: Collection[str]) -> Sequence[str]:
        """Return those of these nodes that would hold it if all went there whom it may preempt at most."""
        shape = kind.pod_sets[0].shape
        allowed = self._snapshot.nodes.allowed(self._snapshot.flavors[flavor], shape.constraints) if nodes else ()
        return [node for node in nodes if node in allowed and self._emptied.may_hold((node,), kind, shape.requests)]

    def _may_hold(
        self,
        ahead: AnyLedger,
        node: str,
        need: Need,
        own: Sequence[Candidate],
        victims: FairVictims,
    ) -> bool:
        """Whether a node has room for it once all are gone there whom shares let go at most."""
        ledger, requests = self._away.behind(ahead), need.kind.pod_sets[0].shape.requests
        short = {resource: amount - ledger.left("node", node, resource) for resource, amount in requests}
        for one in self._on(node, need):
            if not self._may_go(ahead, one, need, own, victims):
                continue
            if any(name != need.flavor for name, _ in one.columns):
                return True
            for where, held in self._away.on_nodes(one):
                for resource, amount in held if where == node else ():
                    if resource in short:
                        short[resource] -= amount
        return all(amount <= 0 for amount in short.values())

    def _may_go(
        self,
        ahead: AnyLedger,
        one: Candidate,
        need: Need,
        own: Sequence[Candidate],
        victims: FairVictims,
    ) -> bool:
        if one.queue == need.queue.name:
            return any(one is mine for mine in own)
        if one.key in self._away.victims or self._snapshot.now < one.quiet or not need.claim.reclaims(one):
            return False
        if not ahead.usage.borrows(one.queue, need.columns):
            return False
        return victims.may_take(one, self._tree.strategies(need.queue.name))

    def _on(self, node: str, need: Need) -> Collection[Candidate]:
        """Return the candidates of the preemptor's tree that have pods on a node."""
        root = self._tree.path(need.queue.name)[-1]
        known = self._there.get((node, need.flavor, root))
        if known is None:
            bound = self._snapshot.bound.get(node, ())
            pods = (self._snapshot.pods.get(uid) for uid in bound)
            queues = {pod.cluster_queue for pod in pods if pod is not None and pod.cluster_queue}
            known = self._there[node, need.flavor, root] = [
                one
                for queue in sorted(queues)
                if self._tree.path(queue)[-1] == root
                for one in self._candidates.of(queue, need.flavor)
                if any(pod.uid in bound for pod in one.pods)
            ]
        return known
