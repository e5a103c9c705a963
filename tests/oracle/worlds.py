"""Small worlds in plain values.

Nothing here is of the core: amounts are whole numbers of one unit a resource (`UNITS`), labels are dicts, names text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Amounts = Mapping[str, int]
Labels = Mapping[str, str]
Requirement = tuple[str, str, tuple[str, ...]]
"""Key, operator, values."""
Columns = Mapping[tuple[str, str], int]
"""An amount by flavor and resource."""

UNITS = {"cpu": "m", "memory": "Gi", "pods": "", "example.com/gpu": ""}
GPU = "example.com/gpu"
NOW = "2026-03-02T07:05:02Z"
"""When everything is decided: some pods came five minutes ago, or more."""
OLD = 2
"""Who was created then, or before, came five minutes ago."""
TAINT = "spot"
"""The key of the one taint that there is; it repels."""


@dataclass(frozen=True, slots=True)
class Make:
    """What pods of one make share. `terms` are alternatives, each a conjunction; none: no required affinity."""

    requests: Amounts
    selector: Labels
    terms: tuple[tuple[Requirement, ...], ...]
    tolerates: bool


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod that waits; `created` in seconds after 07:00.

    `group`, with the `size` that it states, is that of its gang (empty: none).
    """

    name: str
    namespace: str
    queue: str
    make: Make
    priority: int
    created: int
    has_foreign_gate: bool
    group: str = ""
    size: int = 0


@dataclass(frozen=True, slots=True)
class Running:
    """A pod that takes room on a node, and (`queue`, `flavor`) quota, unless it is a stranger's.

    `namespace` and `door` are where it was queued, `group` and `size` those of the gang that it is of, `minutes` how
    long it runs. It goes at no cost if it `is_replaced`, and goes already if it `is_ending`.
    """

    name: str
    requests: Amounts
    node: str
    queue: str = ""
    flavor: str = ""
    namespace: str = "dev"
    door: str = "any"
    group: str = ""
    size: int = 0
    priority: int = 0
    created: int = 0
    minutes: int = 6
    is_replaced: bool = False
    is_ending: bool = False


@dataclass(frozen=True, slots=True)
class Preemption:
    """Whom workloads of a queue may preempt, and how many minutes its own pods are spared (None: not at all).

    `threshold` is the highest priority at whose cost they may borrow too; None: nobody's.
    """

    within: str = "Never"
    reclaim: str = "Never"
    threshold: int | None = None
    spares: int | None = None


@dataclass(frozen=True, slots=True)
class Node:
    """A node."""

    name: str
    labels: Labels
    amounts: Amounts
    is_tainted: bool = False
    is_ready: bool = True
    is_cordoned: bool = False

    @property
    def is_usable(self) -> bool:
        """Whether anybody may be put there."""
        return self.is_ready and not self.is_cordoned


@dataclass(frozen=True, slots=True)
class Flavor:
    """A flavor: of nodes where `static` is None."""

    name: str
    labels: Labels
    requirements: tuple[Requirement, ...] = ()
    tolerates: bool = False
    static: Amounts | None = None


@dataclass(frozen=True, slots=True)
class Queue:
    """A ClusterQueue: quotas by flavor in order of preference. `namespaces` None selects none, () all.

    `borrowing` and `lending` are its limits in the tree, `limits` those over all flavors; `parent` empty: a root.
    """

    name: str
    quotas: tuple[tuple[str, Amounts], ...]
    is_strict: bool = False
    is_held: bool = False
    namespaces: tuple[Requirement, ...] | None = ()
    parent: str = ""
    borrowing: Columns = field(default_factory=dict)
    lending: Columns = field(default_factory=dict)
    limits: Amounts = field(default_factory=dict)
    tries_next: bool = False
    """Rather a later flavor than to borrow."""
    preemption: Preemption = Preemption()
    gives_bare_pods: bool = False


@dataclass(frozen=True, slots=True)
class Door:
    """A LocalQueue."""

    namespace: str
    name: str
    queue: str
    is_held: bool = False


@dataclass(frozen=True, slots=True)
class World:
    """Up to 6 pods, 3 queues below up to 2 others, 2 flavors and 3 nodes, and what runs already."""

    pods: tuple[Pod, ...]
    running: tuple[Running, ...]
    nodes: tuple[Node, ...]
    flavors: tuple[Flavor, ...]
    queues: tuple[Queue, ...]
    doors: tuple[Door, ...]
    namespaces: Mapping[str, Labels]
