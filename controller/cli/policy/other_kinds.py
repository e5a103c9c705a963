"""Objects of kinds that no WorkloadKind holds, such as JobSets: what their queue labels come to, and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from controller.core.keys import KUEUE_QUEUE, QUEUE_NAME

GROUPS: Final = frozenset(
    {
        "flink.apache.org",
        "jobset.x-k8s.io",
        "kubeflow.org",
        "leaderworkerset.x-k8s.io",
        "ray.io",
        "sparkoperator.k8s.io",
        "trainer.kubeflow.org",
        "workload.codeflare.dev",
    }
)
"""API groups whose objects make pods, and are warned of in the cluster too (`config/warnings/other_kinds.yaml`)."""


def makes_pods_unqueued(document: Mapping[str, Any]) -> bool:
    """Whether an object is of one of these groups, or carries a queue's label though it is of no kind that we know."""
    group = str(document["apiVersion"]).partition("/")[0]
    return group in GROUPS or bool(_labels(document).keys() & {QUEUE_NAME, KUEUE_QUEUE})


def unqueued(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Say which label of a queue on the object queues nothing; without any, that its templates decide."""
    kind = document["kind"]
    metadata = document.get("metadata") or {}
    name = metadata.get("name") or metadata.get("generateName") or "without a name"
    remedy = (
        "no WorkloadKind holds objects of this kind; apply one, which `penstock kinds list` may have, or put the label "
        f"{QUEUE_NAME} into the templates of its pods, or they run outside every queue"
    )
    labels = _labels(document)
    found = tuple(
        f"metadata.labels[{key}]: {labels[key]!r} on {kind} {name} queues nothing: {remedy}"
        for key in (QUEUE_NAME, KUEUE_QUEUE)
        if key in labels
    )
    return found or (f"{kind} {name}: {remedy}",)


def _labels(document: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = document.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, Mapping) else None
    return labels if isinstance(labels, Mapping) else {}
