"""Kueue's ResourceFlavors as ours. There a flavor is only quota; here it has room too, known in one of two ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, Literal

from controller.cli.imports.kueue_documents import Found
from controller.cli.imports.kueue_objects import Taint
from controller.cli.imports.kueue_report import Report
from controller.core.keys import PREFERRED_TOPOLOGY, REQUIRED_TOPOLOGY, SLICE_SIZE, SLICE_TOPOLOGY
from controller.core.kubernetes import taints
from controller.core.kubernetes.amounts import MAX_VALUE, format_amount

Capacity = Literal["Nodes", "Static"]


def flavor_spec(found: Found, capacity: Capacity, sums: Mapping[str, int], report: Report) -> dict[str, Any]:
    """Return the spec of ours. `sums` is what all queues together own of it, by resource."""
    written = found.spec
    spec = written.model_dump(by_alias=True, exclude_unset=True, include={"node_labels", "tolerations"})
    held = [taints.Toleration(t.key, t.operator, t.value, t.effect) for t in written.tolerations]
    for index, taint in enumerate(written.node_taints):
        _tell_taint(found, index, taint, held, capacity, report)
    if written.topology_name is not None:
        _tell_topology(found, capacity, report)
    if capacity == "Static" and sums:
        static = {name: format_amount(name, min(total, MAX_VALUE)) for name, total in sorted(sums.items())}
        spec["capacity"] = {"mode": "Static", "static": static}
    return dict(spec)


def _tell_topology(found: Found, capacity: Capacity, report: Report) -> None:
    """Here pods name the label itself; where room is known by sums there are no nodes to keep together on."""
    if capacity == "Static":
        told = "with --capacity Static nodes are not considered, so gangs that ask for a topology never fit; remove it"
        report.lose(found, "spec.topologyName", told)
        return
    told = (
        f"is left out: a gang names the node label itself, by the annotation {REQUIRED_TOPOLOGY} or "
        f"{PREFERRED_TOPOLOGY}, instead of kueue.x-k8s.io/podset-required-topology or podset-preferred-topology; in "
        f"slices by {SLICE_TOPOLOGY} and {SLICE_SIZE}, instead of podset-slice-required-topology and podset-slice-size"
    )
    report.warn(found, "spec.topologyName", told)


def tell_overlaps(flavors: Sequence[Found], report: Report) -> None:
    """Report flavors of the same nodes, by their labels: with mode Nodes each is of the one with most of them."""
    for first, second in combinations(sorted(flavors, key=lambda found: found.metadata.name), 2):
        wide, narrow = first.spec.node_labels, second.spec.node_labels
        if any(narrow.get(key, value) != value for key, value in wide.items()):
            continue
        name = first.metadata.name
        if wide == narrow:
            report.lose(
                second,
                "spec.nodeLabels",
                f"flavor {name} has the same, so that all nodes with them belong to one of the two, and pods would "
                "never get the other; tell their nodes apart by labels, or use --capacity Static",
            )
        else:
            report.warn(
                second,
                "spec.nodeLabels",
                f"nodes that have these labels and those of flavor {name} belong to the one that has more of them, "
                "else to the one that the queues list first",
            )


def _tell_taint(
    found: Found, index: int, taint: Taint, held: list[taints.Toleration], capacity: Capacity, report: Report
) -> None:
    path = f"spec.nodeTaints[{index}]"
    text = f"{taint.key}={taint.value}:{taint.effect}"
    if taints.are_tolerated([taints.Taint(taint.key, taint.value, taint.effect)], held):
        report.warn(found, path, f"{text} keeps no pod out there, so nothing is lost by leaving it out")
    elif capacity == "Nodes":
        report.warn(
            found,
            path,
            f"the taints that count are those of the nodes: let every node of the flavor have {text}, and pods that "
            "do not tolerate it do not get the flavor",
        )
    else:
        report.lose(
            found,
            path,
            f"with --capacity Static nodes are not considered, so pods that do not tolerate {text} would get the "
            "flavor; use --capacity Nodes",
        )
