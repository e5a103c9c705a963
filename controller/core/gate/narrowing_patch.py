"""How a pod, or the template of a Job, is held to its flavor: what `gate.narrowing` found, as JSON Patch operations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from controller.core.gate.json_patch import Operations
from controller.core.gate.narrowing import Conflict, Narrowing, narrow
from controller.core.kubernetes.directives import PREFERRED, REQUIRED
from controller.core.kubernetes.documents import requirement_document, term_document, toleration_document
from controller.core.kubernetes.labels import Operator, Requirement, Term
from controller.core.kubernetes.node_terms import named
from controller.core.kubernetes.pointers import escape
from controller.core.queueing.flavor_sets import merged, preferences
from controller.core.queueing.queues import Flavor
from controller.core.workloads.pods import Pod
from controller.core.workloads.topology import Domain

_NODE_AFFINITY = "/spec/affinity/nodeAffinity"
PIN_WEIGHT = 100
"""By this weight, and its one field, the soft pin is known again when the pod is read."""
_DOMAIN_WEIGHT = 50


def narrowing_patch(
    pod: Pod,
    flavors: Sequence[Flavor],
    domains: Sequence[Domain],
    *,
    node: str | None = None,
    at: str = "",
    by_selector: bool = False,
) -> Operations:
    """Build the operations that hold `pod`, whose spec is below the path `at`, to one of `flavors`.

    Of several flavors, which must go together (`queueing.flavor_sets`), the earlier are preferred. `domains` are added
    to what the flavors require, or preferred. `node` is softly pinned. `by_selector`: what a node selector can say is
    not said by affinity. Raises ValueError where the pod contradicts it.
    """
    flavor = flavors[0] if len(flavors) == 1 else merged(flavors)
    wanted = tuple(domain.requirement for domain in domains if domain.is_required)
    if wanted:
        flavor = replace(flavor, requirements=(*flavor.requirements, *wanted))
    held = narrow(pod.shape.constraints, _by_selector(flavor) if by_selector else flavor)
    if isinstance(held, Conflict):
        raise ValueError(f"{'Job' if pod.is_job else 'pod'} {pod.key}, flavor {flavor.name}: {held.text}")
    return [
        *_node_selector(at, pod, held),
        *_affinity(at, pod, held, _preferred(flavors, domains, node)),
        *_tolerations(at, pod, held),
    ]


def _by_selector(flavor: Flavor) -> Flavor:
    """Return the flavor with those of its requirements among its labels that allow one value of a label."""
    labels = dict(flavor.node_labels)
    for one in flavor.requirements:
        if one.operator is Operator.IN and len(one.values) == 1:
            labels.setdefault(one.key, one.values[0])
    implied = {Requirement(key, Operator.IN, (value,)) for key, value in labels.items()}
    rest = tuple(one for one in flavor.requirements if one not in implied)
    return replace(flavor, node_labels=tuple(labels.items()), requirements=rest)


def _node_selector(at: str, pod: Pod, held: Narrowing) -> Operations:
    if not held.node_labels:
        return []
    if not pod.outline.node_selector:
        return [{"op": "add", "path": f"{at}/spec/nodeSelector", "value": dict(held.node_labels)}]
    return [
        {"op": "add", "path": f"{at}/spec/nodeSelector/{escape(key)}", "value": value}
        for key, value in held.node_labels
    ]


def _preferred(flavors: Sequence[Flavor], domains: Sequence[Domain], node: str | None) -> list[dict[str, Any]]:
    before_others = preferences(flavors) if len(flavors) > 1 else ()
    terms = [_weighted(weight, term) for weight, term in before_others]
    terms += [_weighted(_DOMAIN_WEIGHT, Term((one.requirement,))) for one in domains if not one.is_required]
    return terms if node is None else [*terms, _weighted(PIN_WEIGHT, Term(fields=(named(node),)))]


def _affinity(at: str, pod: Pod, held: Narrowing, preferred: list[dict[str, Any]]) -> Operations:
    terms = pod.shape.constraints.terms or ()
    operations = [
        operation
        for index, (term, appended) in enumerate(zip(terms, held.appended, strict=True))
        for operation in _append(at, index, term, appended)
    ]
    new: dict[str, Any] = {}
    if held.required:
        new[REQUIRED] = {"nodeSelectorTerms": [term_document(Term(held.required))]}
    if pod.outline.preferred:
        path = f"{at}{_NODE_AFFINITY}/{PREFERRED}/-"
        operations += [{"op": "add", "path": path, "value": one} for one in preferred]
    elif preferred:
        new[PREFERRED] = preferred
    return operations + _set_node_affinity(at, pod, new)


def _set_node_affinity(at: str, pod: Pod, new: dict[str, Any]) -> Operations:
    if not new:
        return []
    if not pod.outline.affinity:
        return [{"op": "add", "path": f"{at}/spec/affinity", "value": {"nodeAffinity": new}}]
    if not pod.outline.node_affinity:
        return [{"op": "add", "path": f"{at}{_NODE_AFFINITY}", "value": new}]
    return [{"op": "add", "path": f"{at}{_NODE_AFFINITY}/{field}", "value": value} for field, value in new.items()]


def _append(at: str, index: int, term: Term, appended: Sequence[Requirement]) -> Operations:
    documents = [requirement_document(requirement) for requirement in appended]
    path = f"{at}{_NODE_AFFINITY}/{REQUIRED}/nodeSelectorTerms/{index}/matchExpressions"
    if documents and not term.expressions:
        return [{"op": "add", "path": path, "value": documents}]
    return [{"op": "add", "path": f"{path}/-", "value": one} for one in documents]


def _tolerations(at: str, pod: Pod, held: Narrowing) -> Operations:
    documents = [toleration_document(toleration) for toleration in held.tolerations]
    if documents and not pod.outline.tolerations:
        return [{"op": "add", "path": f"{at}/spec/tolerations", "value": documents}]
    return [{"op": "add", "path": f"{at}/spec/tolerations/-", "value": one} for one in documents]


def _weighted(weight: int, term: Term) -> dict[str, Any]:
    return {"weight": weight, "preference": term_document(term)}
