"""Which pods are lost: deleted, past their time, on a node not Ready or gone. Rule: `core.evictions.lost_pods`."""

from __future__ import annotations

from collections.abc import Mapping

from controller.cache.timers.timers import Timers
from controller.core.evictions.lost_pods import cannot_tell, lost_at
from controller.core.kubernetes.nodes import Node
from controller.core.workloads.pods import Pod


class LostPods:
    """`uids` has them. All rests on the objects as they are, so whoever starts finds the same."""

    def __init__(self, nodes: Mapping[str, Node]) -> None:
        """The cache's own nodes, read as they are at the time."""
        self._nodes = nodes
        self._late: dict[str, str] = {}
        """Past their time, whatever their node says: by uid the node that each is on. Few where all is well."""
        self.uids: dict[str, None] = {}
        self.timers = Timers()

    def observe(self, uid: str, pod: Pod | None) -> bool:
        """Take in a pod as it is now (None: it is gone); say whether it is lost."""
        at = None if pod is None else lost_at(pod)
        is_late = at is not None and at <= self.timers.now
        self.timers.set(uid, None if is_late else at)
        self._late.pop(uid, None)
        self.uids.pop(uid, None)
        if not is_late or pod is None or pod.node is None:
            return False
        self._late[uid] = pod.node
        if cannot_tell(self._nodes.get(pod.node)):
            self.uids[uid] = None
        return uid in self.uids

    def moved(self) -> list[str]:
        """Return the pods that are lost by what nodes say now and were not when they were seen, or the other way."""
        return [uid for uid, node in self._late.items() if cannot_tell(self._nodes.get(node)) != (uid in self.uids)]
