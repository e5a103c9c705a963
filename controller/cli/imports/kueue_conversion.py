"""From all of Kueue's objects to all of ours: cohorts become parents, the rest kind by kind.

The objects are converted together, since a tree, a flavor's sum and a name that clashes concern several of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from typing import Any

from controller.api.parse import (
    InvalidObject,
    parse_cluster_queue,
    parse_local_queue,
    parse_resource_flavor,
    parse_workload_priority_class,
)
from controller.cli.imports.documents import ConversionError, kept_metadata
from controller.cli.imports.kueue_differences import tell
from controller.cli.imports.kueue_documents import UNCONVERTED, Found
from controller.cli.imports.kueue_fair_sharing import let_trees_share, weight_of
from controller.cli.imports.kueue_flavors import Capacity, flavor_spec, tell_overlaps
from controller.cli.imports.kueue_groups import Folding, Given
from controller.cli.imports.kueue_names import tell_unknown_flavors, tell_unknown_queues
from controller.cli.imports.kueue_objects import Fungibility, Preemption
from controller.cli.imports.kueue_report import Report
from controller.cli.imports.kueue_tree import Trees
from controller.core.keys import GROUP, VERSION
from controller.core.kubernetes.amounts import supply_amount

Document = dict[str, Any]
_PARSERS = {
    "ClusterQueue": parse_cluster_queue,
    "LocalQueue": parse_local_queue,
    "ResourceFlavor": parse_resource_flavor,
    "WorkloadPriorityClass": parse_workload_priority_class,
}


def convert(
    found: Sequence[Found], capacity: Capacity, report: Report, *, fair_sharing: bool = False
) -> list[Document]:
    """Return our objects: priorities, flavors, queues from the roots down, local queues. Raises ConversionError."""
    _refuse_twice(found)
    kinds: defaultdict[str, list[Found]] = defaultdict(list)
    for one in found:
        kinds[one.kind].append(one)
        if one.kind in UNCONVERTED:
            report.warn(one, "kind", f"is left out: {UNCONVERTED[one.kind]}")
        else:
            tell(one, report)
    faults: list[str] = []
    queues = _queues(kinds, report, faults)
    named = {one["metadata"]["name"]: one for one in queues}
    let_trees_share(named, report, all_of_them=fair_sharing)
    tell_unknown_queues(kinds["LocalQueue"], {one.metadata.name for one in kinds["ClusterQueue"]}, named, report)
    sums = _sums(queues)
    used = _used_flavors(kinds, sums, report)
    if capacity == "Nodes":
        tell_overlaps(used, report)
    flavors = [
        _document("ResourceFlavor", one, flavor_spec(one, capacity, sums.get(one.metadata.name, {}), report), faults)
        for one in used
    ]
    kind = "WorkloadPriorityClass"
    priorities = [_document(kind, one, _priority_spec(one), faults) for one in kinds[kind]]
    doors = [_document("LocalQueue", one, _door_spec(one, report), faults) for one in kinds["LocalQueue"]]
    if faults:
        raise ConversionError("\n".join(faults))
    return [*priorities, *flavors, *queues, *doors]


def _refuse_twice(found: Iterable[Found]) -> None:
    first: dict[tuple[str, str], Found] = {}
    faults = [
        f"{one.label}: metadata.name: there is another at {first[one.key].where}; leave one out"
        for one in found
        if one.kind not in UNCONVERTED and first.setdefault(one.key, one) is not one
    ]
    if faults:
        raise ConversionError("\n".join(faults))


def _queues(kinds: dict[str, list[Found]], report: Report, faults: list[str]) -> list[Document]:
    queues, cohorts = kinds["ClusterQueue"], kinds["Cohort"]
    flavors = {one.metadata.name: one for one in kinds["ResourceFlavor"]}
    trees = Trees(queues, cohorts)
    folding = Folding(queues, cohorts, trees, flavors)
    documents = [_implicit(trees.names[name]) for name in trees.implicit]
    for one in sorted(cohorts, key=trees.depth):
        given, name = folding.cohort(one), trees.names[one.metadata.name]
        tell_unknown_flavors(one, given.flavors, flavors, report)
        documents.append(_document("ClusterQueue", one, _node_spec(one, trees, given, report), faults, name))
    for one in queues:
        given = folding.queue(one, report)
        tell_unknown_flavors(one, given.flavors, flavors, report)
        spec = {**_node_spec(one, trees, given, report), **_queue_spec(one, trees)}
        documents.append(_document("ClusterQueue", one, spec, faults))
    for old, new in trees.renamed.items():
        report.warnings.append(f"Cohort {old}: a ClusterQueue has that name too; becomes ClusterQueue {new}")
    return documents


def _used_flavors(kinds: dict[str, list[Found]], sums: Container[str], report: Report) -> list[Found]:
    """Return the flavors without those that no queue here names: a flavor here takes nodes from the others.

    Flavors that are converted without queues are all kept.
    """
    if not kinds["ClusterQueue"] and not kinds["Cohort"]:
        return kinds["ResourceFlavor"]
    named = {
        flavor.name
        for one in (*kinds["ClusterQueue"], *kinds["Cohort"])
        for group in one.spec.resource_groups
        for flavor in group.flavors
    }
    gone = [one for one in kinds["ResourceFlavor"] if one.metadata.name not in sums]
    for one in gone:
        any_more = " any more" if one.metadata.name in named else ""
        report.warn(one, "kind", f"is left out, since none of the queues names it{any_more}")
    return [one for one in kinds["ResourceFlavor"] if one not in gone]


def _node_spec(found: Found, trees: Trees, given: Given, report: Report) -> Document:
    parent = trees.parent_of(found)
    parts = {
        "parent": parent,
        "flavors": given.flavors,
        "limits": given.limits,
        "fairSharing": weight_of(found, report, has_parent=bool(parent)),
    }
    return {name: value for name, value in parts.items() if value}


def _queue_spec(found: Found, trees: Trees) -> Document:
    written = found.spec
    spec: Document = {}
    if written.namespace_selector is not None:
        spec["namespaceSelector"] = written.namespace_selector.model_dump(by_alias=True, exclude_unset=True)
    if written.queueing_strategy != "BestEffortFIFO":
        spec["queueingStrategy"] = written.queueing_strategy
    preemption = _preemption(written.preemption, has_parent=bool(trees.parent_of(found)))
    fungibility = _fungibility(written.flavor_fungibility, preempts=bool(preemption))
    parts = {"flavorFungibility": fungibility, "preemption": preemption}
    return {**spec, **{name: part for name, part in parts.items() if part}, **_stop(found)}


def _fungibility(written: Fungibility, *, preempts: bool) -> Document:
    """Where nobody is preempted, it says nothing when somebody could be."""
    spec: Document = {}
    if written.when_can_borrow == "TryNextFlavor":
        spec["whenCanBorrow"] = "TryNextFlavor"
    if written.when_can_preempt != "TryNextFlavor" and preempts:
        spec["whenCanPreempt"] = "MayStopSearch"
    return spec


def _preemption(written: Preemption, *, has_parent: bool) -> Document:
    """Nobody borrows from a queue without a parent, so there is nobody to reclaim from."""
    spec: Document = {}
    if written.within_cluster_queue != "Never":
        spec["withinClusterQueue"] = written.within_cluster_queue
    if written.reclaim_within_cohort != "Never" and has_parent:
        spec["reclaimWithinCohort"] = written.reclaim_within_cohort
        if written.borrow_within_cohort.policy != "Never":
            spec["borrowWithinCohort"] = written.borrow_within_cohort.model_dump(by_alias=True, exclude_none=True)
    return spec


def _priority_spec(found: Found) -> Document:
    described = {"description": found.spec.description} if found.spec.description else {}
    return {"value": found.spec.value, **described}


def _door_spec(found: Found, report: Report) -> Document:
    weight = weight_of(found, report, has_parent=True)
    shared = {} if weight is None else {"fairSharing": weight}
    return {"clusterQueue": found.spec.cluster_queue, **shared, **_stop(found)}


def _stop(found: Found) -> Document:
    return {} if found.spec.stop_policy == "None" else {"stopPolicy": found.spec.stop_policy}


def _implicit(name: str) -> Document:
    """A cohort that is only named, which has no quota of its own."""
    return {"apiVersion": f"{GROUP}/{VERSION}", "kind": "ClusterQueue", "metadata": {"name": name}, "spec": {}}


def _document(kind: str, found: Found, spec: Document, faults: list[str], name: str | None = None) -> Document:
    """Return the object, and say in `faults` where it breaks the rules of our kind."""
    metadata = kept_metadata(found.written_metadata)
    if name is not None and isinstance(metadata, dict):
        metadata = {**metadata, "name": name}
    document = {"apiVersion": f"{GROUP}/{VERSION}", "kind": kind, "metadata": metadata, "spec": spec}
    try:
        _PARSERS[kind](document)
    except InvalidObject as error:
        faults += (f"{found.label}: cannot be a {kind} of ours: {fault}" for fault in error.faults)
    return document


def _sums(queues: Iterable[Document]) -> dict[str, dict[str, int]]:
    """What all queues own together, by flavor and resource: no tree can use more than that."""
    sums: defaultdict[str, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
    for queue in queues:
        for flavor in queue["spec"].get("flavors", ()):
            for quota in flavor["resources"]:
                sums[flavor["name"]][quota["name"]] += supply_amount(quota["name"], quota["nominalQuota"])
    return {name: dict(resources) for name, resources in sums.items()}
