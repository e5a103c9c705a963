"""What waits as one: a pod alone, or a gang; and who cannot be looked at for what gangs say (docs/gangs.md)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from tests.oracle import rules
from tests.oracle.worlds import OLD, Make, Pod, World


@dataclass(frozen=True, slots=True)
class Workload:
    """Pods that are admitted together, or not at all.

    `waits` has every reason why it is not even looked at; `goes_first` of all in its queue, where its gang has begun.
    """

    pods: tuple[Pod, ...]
    waits: frozenset[str] = frozenset()
    goes_first: bool = False

    @property
    def place(self) -> rules.Place:
        """Among all: that of the member that stands last."""
        return max(rules.place_in_line(pod) for pod in self.pods)

    @property
    def place_in_queue(self) -> tuple[bool, rules.Place]:
        """Among those of its queue."""
        return (not self.goes_first, self.place)

    @property
    def sets(self) -> list[tuple[Make, tuple[Pod, ...]]]:
        """Its pods by what they ask for."""
        alike = sorted(self.pods, key=lambda pod: str(pod.make))
        return [
            (pods[0].make, pods) for _, given in groupby(alike, lambda pod: str(pod.make)) if (pods := tuple(given))
        ]


def workloads(world: World) -> list[Workload]:
    """All that wait, each pod in one of them."""
    alone = [_single(world, pod) for pod in world.pods if not pod.group]
    groups = sorted({(pod.namespace, pod.group) for pod in world.pods if pod.group})
    return [*alone, *(one for key in groups for one in _of_group(world, *key))]


def _single(world: World, pod: Pod, **said: bool) -> Workload:
    return Workload((pod,), frozenset(rules.closed(world, pod)), **said)


def _each(world: World, pods: Iterable[Pod], reason: str) -> Iterator[Workload]:
    """Each waits with the reason, or with one of its own beside it."""
    return (Workload((pod,), frozenset({reason, *rules.closed(world, pod)})) for pod in pods)


def _of_group(world: World, namespace: str, name: str) -> Iterator[Workload]:
    members = [pod for pod in world.pods if (pod.namespace, pod.group) == (namespace, name)]
    begun = [one for one in world.running if (one.namespace, one.group) == (namespace, name) and not one.is_ending]
    members.sort(key=rules.place_in_line)
    sizes = {pod.size for pod in members} | {one.size for one in begun}
    if len(sizes) > 1 or len({pod.queue for pod in members}) > 1:
        return _each(world, members, "GangInvalid")
    return _go_on(world, members, min(sizes) - len(begun)) if begun else _begin(world, members, min(sizes))


def _begin(world: World, members: Sequence[Pod], size: int) -> Iterator[Workload]:
    if len(members) < size:
        is_late = max(pod.created for pod in members) <= OLD
        yield from _each(world, members, "MembersNeverComplete" if is_late else "GangIncomplete")
        return
    reasons = frozenset(reason for pod in members[:size] for reason in rules.closed(world, pod))
    yield Workload(tuple(members[:size]), reasons)
    yield from _each(world, members[size:], "Priority")


def _go_on(world: World, members: Sequence[Pod], lacking: int) -> Iterator[Workload]:
    """What a gang that has begun lacks goes first, pod by pod; more than that stand in line like any pod."""
    for number, pod in enumerate(members):
        yield _single(world, pod, goes_first=number < lacking)
