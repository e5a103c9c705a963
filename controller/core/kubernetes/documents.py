"""Core values as parts of Kubernetes objects, in the form that the apiserver writes: what is empty is left out."""

from __future__ import annotations

from typing import Any

from controller.core.kubernetes.labels import Requirement, Term
from controller.core.kubernetes.taints import Toleration


def requirement_document(requirement: Requirement) -> dict[str, Any]:
    """Return core/v1 NodeSelectorRequirement."""
    document: dict[str, Any] = {"key": requirement.key, "operator": requirement.operator.value}
    return {**document, "values": list(requirement.values)} if requirement.values else document


def term_document(term: Term) -> dict[str, Any]:
    """Return core/v1 NodeSelectorTerm."""
    parts = {"matchExpressions": term.expressions, "matchFields": term.fields}
    return {name: [requirement_document(r) for r in part] for name, part in parts.items() if part}


def toleration_document(toleration: Toleration) -> dict[str, Any]:
    """Return core/v1 Toleration."""
    document: dict[str, Any] = {
        "key": toleration.key,
        "operator": toleration.operator,
        "value": toleration.value,
        "effect": toleration.effect,
        "tolerationSeconds": toleration.seconds,
    }
    return {name: value for name, value in document.items() if value not in ("", None)}
