"""Affinity as our objects write it (`controller.api.placement`) to what pods get (`core.kubernetes.directives`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.api.nodes import NodeRequirement
from controller.api.placement import Affinity, FieldRequirement, NodeAffinity, NodeTerm, PodAffinity
from controller.core.kubernetes import directives
from controller.core.kubernetes.directives import PREFERRED, REQUIRED, PodTermList, Preferred
from controller.core.kubernetes.labels import Operator, Requirement, Term


def to_node_affinity(affinity: Affinity | None) -> tuple[tuple[Term, ...] | None, tuple[Preferred, ...]]:
    """Return required terms, None where nothing is required, and preferred ones."""
    node = (affinity or Affinity()).node_affinity or NodeAffinity()
    required = node.required_during_scheduling_ignored_during_execution
    return (
        tuple(map(_term, required.node_selector_terms)) if required is not None else None,
        tuple(
            Preferred(one.weight, _term(one.preference))
            for one in node.preferred_during_scheduling_ignored_during_execution
        ),
    )


def _term(term: NodeTerm) -> Term:
    return Term(tuple(map(_requirement, term.match_expressions)), tuple(map(_requirement, term.match_fields)))


def _requirement(requirement: NodeRequirement | FieldRequirement) -> Requirement:
    return Requirement(requirement.key, Operator(requirement.operator), requirement.values)


def to_pod_terms(affinity: Affinity | None) -> dict[PodTermList, tuple[Mapping[str, Any], ...]]:
    """Return the terms of each list that has some, as the apiserver writes them."""
    of_all = affinity or Affinity()
    lists: dict[PodTermList, tuple[Mapping[str, Any], ...]] = {}
    for which, written in (
        (directives.PodAffinity.TOGETHER, of_all.pod_affinity),
        (directives.PodAffinity.APART, of_all.pod_anti_affinity),
    ):
        whole = written or PodAffinity()
        for part, terms in (
            (REQUIRED, whole.required_during_scheduling_ignored_during_execution),
            (PREFERRED, whole.preferred_during_scheduling_ignored_during_execution),
        ):
            if terms:
                lists[which, part] = tuple(
                    _compact(term.model_dump(mode="json", by_alias=True, exclude_none=True)) for term in terms
                )
    return lists


def _compact(document: dict[str, Any]) -> dict[str, Any]:
    """Leave out empty lists and labels, as the apiserver does when it writes a pod; an empty selector means all."""
    result: dict[str, Any] = {}
    for name, value in document.items():
        if isinstance(value, dict) and name != "matchLabels":
            result[name] = _compact(value)
        elif value not in ([], {}):
            result[name] = (
                [_compact(one) if isinstance(one, dict) else one for one in value] if isinstance(value, list) else value
            )
    return result
