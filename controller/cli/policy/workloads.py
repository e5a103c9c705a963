"""Objects that make pods: where the template of each stands, and what its controller adds to the pods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from controller.core.gate.job_protection import JOB_CONTROLLER
from controller.core.keys import ADMITTED_JOB, QUEUE_NAME
from controller.core.kubernetes.directives import REQUIRED
from controller.core.kubernetes.node_terms import NODE_NAME_FIELD
from webhook.reviews.templates import WORKLOADS as TREATED

Object = Mapping[str, Any]

ANY_NODE: Final = "NODE"
"""Stands for each node's name in the pod that a DaemonSet makes for it."""

JOB_UID: Final = "JOB-UID"
"""Stands for the uid of a Job that is held as a whole, in the pods that it makes once it is admitted."""

_UNKNOWN_LABELS: Final = "labels whose values only the cluster knows (pod-template-hash, controller-uid) are left out"


class Unusable(Exception):
    """An object from which no pod can be judged; the text is one line a fault, without where the object stands."""


@dataclass(frozen=True, slots=True)
class Workload:
    """A kind of object that makes pods: where its template is, and which controller creates them."""

    model: str
    account: str
    template: tuple[str, ...] = ("spec", "template")
    owner: str = ""
    """Kind of the pods' owner, where it is not the object itself."""

    @property
    def user(self) -> str:
        """Who creates the pods."""
        return f"system:serviceaccount:kube-system:{self.account}"


WORKLOADS: Final = {
    ("v1", "ReplicationController"): Workload("V1ReplicationController", "replication-controller"),
    ("apps/v1", "ReplicaSet"): Workload("V1ReplicaSet", "replicaset-controller"),
    ("apps/v1", "Deployment"): Workload("V1Deployment", "replicaset-controller", owner="ReplicaSet"),
    ("apps/v1", "StatefulSet"): Workload("V1StatefulSet", "statefulset-controller"),
    ("apps/v1", "DaemonSet"): Workload("V1DaemonSet", "daemon-set-controller"),
    ("batch/v1", "Job"): Workload("V1Job", "job-controller"),
    ("batch/v1", "CronJob"): Workload(
        "V1CronJob", "job-controller", ("spec", "jobTemplate", "spec", "template"), owner="Job"
    ),
}

KINDS: Final = ("Pod", *(kind for _, kind in WORKLOADS))


_MAKERS: Final = {
    "Deployment": TREATED["apps", "replicasets"].maker,
    "CronJob": TREATED["batch", "jobs"].maker,
}
"""By kind of the owner: who is taken to have made an object, of which only the apiserver knows who did."""


@dataclass(frozen=True, slots=True)
class Made:
    """A pod as a controller will create it, and what a reader should know."""

    owner: str
    pod: Object
    remarks: tuple[str, ...]


def maker_of(document: Object) -> str:
    """Return who is taken to have created a workload: the controller of what owns it; empty: nobody knows."""
    owners = (document.get("metadata") or {}).get("ownerReferences") or ()
    return next((_MAKERS[one["kind"]] for one in owners if one.get("controller") and one.get("kind") in _MAKERS), "")


def makes_pods(document: Object) -> bool:
    """Whether the object is a pod, or of a kind that makes pods."""
    return document["kind"] == "Pod" or (document["apiVersion"], document["kind"]) in WORKLOADS


def pod_of(document: Object, workload: Workload) -> Made:
    """Return the pod that the object will make. Raises Unusable."""
    template: Any = document
    for step in workload.template:
        template = (template or {}).get(step)
    place = ".".join(workload.template)
    if not template:
        raise Unusable(f"{place}: is required: without it no pod is made")
    kind, metadata = document["kind"], document.get("metadata") or {}
    name = metadata.get("name") or f"{metadata.get('generateName') or kind.lower()}*"
    own, spec = template.get("metadata") or {}, template.get("spec") or {}
    owner = {"apiVersion": document["apiVersion"], "kind": workload.owner or kind, "name": name, "controller": True}
    made: dict[str, Any] = {
        **{part: own[part] for part in ("annotations", "finalizers") if own.get(part)},
        "generateName": f"{name}-",
        "labels": {**(own.get("labels") or {}), **_labels(kind, name)},
        "ownerReferences": [owner],
    }
    queue = held_for(document)
    if queue is not None:
        owner["uid"] = JOB_UID
        made["labels"][QUEUE_NAME] = queue
        made["annotations"] = {**made.get("annotations", {}), ADMITTED_JOB: JOB_UID}
    pod = {"metadata": made, "spec": _of_daemon_set(spec) if kind == "DaemonSet" else spec}
    for_each = (f"{ANY_NODE} stands for the name of each node that gets a pod",) if kind == "DaemonSet" else ()
    remarks = (f"judged is the pod of {place}; {_UNKNOWN_LABELS}", *for_each)
    return Made(name, pod, remarks)


def _labels(kind: str, name: str) -> dict[str, str]:
    """Labels of known values that controllers add; CronJobs' jobs have names that only the time knows."""
    if kind == "Job":
        return {"job-name": name, "batch.kubernetes.io/job-name": name}
    if kind == "StatefulSet":
        return {"apps.kubernetes.io/pod-index": "0", "statefulset.kubernetes.io/pod-name": f"{name}-0"}
    return {}


def held_for(document: Object) -> str | None:
    """Return the LocalQueue for which the Job is held as a whole, or the Jobs that the CronJob makes."""
    workload = WORKLOADS.get((document["apiVersion"], document["kind"]))
    if workload is None or document["kind"] not in ("Job", "CronJob"):
        return None
    holder = workload.template[:-2]
    queue: str | None = _labels_at(document, holder).get(QUEUE_NAME)
    return queue if _runs_here(document, holder) else None


def _runs_here(document: Object, holder: tuple[str, ...]) -> bool:
    for step in (*holder, "spec"):
        document = document.get(step) or {}
    return (document.get("managedBy") or JOB_CONTROLLER) == JOB_CONTROLLER


def held_as_a_whole(document: Object) -> tuple[str, ...]:
    """Say when the pods of a held Job are made: they are judged as they are then."""
    queue = held_for(document)
    if queue is None:
        return ()
    which = "the Job is" if document["kind"] == "Job" else "each Job is"
    return (
        f"{which} held as a whole in LocalQueue {queue!r}, and created suspended: its pods are made when it is"
        f" admitted, where its flavor is, and get no gate; {JOB_UID} stands for its uid",
    )


def labelled_in_vain(document: Object) -> tuple[str, ...]:
    """Say where the object has our label to no effect, since the template that its pods are made from has none.

    Kueue's stands there: who renames it in its place takes the pods out of every queue, but for those of Jobs, which
    are held as wholes. `config/warnings` says the same in CEL to who writes such an object into a cluster.
    """
    kind = document["kind"]
    path = WORKLOADS[document["apiVersion"], kind].template
    if QUEUE_NAME in _labels_at(document, path) or held_for(document) is not None:
        return ()
    metadata: Object = document.get("metadata") or {}
    name = metadata.get("name") or metadata.get("generateName") or "without a name"
    because = f"on {kind} {name} means nothing, since "
    remedy = f"put it into {'.'.join(path)}.metadata.labels"
    if kind == "DaemonSet":
        remedy = "remove it, for pods of a DaemonSet wait in no queue"
    holders = ((), path[:2]) if kind == "CronJob" else ((),)
    return tuple(
        f"{'.'.join((*holder, 'metadata'))}.labels[{QUEUE_NAME}]: {labels[QUEUE_NAME]!r} {because}"
        f"{_NOT_HERE if kind.endswith('Job') and holder == path[:-2] else _NOT_ITS_PODS}: {remedy}"
        for holder in holders
        if QUEUE_NAME in (labels := _labels_at(document, holder))
    )


_NOT_ITS_PODS: Final = "its pods do not get it"
_NOT_HERE: Final = "another controller runs the Job (spec.managedBy)"


def deadline_in_queue(document: Object) -> tuple[str, ...]:
    """Say that a Job's deadline counts while its pods wait in a queue. `config/warnings` says the same in CEL."""
    kind, path = document["kind"], WORKLOADS[document["apiVersion"], document["kind"]].template
    if kind not in ("Job", "CronJob") or QUEUE_NAME not in _labels_at(document, path) or held_for(document) is not None:
        return ()
    spec: Any = document
    for step in path[:-1]:
        spec = spec.get(step) or {}
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is None:
        return ()
    metadata: Object = document.get("metadata") or {}
    name = metadata.get("name") or metadata.get("generateName") or "without a name"
    place = ".".join(path[:-1])
    return (
        f"{place}.activeDeadlineSeconds: {deadline} on {kind} {name} counts while its pods wait in a queue too, and"
        f" fails the Job when it is over: put activeDeadlineSeconds into {place}.template.spec instead, where it counts"
        " from each pod's start",
    )


def _labels_at(document: Object, path: tuple[str, ...]) -> Object:
    for step in (*path, "metadata", "labels"):
        document = document.get(step) or {}
    return document


_DAEMON_TAINTS: Final = (
    ("not-ready", "NoExecute"),
    ("unreachable", "NoExecute"),
    ("disk-pressure", "NoSchedule"),
    ("memory-pressure", "NoSchedule"),
    ("pid-pressure", "NoSchedule"),
    ("unschedulable", "NoSchedule"),
)


def _of_daemon_set(spec: Object) -> Object:
    """Mirrors `NewPod` and `AddOrUpdateDaemonPodTolerations` of k8s.io/kubernetes/pkg/controller/daemon.

    The name of the node takes the place of what terms say in matchFields.
    """
    taints = (*_DAEMON_TAINTS, *((("network-unavailable", "NoSchedule"),) if spec.get("hostNetwork") else ()))
    wanted = [{"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": effect} for key, effect in taints]
    tolerations = list(spec.get("tolerations") or ())
    tolerations += [toleration for toleration in wanted if toleration not in tolerations]
    affinity = spec.get("affinity") or {}
    node = affinity.get("nodeAffinity") or {}
    named = {"matchFields": [{"key": NODE_NAME_FIELD, "operator": "In", "values": [ANY_NODE]}]}
    terms = (node.get(REQUIRED) or {}).get("nodeSelectorTerms") or [{}]
    required = {"nodeSelectorTerms": [{**term, **named} for term in terms]}
    return {
        **spec,
        "tolerations": tolerations,
        "affinity": {**affinity, "nodeAffinity": {**node, REQUIRED: required}},
    }
