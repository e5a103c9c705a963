"""Several flavors that one pod may run on: what it is held to, and which of them pays for it (`flavorMode: Any`).

Flavors go together when they are told apart by the value of one label of their nodes: then one requirement, `In` with
all those values, says exactly what each of them says for itself, in every term that a pod may have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from controller.core.budgets.budget import rate_of_cost
from controller.core.kubernetes.amounts import Requests
from controller.core.kubernetes.labels import Operator, Requirement, Term
from controller.core.queueing.queues import Flavor

Preference = tuple[int, Term]
"""A weight of 1 to 100, and the nodes that it prefers."""


def fault_of(flavors: Sequence[Flavor]) -> str | None:
    """Say why these flavors do not go together; None: they do."""
    first = flavors[0]
    for one in flavors[1:]:
        same = dict(one.node_labels).keys() == dict(first.node_labels).keys()
        if not same or set(one.requirements) != set(first.requirements):
            return f"flavors {first.name} and {one.name} select nodes by other labels, or have other nodeRequirements"
    keys = _keys(flavors)
    if len(keys) == 1:
        return None
    found = f"they differ in {', '.join(keys)}" if keys else "they have the same nodeLabels"
    return f"its flavors must differ in the value of just one of their nodeLabels, and {found}"


def merged(flavors: Sequence[Flavor]) -> Flavor:
    """Return what a pod is held to that may run on all of these, which go together."""
    first, (key,) = flavors[0], _keys(flavors)
    values = tuple(dict(one.node_labels)[key] for one in flavors)
    return Flavor(
        name=", ".join(one.name for one in flavors),
        node_labels=tuple(pair for pair in first.node_labels if pair[0] != key),
        requirements=(Requirement(key, Operator.IN, values), *first.requirements),
        tolerations=tuple(dict.fromkeys(toleration for one in flavors for toleration in one.tolerations)),
    )


def preferences(flavors: Sequence[Flavor]) -> tuple[Preference, ...]:
    """Return how much each of these is preferred before those behind it; the last is not."""
    (key,), count = _keys(flavors), len(flavors)
    wanted = (Requirement(key, Operator.IN, (dict(one.node_labels)[key],)) for one in flavors[:-1])
    return tuple((100 * (count - 1 - at) // count, Term((one,))) for at, one in enumerate(wanted))


def payer(names: Sequence[str], flavors: Mapping[str, Flavor], requests: Requests, landed: str | None) -> str:
    """Return which of these pays for a pod: that of its node, else the costliest, the last of those that cost the same.

    A flavor without a price costs nothing.
    """
    if landed in names:
        return landed or ""
    costs = [(rate_of_cost(requests, flavors[one].price) if one in flavors else 0, at) for at, one in enumerate(names)]
    return names[max(costs)[1]]


def _keys(flavors: Sequence[Flavor]) -> list[str]:
    """The labels in which they differ."""
    pairs = [dict(one.node_labels) for one in flavors]
    return [key for key in pairs[0] if len({one.get(key) for one in pairs}) > 1]
