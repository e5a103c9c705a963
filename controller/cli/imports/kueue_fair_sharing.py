"""Kueue's fair sharing: a switch of its whole configuration there, a field of each tree's root here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.cli.imports.kueue_documents import Found
from controller.cli.imports.kueue_objects import FairSharing
from controller.cli.imports.kueue_report import Report

Document = dict[str, Any]

_NOBODY = "is left out: without a cohort there are no queues to share with"
_TURNED_ON = (
    "spec.fairSharing: weights are set below it, so the tree shares fairly; remove this if Kueue's configuration has "
    "no fairSharing, since weights are nothing there then"
)


def weight_of(found: Found, report: Report, *, has_parent: bool) -> Document | None:
    """Return fairSharing of a queue or Cohort, if it has a weight that says anything."""
    written: FairSharing = found.spec.fair_sharing
    if str(written.weight) == "1":
        return None
    if not has_parent:
        report.warn(found, "spec.fairSharing.weight", _NOBODY)
        return None
    return {"weight": str(written.weight) if isinstance(written.weight, float) else written.weight}


def let_trees_share(queues: Mapping[str, Document], report: Report, *, all_of_them: bool) -> None:
    """Write fairSharing to the root of each tree in which anybody has a weight, or of all trees."""
    for name, document in queues.items():
        if "parent" not in document["spec"]:
            continue
        root = name
        while "parent" in queues[root]["spec"]:
            root = queues[root]["spec"]["parent"]
        has_weight = "fairSharing" in document["spec"]
        if (has_weight or all_of_them) and "fairSharing" not in queues[root]["spec"]:
            queues[root]["spec"]["fairSharing"] = {}
            if not all_of_them:
                report.warnings.append(f"ClusterQueue {root}: {_TURNED_ON}")
