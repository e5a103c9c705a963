"""Where a pod may run, from what the apiserver writes: tolerations and the terms of node affinity."""

from __future__ import annotations

from controller.core.kubernetes.labels import Operator, Requirement, Term
from controller.core.kubernetes.taints import Toleration
from controller.kube import wire


def required_terms(affinity: wire.Affinity | None) -> tuple[Term, ...] | None:
    """Return the terms of a pod's required node affinity; None: it has none."""
    node = None if affinity is None else affinity.node_affinity
    if node is None or node.required is None:
        return None
    return tuple(_pod_term(term) for term in node.required.node_selector_terms or ())


def read_toleration(toleration: wire.PodToleration) -> Toleration:
    """Return the toleration, its operator written out."""
    t = toleration
    # an absent operator means Equal; written out, so that equal tolerations are found equal
    return Toleration(t.key, t.operator or "Equal", t.value, t.effect, t.toleration_seconds)


def read_term(term: wire.SelectorTerm) -> Term:
    """Return the term; raises ValueError for an operator that does not exist."""
    return Term(
        tuple(_requirement(r) for r in term.match_expressions or ()),
        tuple(_requirement(r) for r in term.match_fields or ()),
    )


def _pod_term(term: wire.SelectorTerm) -> Term:
    """As `read_term`, but an operator of a later Kubernetes makes a term that matches no node: the pod waits."""
    try:
        return read_term(term)
    except ValueError:
        return Term()


def _requirement(requirement: wire.SelectorRequirement) -> Requirement:
    return Requirement(requirement.key, Operator(requirement.operator), tuple(requirement.values or ()))
