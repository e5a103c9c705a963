"""Names that lead nowhere: flavors and queues that are not among the files, and so will not be here either."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from controller.cli.imports.kueue_documents import Found
from controller.cli.imports.kueue_report import Report


def tell_unknown_flavors(
    found: Found, given: Iterable[Mapping[str, Any]], known: Collection[str], report: Report
) -> None:
    """Report unknown flavors that a ClusterQueue or Cohort gives; what it loses of its own is told of apart."""
    named = {flavor["name"] for flavor in given} - set(known)
    held = "the queue admits nothing" if found.kind == "ClusterQueue" else "no queue below it admits anything"
    for number, group in enumerate(found.spec.resource_groups):
        for index, flavor in enumerate(group.flavors):
            if flavor.name in named:
                named.remove(flavor.name)
                path = f"spec.resourceGroups[{number}].flavors[{index}].name"
                missing = f"no ResourceFlavor {flavor.name!r} among the files"
                report.warn(found, path, f"{missing}; {held} until there is one")


def tell_unknown_queues(doors: Iterable[Found], theirs: Collection[str], ours: Collection[str], report: Report) -> None:
    """Report LocalQueues of ClusterQueues that are not there. `ours` has those that cohorts became besides."""
    for found in doors:
        name = found.spec.cluster_queue
        if name in theirs:
            continue
        held = "its pods wait until there is one"
        if name in ours:
            held = "the one that is written of that name was a cohort, and takes no pods"
        report.warn(found, "spec.clusterQueue", f"no ClusterQueue {name!r} among the files; {held}")
