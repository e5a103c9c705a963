"""Rows of explanations, of workloads and of queues. Nothing is imported that decides: commands start soon."""

from __future__ import annotations

from msgspec import Struct

from controller.visibility.rows import ClusterQueueRow, LocalQueueRow


class HolderRow(Struct, frozen=True, rename="camel"):
    """What one queue, user or workload holds, as a quantity; `pods` how many, `ends` when the first of them ends.

    `ends` empty: nobody knows. Without a queue: pods that Penstock does not look after.
    """

    name: str
    amount: str
    pods: int
    ends: str = ""


class HolderRows(Struct, frozen=True, rename="camel"):
    """Who holds one resource, by ClusterQueue, by user and by workload, the largest first; of the last the first ten.

    `resource` is empty where it is nodes as a whole.
    """

    flavor: str
    resource: str
    queues: tuple[HolderRow, ...]
    users: tuple[HolderRow, ...]
    workloads: tuple[HolderRow, ...]


class FlavorFinding(Struct, frozen=True, rename="camel"):
    """What one flavor says, or a limit on all (`flavor` empty). Amounts are quantities; empty: it is not about one.

    `free` is what is free now. Where waiting would not help (NeverFits) it is empty, and `most` is what there would be
    if nothing else ran. `lacks` is by how much either is too little. `at` is the ClusterQueue whose quota or limit is
    the narrowest.
    """

    flavor: str
    reason: str
    resource: str = ""
    needs: str = ""
    free: str = ""
    most: str = ""
    lacks: str = ""
    at: str = ""
    detail: str = ""


class RemedyRow(Struct, frozen=True, rename="camel"):
    """One change, or several that are needed together, tried on the snapshot.

    `cost` is what it takes: WAITING, OWN, SETUP, QUOTA or NODES. `admits`: the workload is admitted then, onto
    `flavors`; else it waits with `reason` and `message`. `commands` make the change, where there are any. `ending` is
    how many pods have to end; `pods` are these as namespace/name, the one first that the change names; of more than a
    hundred the first hundred.
    """

    cost: str
    change: str
    admits: bool
    flavors: tuple[str, ...] = ()
    reason: str = ""
    message: str = ""
    commands: tuple[str, ...] = ()
    pods: tuple[str, ...] = ()
    ending: int = 0


class Explanation(Struct, frozen=True, rename="camel"):
    """All there is to say of a workload that waits.

    `path` are its ClusterQueue and those above it, the root last. `ahead` are the names of those right before it,
    `place` its place in its ClusterQueue. `remedies` are the cheapest first; none: no change was found that helps.
    """

    namespace: str
    name: str
    target: str
    pods: int
    requests: dict[str, str]
    local_queue: str
    path: tuple[str, ...]
    created: str
    place: int
    place_in_local_queue: int
    ahead: tuple[str, ...]
    reason: str
    message: str
    flavors: tuple[FlavorFinding, ...]
    holders: tuple[HolderRows, ...]
    remedies: tuple[RemedyRow, ...]


class ExplanationRow(Struct, frozen=True, rename="camel"):
    """All there is to say of a pod, a Job or a group: `pod.NAME`, `job.NAME`, `group.NAME`.

    `waiting` is how many of its workloads wait; the rest is about the first of these, whose name is `name` and which
    commands take as `target`. 0: none waits, and `message` says how its pods stand. `path` are its ClusterQueue and
    those above it, the root last; `ahead` the workloads right before it, as namespace/name. `flavors` say what is
    short, `holders` who holds it.
    """

    waiting: int
    message: str
    reason: str = ""
    name: str = ""
    target: str = ""
    pods: int = 0
    requests: dict[str, str] = {}
    local_queue: str = ""
    path: tuple[str, ...] = ()
    created: str = ""
    place: int = 0
    place_in_local_queue: int = 0
    ahead: tuple[str, ...] = ()
    flavors: tuple[FlavorFinding, ...] = ()
    holders: tuple[HolderRows, ...] = ()


class ReasonRow(Struct, frozen=True, rename="camel"):
    """One reason: how many pods wait for it, and of the first workload in line what commands take and why it waits."""

    reason: str
    pods: int
    first: str
    namespace: str
    message: str


class QueueExplanation(Struct, frozen=True, rename="camel"):
    """A queue, and the reasons of those that wait in it, in the order of the first of each."""

    queue: ClusterQueueRow | LocalQueueRow
    reasons: tuple[ReasonRow, ...]
