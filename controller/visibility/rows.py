"""Rows of answers, as programs read them too: what each field means. They need nothing of what makes them.

Who only prints what the visibility API says imports these alone, and starts sooner for it.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from controller.visibility.start_rows import StartRow


class ResourceUse(Struct, frozen=True, rename="camel"):
    """One resource of one flavor, as quantities.

    `quota` is what the queue owns, and those below it lend, `used` what their admitted pods ask for, `borrowed` what of
    that is not their own, `lent` what of their own others use (in proportion, where several could have lent it), and
    `free` what may still be admitted without borrowing more than allowed.
    """

    name: str
    quota: str
    used: str
    borrowed: str
    lent: str
    free: str


class FlavorUse(Struct, frozen=True, rename="camel"):
    """The resources of one flavor."""

    name: str
    resources: tuple[ResourceUse, ...]


class LimitUse(Struct, frozen=True, rename="camel"):
    """A limit on one resource over all flavors, as quantities."""

    name: str
    max: str
    used: str


class ClusterQueueRow(Struct, frozen=True, rename="camel"):
    """A ClusterQueue. `depth` is its distance from the root of its tree; counts are of pods, with those below it.

    `active` says whether it admits, `message` why it does not. `share` is its weighted share in thousandths, None
    where its tree does not share fairly. `used_up` are sentences about budgets of which nothing is left.
    """

    name: str
    parent: str
    depth: int
    strategy: str
    active: bool
    message: str
    pending: int
    reserved: int
    running: int
    flavors: tuple[FlavorUse, ...]
    limits: tuple[LimitUse, ...] = ()
    weight: str | None = None
    share: int | None = None
    used_up: tuple[str, ...] = ()
    local_queues: tuple[str, ...] = ()


class LocalQueueRow(Struct, frozen=True, rename="camel"):
    """A LocalQueue: its ClusterQueue, how many of its pods stand where, and what its admitted pods ask for.

    `flavors` show the ClusterQueue's quota and what is free of it; `used` there is this LocalQueue's own.
    """

    namespace: str
    name: str
    cluster_queue: str
    active: bool
    message: str
    pending: int
    reserved: int
    running: int
    flavors: tuple[FlavorUse, ...]


class PodRow(Struct, frozen=True, rename="camel"):
    """A pod that names a queue. `state` is Pending, Reserved (admitted, on no node yet) or Running.

    `place` is its place in the order of its ClusterQueue, `placeInLocalQueue` that among its LocalQueue's; 0: it does
    not wait. `owner` is its controller as Kind/name, `ownerCreated` when that was created, of a Job alone; `group`
    is the gang that it is admitted with. `since` is when it was admitted, or where it waits, created. `start` says when
    it is expected to start; null: that was not forecast.
    """

    namespace: str
    name: str
    state: str
    local_queue: str
    cluster_queue: str
    owner: str
    owner_created: str
    group: str
    user: str
    priority: int
    requests: dict[str, str]
    created: str
    since: str
    flavor: str = ""
    node: str = ""
    place: int = 0
    place_in_local_queue: int = 0
    reason: str = ""
    message: str = ""
    start: StartRow | None = None


class JobRow(Struct, frozen=True, rename="camel"):
    """The pods of one owner together: how many stand where, and of those that wait what is known of the first."""

    namespace: str
    name: str
    kind: str
    local_queue: str
    cluster_queue: str
    pending: int
    reserved: int
    running: int
    created: str
    place: int = 0
    reason: str = ""
    message: str = ""
    start: StartRow | None = None


class OrderRow(Struct, frozen=True, rename="camel"):
    """What decides the place of a workload, the first that differs first.

    `begun`: pods were preempted for it. `completesGang`: a gang that is admitted already lacks it, so it goes first.
    `behind` is the workload of its LocalQueue that was put on top and before it; empty: none. `priority` is that in
    the queue with what age has added. `queueUsage` and `userUsage` are what its namespace or LocalQueue, and its user
    there, have used lately, in cores or what counts like one; empty: past usage orders nothing. `ownerCreated` is when
    its owner was created, `index` its completion index.
    """

    namespace: str
    name: str
    cluster_queue: str
    local_queue: str
    place: int
    place_in_local_queue: int
    begun: bool
    completes_gang: bool
    behind: str
    priority: int
    queue_usage: str
    user_usage: str
    owner_created: str
    index: int
    created: str


class ShareRow(Struct, frozen=True, rename="camel"):
    """What a queue counts for among the others of its parent, or a LocalQueue among those of its ClusterQueue.

    `share` is the weighted share of a ClusterQueue in thousandths of what it could borrow, `used` what a LocalQueue
    used lately. `kind` says which of both it is; `rank` its place among its siblings, 1 the first to be served.
    """

    kind: str
    name: str
    parent: str
    weight: str
    share: int | None
    used: str
    rank: int


def jobs(rows: Iterable[PodRow]) -> list[JobRow]:
    """Put the rows of pods together by their owner. A pod without one is a row of its own."""
    by_owner: dict[tuple[str, str], list[PodRow]] = {}
    for row in rows:
        by_owner.setdefault((row.namespace, row.owner or f"Pod/{row.name}"), []).append(row)
    return [_job(owner, those) for (_, owner), those in by_owner.items()]


def _job(owner: str, rows: list[PodRow]) -> JobRow:
    states = [row.state for row in rows]
    kind, _, name = owner.partition("/")
    first = min((row for row in rows if row.place), key=lambda row: row.place, default=rows[0])
    return JobRow(
        namespace=first.namespace,
        name=name,
        kind=kind,
        local_queue=first.local_queue,
        cluster_queue=first.cluster_queue,
        pending=states.count("Pending"),
        reserved=states.count("Reserved"),
        running=states.count("Running"),
        created=first.owner_created or min(row.created for row in rows),
        place=first.place,
        reason=first.reason,
        message=first.message,
        start=first.start,
    )
