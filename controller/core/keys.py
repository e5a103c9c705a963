"""Every name that Penstock reads or writes on a Kubernetes object. One list, so that both programs agree."""

from __future__ import annotations

from typing import Final

GROUP: Final = "penstock.dev"
VERSION: Final = "v1alpha1"

GATE: Final = "penstock.dev/queue"
"""The entry in spec.schedulingGates that the webhook adds and the release patch removes."""

QUEUE_NAME: Final = "penstock.dev/queue-name"
"""Label of pods and Jobs, written by the user: a LocalQueue of the namespace. A Job that has it is held as a whole."""

POD_GROUP: Final = "penstock.dev/pod-group"
"""Pod label, written by the user: pods of a namespace with the same value are admitted together (a gang)."""

POD_GROUP_SIZE: Final = "penstock.dev/pod-group-size"
"""Pod annotation, written by the user: how many pods the group has."""

POD_GROUP_MIN: Final = "penstock.dev/pod-group-min"
"""Pod annotation, written by the user: how many of them are admitted together; the others follow one by one."""

GANG: Final = "penstock.dev/gang"
"""Pod annotation, written by the user: "true" makes the pods that a Job keeps alive at a time a gang."""

REQUIRED_TOPOLOGY: Final = "penstock.dev/required-topology"
"""Pod annotation, written by the user: the node label of which all members of the gang must share one value."""

PREFERRED_TOPOLOGY: Final = "penstock.dev/preferred-topology"
"""Pod annotation, written by the user: the same as a wish, where there is room."""

SLICE_TOPOLOGY: Final = "penstock.dev/slice-required-topology"
"""Pod annotation, written by the user: the node label of which the members of each slice of a gang share one value."""

SLICE_SIZE: Final = "penstock.dev/slice-size"
"""Pod annotation, written by the user: how many members each slice has."""

EXPECTED_RUNTIME: Final = "penstock.dev/expected-runtime"
"""Pod annotation, written by the user: how long the pod is expected to run, a duration, for backfill."""

PRIORITY_CLASS: Final = "penstock.dev/priority-class"
"""Label of pods and Jobs, written by the user: the WorkloadPriorityClass that orders the pod, or all of the Job's."""

HELD: Final = "penstock.dev/held"
"""Annotation of pods, Jobs and queues, written by people: it is held, by whom and why. Of queues it holds nothing."""

ON_TOP: Final = "penstock.dev/on-top"
"""Annotation of pods and Jobs, written by people: it goes before its local queue's others; who says so, and why."""

DEFAULT_QUEUE: Final = "penstock.dev/default-queue"
"""Namespace label: the LocalQueue of pods, or of Jobs (HOLD), that name none."""

HOLD: Final = "penstock.dev/hold"
"""Namespace label: with HOLD_JOBS the default queue holds Jobs as a whole; with HOLD_PODS or without it, their pods.

Other values mean nothing. On a Job Penstock notes HOLD_PODS where the queue is its template's alone.
"""

HOLD_JOBS: Final = "Jobs"
HOLD_PODS: Final = "Pods"

QUEUEING: Final = "penstock.dev/queueing"
"""Namespace label: with the value REQUIRED no pod of the namespace runs outside a queue. Other values mean nothing."""

REQUIRED: Final = "Required"

DEFAULT_RUNTIME_CLASS: Final = "penstock.dev/default-runtime-class"
"""Namespace label: the RuntimeClass of pods that name none; it goes before the cluster's default."""

KUEUE_LABELS: Final = "penstock.dev/kueue-labels"
"""Namespace label: with ACCEPTED, Kueue's labels below are taken for ours when pods and Jobs are created."""

ACCEPTED: Final = "Accepted"

KUEUE_QUEUE: Final = "kueue.x-k8s.io/queue-name"
KUEUE_PRIORITY_CLASS: Final = "kueue.x-k8s.io/priority-class"
KUEUE_GROUP: Final = "kueue.x-k8s.io/pod-group-name"
"""Labels of Kueue, written by the user: on pods, the first two on Jobs and other owners too."""

KUEUE_GROUP_SIZE: Final = "kueue.x-k8s.io/pod-group-total-count"
KUEUE_REQUIRED_TOPOLOGY: Final = "kueue.x-k8s.io/podset-required-topology"
KUEUE_PREFERRED_TOPOLOGY: Final = "kueue.x-k8s.io/podset-preferred-topology"
KUEUE_SLICE_TOPOLOGY: Final = "kueue.x-k8s.io/podset-slice-required-topology"
KUEUE_SLICE_SIZE: Final = "kueue.x-k8s.io/podset-slice-size"
"""Pod annotations of Kueue, written by the user; templates bring them."""

KUEUE_MIN_PARALLELISM: Final = "kueue.x-k8s.io/job-min-parallelism"
"""Job annotation of Kueue, written by the user."""

KUEUE_MAX_EXEC_TIME: Final = "kueue.x-k8s.io/max-exec-time-seconds"
"""Job label of Kueue, written by the user."""

CLUSTER_QUEUE: Final = "penstock.dev/cluster-queue"
FLAVOR: Final = "penstock.dev/flavor"
FLAVORS: Final = "penstock.dev/flavors"
PLANNED_NODE: Final = "penstock.dev/planned-node"
ADMITTED_AT: Final = "penstock.dev/admitted-at"
ADMITTED_BY: Final = "penstock.dev/admitted-by"
POLICIES: Final = "penstock.dev/policies"
PREEMPTIONS: Final = "penstock.dev/preemptions"

ADMITTED_JOB: Final = "penstock.dev/admitted-job"
"""Annotation of the template of an admitted Job, and so of its pods: the Job's uid.

The release patch writes it with the stamps of the template. They are believed of pods that the Job controller makes for
the Job of this uid: these were admitted with their Job, and get no gate.
"""

ORIGINAL_TEMPLATE: Final = "penstock.dev/original-template"
"""Annotation of an admitted Job: what its user wrote in the parts of the template that the release changed, as JSON."""

WANTED_PARALLELISM: Final = "penstock.dev/wanted-parallelism"
"""Annotation of an admitted Job: the `spec.parallelism` that its user wants, where that is more than is admitted.

Written where the parallelism of an admitted Job is raised, which is decided on like a new workload, and by the release
of a Job with fewer pods than it wants. Users may write and remove it themselves.
"""

MIN_PARALLELISM: Final = "penstock.dev/min-parallelism"
"""Annotation of Jobs, written by the user: with how many pods the Job may be admitted where not all of them fit."""

MAX_RUN_TIME: Final = "penstock.dev/max-run-time"
"""Annotation of pods and Jobs, written by the user: how long it runs at most, all its admissions together."""

RUN_TIME_LIMIT: Final = "penstock.dev/run-time-limit"
"""Annotation of an admitted Job: the seconds that it may run from this admission on; Kubernetes ends it then."""

RUN_TIME_USED: Final = "penstock.dev/run-time-used"
"""Annotation of a Job with a limit that was suspended: the seconds that it ran in all its admissions until then."""

RELEASE_ATTEMPT: Final = "penstock.dev/release-attempt"
"""Annotation of pods and Jobs: a number that each release patch tests. The next one revokes all patches sent before."""

REVOKED_BY: Final = "penstock.dev/revoked-by"
"""Annotation of pods and Jobs: which leader wrote RELEASE_ATTEMPT, as the Lease names it."""

USER: Final = "penstock.dev/user"
"""Pod annotation, written at create: who created the pod's controlling owner, or the pod. Templates carry it too."""

STAMPED_LABELS: Final = (CLUSTER_QUEUE, FLAVOR)
"""Labels of pods, Jobs and their templates that only the release patch writes; they say where these are charged."""

STAMPED_ANNOTATIONS: Final = (
    ADMITTED_AT,
    ADMITTED_BY,
    ADMITTED_JOB,
    FLAVORS,
    ORIGINAL_TEMPLATE,
    PLANNED_NODE,
    POLICIES,
    PREEMPTIONS,
    RELEASE_ATTEMPT,
    REVOKED_BY,
    RUN_TIME_LIMIT,
    RUN_TIME_USED,
    USER,
)
"""Annotations of pods, Jobs and their templates that only Penstock writes."""

WRITTEN_AT_CREATE: Final = (POLICIES, USER)
"""Those of them that new pods have: templates bring them, and steps put them right."""

SCHEDULING_POLICY_ENTRY: Final = "SchedulingPolicy/"
"""What names of SchedulingPolicies begin with in POLICIES: no namespace has a capital letter, so none is mistaken."""

HISTORY: Final = "penstock.dev/history"
"""Annotation of the Lease, written by the leader: how far the history of pods is behind."""

BREAK_GLASS: Final = "penstock:break-glass"
"""The group whose members may write what else only Penstock writes, unless the webhook is told another."""

CONDITION: Final = "penstock.dev/Admissible"
"""Type of the pod condition that says why a queued pod waits."""

EVICTION: Final = "penstock.dev/EvictionTarget"
"""Type of the pod condition that says who evicts a pod and why; False where the apiserver refuses it for now."""
