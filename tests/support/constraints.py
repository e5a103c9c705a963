"""Which nodes a pod's own constraints allow, one node at a time: what the product works out for whole flavors."""

from __future__ import annotations

from collections.abc import Mapping

from controller.core.workloads.shapes import Constraints


def allows(constraints: Constraints, name: str, labels: Mapping[str, str]) -> bool:
    """Whether nodeSelector and required affinity hold on the node of this name and labels."""
    if any(labels.get(key) != value for key, value in constraints.node_selector):
        return False
    return constraints.terms is None or any(term.matches(name, labels) for term in constraints.terms)
