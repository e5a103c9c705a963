"""Labels and annotations of Kueue that change what Kueue does and have no effect here, and what to write instead.

Those that have one: `core.gate.kueue_labels`. Not listed is what Kueue's own controllers write, and what comes true
here without it: podset-unconstrained-topology (pods get nodes with room anyway), pod-group-serving (members are
replaced anyway), job-completions-equal-parallelism (says something only beside job-min-parallelism).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from controller.cli.policy.workloads import WORKLOADS, held_for
from controller.core.keys import KUEUE_MAX_EXEC_TIME, KUEUE_MIN_PARALLELISM, MAX_RUN_TIME, MIN_PARALLELISM, QUEUE_NAME

Object = Mapping[str, Any]

_IN_MAKER: Final = ("spec", "template")
_IN_ORDER: Final = "members of a gang are placed in their order, without a Job by creation: create them in that order"
_NO_WORKLOADS: Final = "there are no Workloads here: write what that one says into the pods"

UNSUPPORTED: Final = (
    (
        "labels",
        KUEUE_MAX_EXEC_TIME,
        "write penstock.dev/max-run-time onto a Job that names its queue itself, or activeDeadlineSeconds into the spec"
        " of the pod or pod template, where it counts from each pod's start",
    ),
    ("labels", "kueue.x-k8s.io/pod-group-pod-index", _IN_ORDER),
    ("labels", "kueue.x-k8s.io/prebuilt-workload-name", _NO_WORKLOADS),
    (
        "annotations",
        "kueue.x-k8s.io/admission-gated-by",
        "write the annotation penstock.dev/held onto the pod or Job, which is not admitted while it is there",
    ),
    (
        "annotations",
        "kueue.x-k8s.io/elastic-job",
        "parallelism may change without it, and pods that this adds wait for quota",
    ),
    (
        "annotations",
        "kueue.x-k8s.io/job-min-parallelism",
        "write penstock.dev/min-parallelism onto a Job that names its queue itself, or penstock.dev/pod-group-min"
        " beside penstock.dev/gang into the annotations of the pod template: so many pods start together, and the"
        " others follow",
    ),
    (
        "annotations",
        "kueue.x-k8s.io/pod-group-fast-admission",
        "a gang waits until all its pods exist, or as many as penstock.dev/pod-group-min says",
    ),
    (
        "annotations",
        "kueue.x-k8s.io/pod-group-name",
        "write it as the label penstock.dev/pod-group, or the pods are admitted one by one",
    ),
    ("annotations", "kueue.x-k8s.io/pod-group-pod-index-label", _IN_ORDER),
    (
        "annotations",
        "kueue.x-k8s.io/podset-group-name",
        "the pods of one penstock.dev/pod-group share the domain that penstock.dev/required-topology asks for",
    ),
    (
        "annotations",
        "kueue.x-k8s.io/podset-slice-required-topology-constraints",
        "write penstock.dev/slice-required-topology and penstock.dev/slice-size, which make slices of one level",
    ),
    ("annotations", "kueue.x-k8s.io/prebuilt-workload-name", _NO_WORKLOADS),
    (
        "annotations",
        "kueue.x-k8s.io/retriable-in-group",
        "a pod gives its quota back when it ends, and one that is made in its place is admitted",
    ),
    (
        "annotations",
        "kueue.x-k8s.io/safe-to-forcefully-delete",
        "Penstock deletes no pod by force, and one that is lost with its node is charged to no queue",
    ),
    (
        "annotations",
        "provreq.kueue.x-k8s.io/",
        "Penstock makes no ProvisioningRequests, and an autoscaler sees pods once they are admitted",
    ),
)
"""Where Kueue looks, the key, or the beginning of keys where it ends in `/`, and what people are told.

`config/warnings/kueue_unsupported.yaml` has the same list. Values are not told: an annotation's may be long, and an
admission policy tells none that has a line break.
"""


def is_queued(document: Object, *, has_default_queue: bool) -> bool:
    """Whether this pod, or this workload or its pods, wait in a queue of ours."""
    labels = _at(document, (*_template(document), "metadata")).get("labels") or {}
    is_named = QUEUE_NAME in labels or held_for(document) is not None
    return document["kind"] != "DaemonSet" and (has_default_queue or is_named)


def unsupported(document: Object) -> tuple[str, ...]:
    """Say which keys of Kueue on the object, or on its pod template, have no effect."""
    metadata: Object = document.get("metadata") or {}
    name = metadata.get("name") or metadata.get("generateName") or "without a name"
    return tuple(
        f"{'.'.join(place)}.{part}[{key}] on {document['kind']} {name} means nothing to Penstock: {remedy}"
        for place in _places(document)
        for part, key, remedy in UNSUPPORTED
        if not _is_taken_over(key, _at(document, place))
        and any(one == key or (key[-1] == "/" and one.startswith(key)) for one in _at(document, place).get(part) or {})
    )


_TAKEN_OVER: Final = {KUEUE_MIN_PARALLELISM: MIN_PARALLELISM, KUEUE_MAX_EXEC_TIME: MAX_RUN_TIME}


def _is_taken_over(key: str, metadata: Object) -> bool:
    """Whether ours stands beside it, which a Job gets where the labels of Kueue are accepted."""
    return key in _TAKEN_OVER and _TAKEN_OVER[key] in (metadata.get("annotations") or {})


def _places(document: Object) -> Iterator[tuple[str, ...]]:
    """Where Kueue looks: at what makes the pods, of a CronJob its Jobs, and at the template."""
    path = _template(document)
    yield (*path[: -len(_IN_MAKER)], "metadata")
    if path:
        yield (*path, "metadata")


def _template(document: Object) -> tuple[str, ...]:
    """Return where the pod template stands: a pod is one itself, and of kinds that are not known nobody can tell."""
    workload = WORKLOADS.get((document["apiVersion"], document["kind"]))
    return () if workload is None else workload.template


def _at(document: Object, path: tuple[str, ...]) -> Object:
    for step in path:
        document = document.get(step) or {}
    return document
