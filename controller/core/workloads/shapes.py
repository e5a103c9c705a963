"""What pods of one make have in common. Interned: pods with equal demand and constraints share one object each.

Both types keep their hash: they are looked up for every class in every decision, and hashing the nested tuples anew
each time would cost more than the decision.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from controller.core.kubernetes.amounts import Requests
from controller.core.kubernetes.labels import Term
from controller.core.kubernetes.taints import Toleration


@dataclass(frozen=True, slots=True)
class Constraints:
    """Where a pod itself allows to run: nodeSelector pairs, required node affinity and tolerations.

    `terms` None: no required node affinity. An empty tuple of terms, like an empty term, matches no node. `only`: the
    flavors to which an admitted Job keeps that is to get more pods; empty: any.
    """

    node_selector: tuple[tuple[str, str], ...] = ()
    terms: tuple[Term, ...] | None = None
    tolerations: tuple[Toleration, ...] = ()
    only: tuple[str, ...] = ()
    _hash: int = field(default=0, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.node_selector, self.terms, self.tolerations, self.only)))

    def __hash__(self) -> int:
        return self._hash


@dataclass(frozen=True, slots=True)
class Unschedulable:
    """kube-scheduler found no node of a flavor for a pod like this; `text` says which pod, and what it said.

    The flavor is not tried for such pods until `until`, in epoch seconds.
    """

    flavor: str
    until: float
    text: str


@dataclass(frozen=True, slots=True)
class Shape:
    """One make of pod: what it asks for and where it may run. `user`: whose it is, where queues tell users apart.

    `unschedulable`: the flavors that a pod of the same owner came back from, since kube-scheduler found no node there.
    """

    requests: Requests
    constraints: Constraints
    user: str = ""
    unschedulable: tuple[Unschedulable, ...] = ()
    _hash: int = field(default=0, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.requests, self.constraints, self.user, self.unschedulable)))

    def __hash__(self) -> int:
        return self._hash

    def is_like(self, other: Shape) -> bool:
        """Whether both ask for the same and may run on the same nodes, whosever they are."""
        return (self.requests, self.constraints) == (other.requests, other.constraints)
