"""The whole verdict on an update of a pod: metadata, what is new in the spec, and what of the spec had to stay.

Mirrors `rest.BeforeUpdate` (k8s.io/apiserver) with the pod's strategy, and `ValidatePodUpdate`
(k8s.io/kubernetes/pkg/apis/core/validation) in its order, which matters: some faults end the search.
"""

from __future__ import annotations

from collections.abc import Iterator

from controller.core.pod_update import containers, metadata, scheduling, spec_validity
from controller.core.pod_update.equality import Json
from controller.core.pod_update.rest_of_spec import rest_of_spec
from controller.core.pod_update.violation import NEWEST, Violation


def may_change(old: Json, new: Json, *, minor: int = NEWEST) -> tuple[Violation, ...]:
    """Return what the apiserver would refuse in an update of pod `old` to `new`; nothing when it is legal.

    `minor` is that of the Kubernetes that speaks, 36 or 37. What is legal is the same in both; only the paths and
    causes of faults in ownerReferences differ.

    Both are pods as the apiserver writes them, with its defaults: `old` as stored, `new` as sent and after mutating
    admission. The verdict is the apiserver's for every `new`, provided that it would take `old` again, unchanged, and
    that its feature gates are at their defaults. Paths and causes are its own too, with one exception: where a part of
    the spec that is no scheduling directive (`spec_validity`) becomes malformed, it names that part beside `spec`.
    Not looked at: status, managedFields, resourceVersion, and what the apiserver puts back by itself (generation,
    creationTimestamp). Fields of features that are off by default (stop signals; in 1.36 also cluster trust bundles and
    certificates in volumes) it drops without a word where they are new; here that counts as a change of the spec.
    """
    before, after = old.get("spec") or {}, new.get("spec") or {}
    is_same_spec = before is after or before == after
    found = [*metadata.violations(old, new, is_same_spec=is_same_spec, minor=minor)]
    if not is_same_spec:
        found += spec_validity.violations(before, after)
        found += _mutations(before, after)
    return tuple(dict.fromkeys(found))


def _mutations(old: Json, new: Json) -> Iterator[Violation]:
    """`ValidatePodUpdate` from the containers on."""
    yield from containers.images(old, new)
    for one in containers.count(old, new):
        yield one
        return
    yield from containers.deadline(old, new)
    if containers.deadline_ends_search(old, new):
        return
    yield from scheduling.tolerations(old, new)
    yield from scheduling.gates(old, new)
    if old.get("schedulingGates"):
        yield from scheduling.node_selector(old, new)
        yield from scheduling.node_affinity(old, new)
    yield from rest_of_spec(old, new)
