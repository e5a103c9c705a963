"""Resource groups as flavors of one choice, and where that cannot be.

Kueue picks a flavor in each resource group apart; a queue of ours picks one for all resources. A queue with one group
is the same in both. Of several, the group that has cpu is what every pod uses; another can be carried over where no
choice is made in it: it has one flavor, and that asks nothing of nodes. Its resources are then counted as before,

- in the one flavor of the group with cpu, if in all queues of the tree they go to the same flavor, so that whoever
  borrowed from each other still does; or else
- as a limit of the queue, where they are neither borrowed nor lent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.cli.imports.kueue_documents import Found
from controller.cli.imports.kueue_objects import Flavor, Group, Quota
from controller.cli.imports.kueue_report import Report
from controller.cli.imports.kueue_tree import TreeKey, Trees
from controller.core.kubernetes.amounts import CPU, PODS, supply_amount

_Column = tuple[TreeKey, str, str]
"""(tree, flavor, resource)."""


@dataclass(slots=True)
class Given:
    """What a queue gives: `spec.flavors` and `spec.limits` of ours."""

    flavors: list[dict[str, Any]] = field(default_factory=list)
    limits: list[dict[str, Any]] = field(default_factory=list)


class Folding:
    """How the groups of all queues of the input are carried over."""

    def __init__(
        self, queues: Iterable[Found], cohorts: Iterable[Found], trees: Trees, flavors: Mapping[str, Found]
    ) -> None:
        self._queues, self._cohorts, self._trees, self._flavors = list(queues), list(cohorts), trees, flavors
        self._moved = self._find_moved()

    def queue(self, found: Found, report: Report) -> Given:
        """Return what the ClusterQueue gives, telling what changes by it."""
        groups = found.spec.resource_groups
        if not groups:
            return Given()
        main = _main(groups)
        given = Given([_flavor(flavor) for flavor in groups[main].flavors])
        for index, group in enumerate(groups):
            if index != main:
                self._add_side(found, index, group, given, report)
        return given

    def cohort(self, found: Found) -> Given:
        """Return what a Cohort owns; nothing is chosen there, so its groups are one list."""
        tree = self._trees.of_cohort(found.metadata.name)
        by_flavor: dict[str, list[dict[str, Any]]] = {}
        for group in found.spec.resource_groups:
            for flavor in group.flavors:
                for quota in flavor.resources:
                    name = self._moved.get((tree, flavor.name, quota.name), flavor.name)
                    by_flavor.setdefault(name, []).append(_quota(quota))
        return Given([{"name": name, "resources": resources} for name, resources in by_flavor.items()])

    def _find_moved(self) -> dict[_Column, str]:
        """Each column that can be counted in another flavor in its whole tree, with that flavor."""
        targets: defaultdict[_Column, set[str | None]] = defaultdict(set)
        for found in self._queues:
            groups, tree = found.spec.resource_groups, self._trees.of_queue(found)
            main = _main(groups) if groups else 0
            for index, group in enumerate(groups):
                whole = groups[main].flavors
                is_free = index != main and len(whole) == 1 and self._obstacle(group) is None
                for flavor in group.flavors:
                    for quota in flavor.resources:
                        targets[tree, flavor.name, quota.name].add(whole[0].name if is_free else None)
        taken = set(targets) | {
            (self._trees.of_cohort(found.metadata.name), flavor.name, quota.name)
            for found in self._cohorts
            for group in found.spec.resource_groups
            for flavor in group.flavors
            for quota in flavor.resources
        }
        wanted: defaultdict[_Column, list[_Column]] = defaultdict(list)
        for column, names in targets.items():
            name = next(iter(names))
            if len(names) == 1 and name is not None:
                wanted[column[0], name, column[2]].append(column)
        return {sources[0]: to[1] for to, sources in wanted.items() if len(sources) == 1 and to not in taken}

    def _obstacle(self, group: Group) -> str | None:
        """Say why a group beside the first makes a choice, or asks something of nodes; None: it does neither."""
        names = ", ".join(flavor.name for flavor in group.flavors)
        if len(group.flavors) > 1:
            return (
                f"a queue here gives a pod all resources from one flavor, so a choice of {names} apart is not possible"
            )
        flavor = self._flavors.get(names)
        if flavor is None:
            return (
                f"ResourceFlavor {names} is not among the objects, so its requirements on nodes are not known; add it"
            )
        spec = flavor.spec
        if spec.node_labels or spec.node_taints or spec.tolerations:
            return (
                "a queue here gives a pod all resources from one flavor, "
                f"and {names} is for nodes of its own, in addition to the flavor of the other resources"
            )
        return None

    def _add_side(self, found: Found, index: int, group: Group, given: Given, report: Report) -> None:
        path = f"spec.resourceGroups[{index}]"
        obstacle = self._obstacle(group)
        if obstacle is not None:
            remedy = "put all resources into one group whose flavors are kinds of nodes, or make a queue of each"
            report.lose(found, path, f"{obstacle}: {remedy} (left out: {_without(group.covered_resources)})")
            return
        flavor = group.flavors[0]
        for quota in flavor.resources:
            to = self._moved.get((self._trees.of_queue(found), flavor.name, quota.name))
            if to is not None:
                given.flavors[0]["resources"].append(_quota(quota))
                report.warn(found, path, f"{quota.name} is counted in flavor {to}; {_ALONE}")
            elif _is_alone(quota) or not self._trees.has_parent(found):
                self._limit(found, quota, given)
                report.warn(found, path, f"{quota.name} becomes a limit over all flavors; {_ALONE}")
            else:
                report.lose(
                    found,
                    path,
                    f"{quota.name} of flavor {flavor.name} is borrowed and lent apart from the flavors of the other "
                    "resources: name it in their group, or set its borrowingLimit and lendingLimit to 0 "
                    f"(left out: {_without([quota.name])})",
                )

    def _limit(self, found: Found, quota: Quota, given: Given) -> None:
        """Let each flavor give as much as there is, and the limit hold them together to that."""
        given.limits.append({"name": quota.name, "max": quota.nominal_quota})
        if quota.name == PODS:
            return  # counted without a quota
        own = {"borrowingLimit": 0, "lendingLimit": 0} if self._trees.has_parent(found) else {}
        for flavor in given.flavors:
            flavor["resources"].append({"name": quota.name, "nominalQuota": quota.nominal_quota, **own})


_ALONE = "pods that ask for nothing else are held to a flavor of the queue too"


def _main(groups: tuple[Group, ...]) -> int:
    return next((index for index, group in enumerate(groups) if CPU in group.covered_resources), 0)


def _is_alone(quota: Quota) -> bool:
    limits = (quota.borrowing_limit, quota.lending_limit)
    return all(limit is not None and supply_amount(quota.name, limit) == 0 for limit in limits)


def _without(resources: Iterable[str]) -> str:
    asked = [name for name in resources if name != PODS]
    texts = [f"pods that ask for {' or '.join(asked)} are never admitted"] if asked else []
    return "; ".join([*texts, *(["pods are not counted"] if PODS in resources else [])])


def _flavor(flavor: Flavor) -> dict[str, Any]:
    return {"name": flavor.name, "resources": [_quota(quota) for quota in flavor.resources]}


def _quota(quota: Quota) -> dict[str, Any]:
    return quota.model_dump(by_alias=True, exclude_unset=True)
