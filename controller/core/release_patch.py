"""The release patch: one JSON Patch that narrows a queued pod to its flavor, stamps it and opens our gate.

Legal for the apiserver by construction (KEP-3838): requirements go to the tail of every existing required term, never
to an empty one, never twice; nodeSelector keys only where free; tolerations only added; our gate removed. The `test`
operations make the apiserver refuse it (422) when the pod is another one or was edited after we read it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from controller.core.documents import requirement_document, toleration_document
from controller.core.keys import ADMITTED_AT, ADMITTED_BY, CLUSTER_QUEUE, FLAVOR, GATE, QUEUE_NAME
from controller.core.labels import Operator, Requirement, Term
from controller.core.pods import Pod
from controller.core.pointers import escape
from controller.core.queues import Flavor

Operations = list[dict[str, Any]]

_NODE_AFFINITY = "/spec/affinity/nodeAffinity"
_REQUIRED = f"{_NODE_AFFINITY}/requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = f"{_NODE_AFFINITY}/preferredDuringSchedulingIgnoredDuringExecution"
PIN_WEIGHT = 100
"""By this weight, and its one field, the soft pin is known again when the pod is read."""


@dataclass(frozen=True, slots=True)
class Admission:
    """Where a pod is charged, when it was admitted (RFC 3339), and by which leader, as the Lease names it."""

    cluster_queue: str
    at: str
    by: str


def release_patch(pod: Pod, flavor: Flavor, admission: Admission, *, node: str | None) -> Operations:
    """Build the operations that release `pod` onto `flavor`, softly pinned to `node` where one was planned.

    The pod must carry our gate as its only one, and must not contradict the flavor: the
    decision has checked both.
    """
    return [
        *_guards(pod),
        *_node_selector(pod, flavor),
        *_affinity(pod, flavor, node),
        *_tolerations(pod, flavor),
        *_stamps(pod, flavor, admission),
        {"op": "test", "path": "/spec/schedulingGates/0/name", "value": GATE},
        {"op": "remove", "path": "/spec/schedulingGates/0"},
    ]


def _guards(pod: Pod) -> Operations:
    version = ("generation", pod.generation) if pod.generation else ("resourceVersion", pod.resource_version)
    return [
        {"op": "test", "path": "/metadata/uid", "value": pod.uid},
        {"op": "test", "path": f"/metadata/{version[0]}", "value": version[1]},
        # labels have no generation either: who is charged must still be who was asked
        {"op": "test", "path": f"/metadata/labels/{escape(QUEUE_NAME)}", "value": pod.queue},
    ]


def _node_selector(pod: Pod, flavor: Flavor) -> Operations:
    own = dict(pod.shape.constraints.node_selector)
    missing = {key: value for key, value in flavor.node_labels if key not in own}
    if not missing:
        return []
    if not pod.outline.node_selector:
        return [{"op": "add", "path": "/spec/nodeSelector", "value": missing}]
    return [
        {"op": "add", "path": f"/spec/nodeSelector/{escape(key)}", "value": value} for key, value in missing.items()
    ]


def _affinity(pod: Pod, flavor: Flavor, node: str | None) -> Operations:
    terms = pod.shape.constraints.terms
    required: Operations = []
    if flavor.requirements and terms is not None:
        required = [op for index, term in enumerate(terms) for op in _narrow_term(index, term, flavor)]
    new: dict[str, Any] = {}
    if flavor.requirements and terms is None:
        wanted = [requirement_document(requirement) for requirement in flavor.requirements]
        new["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": [{"matchExpressions": wanted}]}
    if node is not None and pod.outline.preferred:
        required.append({"op": "add", "path": f"{_PREFERRED}/-", "value": _pin(node)})
    elif node is not None:
        new["preferredDuringSchedulingIgnoredDuringExecution"] = [_pin(node)]
    return required + _set_node_affinity(pod, new)


def _set_node_affinity(pod: Pod, new: dict[str, Any]) -> Operations:
    if not new:
        return []
    if not pod.outline.affinity:
        return [{"op": "add", "path": "/spec/affinity", "value": {"nodeAffinity": new}}]
    if not pod.outline.node_affinity:
        return [{"op": "add", "path": _NODE_AFFINITY, "value": new}]
    return [{"op": "add", "path": f"{_NODE_AFFINITY}/{field}", "value": value} for field, value in new.items()]


def _narrow_term(index: int, term: Term, flavor: Flavor) -> Operations:
    if term.is_empty:
        return []
    wanted = [requirement_document(r) for r in flavor.requirements if r not in term.expressions]
    path = f"{_REQUIRED}/nodeSelectorTerms/{index}/matchExpressions"
    if not term.expressions:
        return [{"op": "add", "path": path, "value": wanted}]
    return [{"op": "add", "path": f"{path}/-", "value": one} for one in wanted]


def _tolerations(pod: Pod, flavor: Flavor) -> Operations:
    missing = [toleration_document(t) for t in flavor.tolerations if t not in pod.shape.constraints.tolerations]
    if not missing:
        return []
    if not pod.outline.tolerations:
        return [{"op": "add", "path": "/spec/tolerations", "value": missing}]
    return [{"op": "add", "path": "/spec/tolerations/-", "value": one} for one in missing]


def _stamps(pod: Pod, flavor: Flavor, admission: Admission) -> Operations:
    labels: Operations = [
        {"op": "add", "path": f"/metadata/labels/{escape(CLUSTER_QUEUE)}", "value": admission.cluster_queue},
        {"op": "add", "path": f"/metadata/labels/{escape(FLAVOR)}", "value": flavor.name},
    ]
    stamps = {ADMITTED_AT: admission.at, ADMITTED_BY: admission.by}
    if pod.has_annotations:
        paths = {f"/metadata/annotations/{escape(key)}": value for key, value in stamps.items()}
        return [*labels, *({"op": "add", "path": path, "value": value} for path, value in paths.items())]
    return [
        *labels,
        # metadata has no generation: without this an annotation that came in between would be wiped
        {"op": "test", "path": "/metadata/annotations", "value": None},
        {"op": "add", "path": "/metadata/annotations", "value": stamps},
    ]


def _pin(node: str) -> dict[str, Any]:
    field = requirement_document(Requirement("metadata.name", Operator.IN, (node,)))
    return {"weight": PIN_WEIGHT, "preference": {"matchFields": [field]}}
