"""Labels of Kueue on pods and Jobs, in namespaces that have them accepted: what they become here, key by key.

A label of Kueue without a value says nothing, as there: a pod or Job with an empty queue name is in no queue. Only at
create. From then on our own keys count, which are protected; Kueue's are read no more. What `config/policy` does in the
apiserver, the same, is in mutating.yaml and kueue.yaml.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from controller.core.keys import (
    ACCEPTED,
    GANG,
    KUEUE_GROUP,
    KUEUE_GROUP_SIZE,
    KUEUE_LABELS,
    KUEUE_MAX_EXEC_TIME,
    KUEUE_MIN_PARALLELISM,
    KUEUE_PREFERRED_TOPOLOGY,
    KUEUE_PRIORITY_CLASS,
    KUEUE_QUEUE,
    KUEUE_REQUIRED_TOPOLOGY,
    KUEUE_SLICE_SIZE,
    KUEUE_SLICE_TOPOLOGY,
    MAX_RUN_TIME,
    MIN_PARALLELISM,
    POD_GROUP,
    POD_GROUP_SIZE,
    PREFERRED_TOPOLOGY,
    PRIORITY_CLASS,
    QUEUE_NAME,
    REQUIRED_TOPOLOGY,
    SLICE_SIZE,
    SLICE_TOPOLOGY,
)

_LABELS: Final = ((KUEUE_QUEUE, QUEUE_NAME), (KUEUE_PRIORITY_CLASS, PRIORITY_CLASS), (KUEUE_GROUP, POD_GROUP))
_NOTES: Final = (
    (KUEUE_GROUP_SIZE, POD_GROUP_SIZE),
    (KUEUE_REQUIRED_TOPOLOGY, REQUIRED_TOPOLOGY),
    (KUEUE_PREFERRED_TOPOLOGY, PREFERRED_TOPOLOGY),
    (KUEUE_SLICE_TOPOLOGY, SLICE_TOPOLOGY),
    (KUEUE_SLICE_SIZE, SLICE_SIZE),
)
_OF_OWNERS: Final = _LABELS[:2]
"""What Kueue reads of a Job, not of its template."""

Labels = Mapping[str, str]


def are_accepted(namespace_labels: Labels) -> bool:
    """Whether the namespace has Kueue's labels taken for ours."""
    return namespace_labels.get(KUEUE_LABELS) == ACCEPTED


def labels_of_pod(labels: Labels) -> dict[str, str]:
    """Return the labels of ours that a pod lacks and Kueue's stand for."""
    return {ours: labels[theirs] for theirs, ours in _LABELS if labels.get(theirs) and ours not in labels}


def annotations_of_pod(annotations: Labels) -> dict[str, str]:
    """Return the same of annotations: the size of a group, and where it wants to stand."""
    return {ours: annotations[theirs] for theirs, ours in _NOTES if theirs in annotations and ours not in annotations}


def topology_of_pods(annotations: Labels) -> dict[str, str]:
    """Return where the pods of a Job that is held as a whole want to stand: its template says it before any is made."""
    return {ours: value for ours, value in annotations_of_pod(annotations).items() if ours != POD_GROUP_SIZE}


def annotations_of_job(labels: Labels, annotations: Labels) -> dict[str, str]:
    """Return the annotations of ours that a Job that is held as a whole lacks and its own of Kueue stand for."""
    found = {}
    if KUEUE_MIN_PARALLELISM in annotations and MIN_PARALLELISM not in annotations:
        found[MIN_PARALLELISM] = annotations[KUEUE_MIN_PARALLELISM]
    if labels.get(KUEUE_MAX_EXEC_TIME) and MAX_RUN_TIME not in annotations:
        found[MAX_RUN_TIME] = f"{labels[KUEUE_MAX_EXEC_TIME]}s"
    return found


def labels_of_template(owner: Labels, template: Labels) -> dict[str, str]:
    """Return the labels of ours that a template lacks: by its own labels of Kueue, or those of what it stands in.

    Nothing unless a queue is among them: a workload that Kueue does not queue stays as it is.
    """
    both = {theirs: template.get(theirs) or owner.get(theirs) for theirs, _ in _OF_OWNERS}
    if not both[KUEUE_QUEUE]:
        return {}
    return {ours: value for theirs, ours in _OF_OWNERS if (value := both[theirs]) and ours not in template}


def annotations_of_template(template: Labels, annotations: Labels, *, parallelism: int) -> dict[str, str]:
    """Return what makes the pods of a Job that Kueue queues as a whole a gang: there all start, or none."""
    is_settled = POD_GROUP in template or bool(template.get(KUEUE_GROUP)) or GANG in annotations
    return {GANG: "true"} if parallelism > 1 and not is_settled else {}
