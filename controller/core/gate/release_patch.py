"""The release patch: one JSON Patch that narrows a queued pod to its flavor, stamps it and opens our gate.

What is narrowed and how stays legal: `gate.narrowing`. Here it becomes operations. The `test` operations make the
apiserver refuse the patch (422) when the pod is another one or was edited after we read it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from controller.core.gate.narrowing import Conflict, Narrowing, narrow
from controller.core.keys import (
    ADMITTED_AT,
    ADMITTED_BY,
    CLUSTER_QUEUE,
    FLAVOR,
    FLAVORS,
    GATE,
    PLANNED_NODE,
    PREEMPTIONS,
    QUEUE_NAME,
    RELEASE_ATTEMPT,
)
from controller.core.kubernetes.directives import PREFERRED, REQUIRED
from controller.core.kubernetes.documents import requirement_document, term_document, toleration_document
from controller.core.kubernetes.labels import Requirement, Term
from controller.core.kubernetes.node_terms import named
from controller.core.kubernetes.pointers import escape
from controller.core.queueing.flavor_sets import merged, preferences
from controller.core.queueing.queues import Flavor
from controller.core.workloads.pods import Pod
from controller.core.workloads.topology import Domain

Operations = list[dict[str, Any]]

_NODE_AFFINITY = "/spec/affinity/nodeAffinity"
PIN_WEIGHT = 100
"""By this weight, and its one field, the soft pin is known again when the pod is read."""


_DOMAIN_WEIGHT = 50


@dataclass(frozen=True, slots=True)
class Admission:
    """Where a pod is charged, when it was admitted (RFC 3339), and by which leader, as the Lease names it.

    `preemptions`: how many in a row led to its place (`preemption.rounds`).
    """

    cluster_queue: str
    at: str
    by: str
    preemptions: int = 0


def release_patch(
    pod: Pod,
    flavors: Sequence[Flavor],
    admission: Admission,
    *,
    node: str | None,
    domains: Sequence[Domain] = (),
    is_pinned: bool = True,
) -> Operations:
    """Build the operations that release `pod` onto one of `flavors`, softly pinned to `node` where one was planned.

    Of several flavors, which must go together (`queueing.flavor_sets`), the earlier are preferred. `domains` are added
    to what the flavors require, or preferred. Not `is_pinned`: the node is only noted, so that its room is kept.

    The pod must carry our gate as its only one, and must not contradict the flavor: the decision has checked both.
    Raises ValueError where it does.
    """
    flavor = flavors[0] if len(flavors) == 1 else merged(flavors)
    wanted = tuple(domain.requirement for domain in domains if domain.is_required)
    if wanted:
        flavor = replace(flavor, requirements=(*flavor.requirements, *wanted))
    held = narrow(pod.shape.constraints, flavor)
    if isinstance(held, Conflict):
        raise ValueError(f"pod {pod.key}, flavor {flavor.name}: {held.text}")
    return [
        *_guards(pod),
        *_node_selector(pod, held),
        *_affinity(pod, held, _preferred(flavors, domains, node if is_pinned else None)),
        *_tolerations(pod, held),
        *_stamps(pod, [one.name for one in flavors], admission, _noted(pod, node, is_pinned=is_pinned)),
        {"op": "test", "path": "/spec/schedulingGates/0/name", "value": GATE},
        {"op": "remove", "path": "/spec/schedulingGates/0"},
    ]


def sameness_tests(uid: str, generation: int, resource_version: str) -> Operations:
    """Build the tests that it is this pod as it was read; of pods older than Kubernetes 1.33 generation is 0."""
    version = ("generation", generation) if generation else ("resourceVersion", resource_version)
    return [
        {"op": "test", "path": "/metadata/uid", "value": uid},
        {"op": "test", "path": f"/metadata/{version[0]}", "value": version[1]},
    ]


def _guards(pod: Pod) -> Operations:
    return [
        *sameness_tests(pod.uid, pod.generation, pod.resource_version),
        # labels have no generation either: who is charged must still be who was asked
        {"op": "test", "path": f"/metadata/labels/{escape(QUEUE_NAME)}", "value": pod.queue},
        *attempt_test(pod),
    ]


def attempt_test(pod: Pod) -> Operations:
    """Build the test that no patch sent before this state of the pod was revoked since.

    A test for null passes where the annotation is absent, and fails where there are no annotations at all.
    """
    if not pod.has_annotations:
        return [{"op": "test", "path": "/metadata/annotations", "value": None}]
    path = f"/metadata/annotations/{escape(RELEASE_ATTEMPT)}"
    return [{"op": "test", "path": path, "value": pod.release_attempt}]


def _node_selector(pod: Pod, held: Narrowing) -> Operations:
    if not held.node_labels:
        return []
    if not pod.outline.node_selector:
        return [{"op": "add", "path": "/spec/nodeSelector", "value": dict(held.node_labels)}]
    return [
        {"op": "add", "path": f"/spec/nodeSelector/{escape(key)}", "value": value} for key, value in held.node_labels
    ]


def _preferred(flavors: Sequence[Flavor], domains: Sequence[Domain], node: str | None) -> list[dict[str, Any]]:
    before_others = preferences(flavors) if len(flavors) > 1 else ()
    terms = [_weighted(weight, term) for weight, term in before_others]
    terms += [_weighted(_DOMAIN_WEIGHT, Term((one.requirement,))) for one in domains if not one.is_required]
    return terms if node is None else [*terms, _weighted(PIN_WEIGHT, Term(fields=(named(node),)))]


def _affinity(pod: Pod, held: Narrowing, preferred: list[dict[str, Any]]) -> Operations:
    terms = pod.shape.constraints.terms or ()
    operations = [
        operation
        for index, (term, appended) in enumerate(zip(terms, held.appended, strict=True))
        for operation in _append(index, term, appended)
    ]
    new: dict[str, Any] = {}
    if held.required:
        new[REQUIRED] = {"nodeSelectorTerms": [term_document(Term(held.required))]}
    if pod.outline.preferred:
        path = f"{_NODE_AFFINITY}/{PREFERRED}/-"
        operations += [{"op": "add", "path": path, "value": one} for one in preferred]
    elif preferred:
        new[PREFERRED] = preferred
    return operations + _set_node_affinity(pod, new)


def _set_node_affinity(pod: Pod, new: dict[str, Any]) -> Operations:
    if not new:
        return []
    if not pod.outline.affinity:
        return [{"op": "add", "path": "/spec/affinity", "value": {"nodeAffinity": new}}]
    if not pod.outline.node_affinity:
        return [{"op": "add", "path": _NODE_AFFINITY, "value": new}]
    return [{"op": "add", "path": f"{_NODE_AFFINITY}/{field}", "value": value} for field, value in new.items()]


def _append(index: int, term: Term, appended: Sequence[Requirement]) -> Operations:
    documents = [requirement_document(requirement) for requirement in appended]
    path = f"{_NODE_AFFINITY}/{REQUIRED}/nodeSelectorTerms/{index}/matchExpressions"
    if documents and not term.expressions:
        return [{"op": "add", "path": path, "value": documents}]
    return [{"op": "add", "path": f"{path}/-", "value": one} for one in documents]


def _tolerations(pod: Pod, held: Narrowing) -> Operations:
    documents = [toleration_document(toleration) for toleration in held.tolerations]
    if documents and not pod.outline.tolerations:
        return [{"op": "add", "path": "/spec/tolerations", "value": documents}]
    return [{"op": "add", "path": "/spec/tolerations/-", "value": one} for one in documents]


def _noted(pod: Pod, node: str | None, *, is_pinned: bool) -> str | None:
    """Return what is noted of the planned node: nothing where the pin says it, or where there is none.

    A queued pod may prefer a node by itself in just the words of our pin, or carry such a note that somebody wrote:
    what is noted then says which node is meant, "" none.
    """
    if node is None:
        return None if pod.pinned is None else ""
    return None if is_pinned and pod.pinned in (None, node) else node


def _stamps(pod: Pod, flavors: Sequence[str], admission: Admission, planned: str | None) -> Operations:
    labels: Operations = [
        {"op": "add", "path": f"/metadata/labels/{escape(CLUSTER_QUEUE)}", "value": admission.cluster_queue}
    ]
    stamps = {ADMITTED_AT: admission.at, ADMITTED_BY: admission.by}
    if len(flavors) == 1:
        labels.append({"op": "add", "path": f"/metadata/labels/{escape(FLAVOR)}", "value": flavors[0]})
    else:
        stamps[FLAVORS] = ",".join(flavors)
    if admission.preemptions or pod.preemptions:  # a queued pod's own is nobody's but its owner's
        stamps[PREEMPTIONS] = str(admission.preemptions)
    if planned is not None:
        stamps[PLANNED_NODE] = planned
    return [*labels, *annotate(pod, stamps)]


def annotate(pod: Pod, notes: Mapping[str, str]) -> Operations:
    """Build the operations that write annotations, after `attempt_test`: where there were none none is wiped."""
    if not pod.has_annotations:
        return [{"op": "add", "path": "/metadata/annotations", "value": dict(notes)}]
    return [{"op": "add", "path": f"/metadata/annotations/{escape(key)}", "value": notes[key]} for key in notes]


def _weighted(weight: int, term: Term) -> dict[str, Any]:
    return {"weight": weight, "preference": term_document(term)}
