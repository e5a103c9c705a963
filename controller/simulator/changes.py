"""Changes of what people have set up, to see what comes of them: each is a value, read from text, applied to a world.

`quota:team-a/spot/cpu=+10`, `weight:team-a=2`, `lost:spot`, `nodes:spot=+4`, `stop:team-a=Hold`,
`window:team-a/nights=open`. A change that would do nothing, or names what is not there, is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from controller.core.calendar.cron import parse_cron
from controller.core.capacity.node_index import NodeIndex
from controller.core.kubernetes.amounts import QuantityError, format_amount, parse_quantity, supply_amount
from controller.core.kubernetes.nodes import Node
from controller.core.queueing.effective import Override, Variation, WrittenQueue
from controller.core.queueing.fair_sharing_policy import USUAL
from controller.core.queueing.queues import Flavor, FlavorQuota, StopPolicy
from controller.core.reasons import first_few
from controller.simulator.world import World

FORMS: Final = (
    "quota:QUEUE/FLAVOR/RESOURCE=[+|-]AMOUNT, weight:QUEUE=WEIGHT, lost:FLAVOR, nodes:FLAVOR=[+|-]COUNT, "
    "stop:[NAMESPACE/]QUEUE=None|Hold|HoldAndDrain, window:QUEUE/WINDOW=open|closed"
)
_MOST_NODES: Final = 100_000
_ALWAYS: Final = parse_cron("* * * * *")
_MINUTES: Final = 120


class ChangeError(ValueError):
    """A change that cannot be read or applied; the text says why, and what can."""


@dataclass(frozen=True, slots=True)
class Change:
    """`text` is what people wrote; `apply` returns the world with it, or raises ChangeError."""

    text: str
    apply: Callable[[World], World]


def parse_change(text: str) -> Change:
    """Read a change. Raises ChangeError where it has no known form; what it names is looked for when it is applied."""
    kind, _, rest = text.partition(":")
    target, _, value = rest.partition("=")
    if kind not in _KINDS or not target or (bool(value) == (kind == "lost")):
        raise ChangeError(f"{text!r} is no change; write one of {FORMS}")

    def apply(world: World) -> World:
        try:
            changed = _KINDS[kind](world, target, value)
            if changed == world:
                raise ChangeError("it is so already")
            return changed
        except (ChangeError, QuantityError) as error:
            raise ChangeError(f"{text}: {error}") from None

    return Change(text, apply)


def namespace_of(text: str) -> str:
    """Return the namespace that a change names, whatever else it says; empty: none."""
    kind, _, rest = text.partition(":")
    target = rest.partition("=")[0]
    return target.rpartition("/")[0] if kind == "stop" else ""


def _quota(world: World, target: str, value: str) -> World:
    queue, flavor, resource = _split(target, 3, "QUEUE/FLAVOR/RESOURCE")
    written = _queue(world, queue)
    quota = next((one for one in written.queue.flavors if one.flavor == flavor), None)
    if quota is None:
        listed = first_few([one.flavor for one in written.queue.flavors])
        raise ChangeError(f"ClusterQueue {queue} has no flavor {flavor}; it has {listed or 'none'}")
    if resource not in quota.nominal:
        raise ChangeError(f"ClusterQueue {queue} gives no {resource} of flavor {flavor}")
    if any(resource in one.nominal for one in written.variation.shares if one.flavor == flavor):
        raise ChangeError(f"the quota is a share of the flavor's capacity: change that, by nodes:{flavor}=")
    amount = _moved(quota.nominal[resource], value, lambda number: supply_amount(resource, number))
    if amount < 0:
        raise ChangeError(f"it has {format_amount(resource, quota.nominal[resource])}, less than that")
    nominal = {**quota.nominal, resource: amount}
    flavors = tuple(_with_nominal(one, nominal) if one is quota else one for one in written.queue.flavors)
    return _with_queue(world, replace(written, queue=replace(written.queue, flavors=flavors)))


def _with_nominal(quota: FlavorQuota, nominal: Mapping[str, int]) -> FlavorQuota:
    return replace(quota, nominal=nominal)


def _weight(world: World, queue: str, value: str) -> World:
    written = _queue(world, queue)
    root = written.queue
    seen = {queue}
    while root.parent in world.queues and root.parent not in seen:
        seen.add(root.parent)
        root = world.queues[root.parent].queue
    if root.fair_sharing is None or root.name == queue:
        raise ChangeError("a weight counts below a root with fairSharing alone")
    weight: Fraction = parse_quantity(value)
    fair = replace(written.queue.fair_sharing or USUAL, weight=weight)
    return _with_queue(world, replace(written, queue=replace(written.queue, fair_sharing=fair)))


def _lost(world: World, flavor: str, _: str) -> World:
    """Take away all that a flavor has: its nodes, and what it has by its sums."""
    found = _flavor(world, flavor)
    gone = {node.name for node in _nodes_of(world, flavor)}
    flavors = {**world.flavors, flavor: replace(found, sums=dict.fromkeys(found.sums, 0))}
    return replace(world, flavors=flavors, nodes={name: one for name, one in world.nodes.items() if name not in gone})


def _nodes(world: World, flavor: str, value: str) -> World:
    """Add copies of a flavor's last node by name, or take the last ones away."""
    if _flavor(world, flavor).is_summed:
        raise ChangeError(f"flavor {flavor} has room by its sums, not by nodes")
    members = _nodes_of(world, flavor)
    wanted = _moved(len(members), value, _count)
    if not members:
        raise ChangeError(f"flavor {flavor} has no node that another could be like")
    if not 0 <= wanted <= _MOST_NODES:
        there = "1 node" if len(members) == 1 else f"{len(members)} nodes"
        raise ChangeError(f"flavor {flavor} has {there}; from 0 to {_MOST_NODES} can be simulated")
    gone = {node.name for node in members[wanted:]}
    nodes = {name: one for name, one in world.nodes.items() if name not in gone}
    for number in range(len(members), wanted):
        copy = _copy(members[-1], f"{flavor}-simulated-{number}")
        nodes[copy.name] = copy
    return replace(world, nodes=nodes)


def _copy(node: Node, name: str) -> Node:
    """Return another node like this one; by `kubernetes.io/hostname` no two are alike."""
    labels = {**node.labels, "kubernetes.io/hostname": name} if "kubernetes.io/hostname" in node.labels else node.labels
    return replace(node, name=name, labels=labels, is_ready=True, not_ready_since=0, is_cordoned=False)


def _stop(world: World, target: str, value: str) -> World:
    if value not in list(StopPolicy):
        raise ChangeError(f"{value!r} is no stopPolicy; write one of {', '.join(StopPolicy)}")
    stop = StopPolicy(value)
    namespace, _, name = target.rpartition("/")
    if not namespace:
        written = _queue(world, name)
        return _with_queue(world, replace(written, queue=replace(written.queue, stop=stop, stop_note="")))
    local = world.local_queues.get((namespace, name))
    if local is None:
        raise ChangeError(f"there is no LocalQueue {name} in namespace {namespace}")
    locals_ = {**world.local_queues, (namespace, name): replace(local, stop=stop, stop_note="")}
    return replace(world, local_queues=locals_)


def _window(world: World, target: str, value: str) -> World:
    queue, name = _split(target, 2, "QUEUE/WINDOW")
    written = _queue(world, queue)
    overrides = written.variation.overrides
    if name not in {one.window.name for one in overrides}:
        listed = first_few([one.window.name for one in overrides])
        raise ChangeError(f"ClusterQueue {queue} has no window {name}; it has {listed or 'none'}")
    if value not in ("open", "closed"):
        raise ChangeError(f"{value!r}: a window can be open or closed")
    changed = tuple(one for one in (_held(one, name, is_open=value == "open") for one in overrides) if one is not None)
    variation: Variation = replace(written.variation, overrides=changed)
    return _with_queue(world, replace(written, variation=variation))


def _held(override: Override, name: str, *, is_open: bool) -> Override | None:
    """Return an override whose window is open all the time; None: it never is."""
    if override.window.name != name:
        return override
    return replace(override, window=replace(override.window, start=_ALWAYS, duration=_MINUTES)) if is_open else None


_KINDS: Final[Mapping[str, Callable[[World, str, str], World]]] = {
    "quota": _quota,
    "weight": _weight,
    "lost": _lost,
    "nodes": _nodes,
    "stop": _stop,
    "window": _window,
}


def _split(target: str, count: int, form: str) -> list[str]:
    """Split at slashes; names of resources may have one themselves, so the last part keeps the rest."""
    parts = target.split("/", count - 1)
    if len(parts) != count or not all(parts):
        raise ChangeError(f"{target!r}: write {form}")
    return parts


def _moved(now: int, value: str, read: Callable[[str], int]) -> int:
    number = read(value.lstrip("+-"))
    return now + number if value.startswith("+") else now - number if value.startswith("-") else number


def _count(text: str) -> int:
    if not text.isdecimal() or not text.isascii():
        raise ChangeError(f"{text!r} is no count")
    return int(text)


def _queue(world: World, name: str) -> WrittenQueue:
    if name not in world.queues:
        raise ChangeError(f"there is no ClusterQueue {name}; there are {first_few(sorted(world.queues)) or 'none'}")
    return world.queues[name]


def _flavor(world: World, name: str) -> Flavor:
    if name not in world.flavors:
        raise ChangeError(f"there is no flavor {name}; there are {first_few(sorted(world.flavors)) or 'none'}")
    return world.flavors[name]


def _nodes_of(world: World, flavor: str) -> list[Node]:
    orders = [tuple(one.flavor for one in written.queue.flavors) for written in world.queues.values()]
    return NodeIndex(world.nodes, world.flavors, [order for order in orders if len(order) > 1]).nodes_of(flavor)


def _with_queue(world: World, written: WrittenQueue) -> World:
    return replace(world, queues={**world.queues, written.queue.name: written})
