"""Pods to be judged: as people write them, as workloads will make them, and as they stand in a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import orjson

from controller.cli.policy.workloads import WORKLOADS, Unusable, held_for, maker_of, pod_of
from controller.kube import fields
from webhook.pods import directives
from webhook.pods.limits import TooMuch
from webhook.reviews.admission import BadReview, Request, read

Object = Mapping[str, Any]

_DAEMON_SETS: Final = WORKLOADS["apps/v1", "DaemonSet"]
_MIRROR: Final = "kubernetes.io/config.mirror"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedPod:
    """A pod to be judged, and who creates it, or the workload that makes it."""

    name: str
    namespace: str
    pod: Object
    maker: str = ""
    """What makes the pod, such as Job 'train'; empty when it is written as a pod."""
    workload: Object | None = None
    """That object: policies may change its template before the pod is made from it."""
    user: str = ""
    """Empty where nobody says."""
    groups: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The pod in texts."""
        return f"Pod {self.name!r}" if not self.maker else f"The pod that {self.maker} makes"


def of_document(document: Object, *, namespace: str | None, default: str = "default") -> JudgedPod:
    """Return the pod that an object is, or would make, in `namespace`, else its own, else `default`.

    Raises Unusable.
    """
    workload = WORKLOADS.get((document["apiVersion"], document["kind"]))
    if workload is None and document["apiVersion"] != "v1":
        raise Unusable(f"apiVersion: {document['apiVersion']!r}: must be v1")
    if found := fields.faults(document, workload.model if workload else "V1Pod"):
        raise Unusable("\n".join(found))
    metadata = document.get("metadata") or {}
    own = metadata.get("namespace")
    if own and namespace and own != namespace:
        raise Unusable(f"metadata.namespace: {own!r}: is not the namespace that was requested, {namespace!r}")
    where = namespace or own or default
    if workload is not None:
        made = pod_of(document, workload)
        candidate = JudgedPod(
            name=made.owner,
            namespace=where,
            pod=made.pod,
            maker=f"{document['kind']} {made.owner!r}",
            workload=document,
            user=maker_of(document),
            remarks=made.remarks,
        )
        return _checked(candidate)
    name = metadata.get("name") or f"{metadata.get('generateName') or 'pod'}*"
    return _checked(JudgedPod(name=name, namespace=where, pod=as_written(document)))


def _checked(candidate: JudgedPod) -> JudgedPod:
    """The candidate, when the webhook can read it whole: it leaves others alone, and the apiserver refuses them."""
    try:
        is_readable = directives.read(request_of(candidate).pod["spec"]) is not None
    except TooMuch as error:
        raise Unusable(str(error)) from None
    if not is_readable:
        raise Unusable(
            "spec.affinity, spec.tolerations or spec.nodeSelector: not of the form that pods have, such as an "
            "operator that does not exist"
        )
    return candidate


def made_from(candidate: JudgedPod, workload: Object) -> JudgedPod:
    """Return the same candidate, made from the workload as it is stored now."""
    kind = WORKLOADS[workload["apiVersion"], workload["kind"]]
    return replace(candidate, pod=pod_of(workload, kind).pod, workload=workload)


def of_cluster(pod: Object) -> JudgedPod:
    """Return a pod that exists as it would be created anew."""
    metadata = pod["metadata"]
    is_mirror = _MIRROR in (metadata.get("annotations") or {})
    return JudgedPod(
        name=metadata["name"],
        namespace=metadata.get("namespace") or "default",
        pod=as_written(pod),
        user=_DAEMON_SETS.user if _is_of_daemon_set(pod) else "",
        # only nodes may make mirror pods; who made the others no pod says
        groups=("system:nodes",) if is_mirror else (),
    )


def _is_of_daemon_set(pod: Object) -> bool:
    """Whether that controller made a pod that exists: no policy holds what it adds against the pod."""
    owners = pod["metadata"].get("ownerReferences") or ()
    return any(owner.get("kind") == "DaemonSet" and owner.get("controller") for owner in owners)


def request_of(candidate: JudgedPod) -> Request:
    """Return the webhook's request to create this pod, read as the webhook reads it. Raises Unusable."""
    pod = {**candidate.pod, **{part: candidate.pod.get(part) or {} for part in ("metadata", "spec")}}
    user, groups = _creator(candidate)
    request = {
        "uid": "penstock-policy",
        "operation": "CREATE",
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "namespace": candidate.namespace,
        "userInfo": {"username": user, "groups": list(groups)},
        "object": pod,
    }
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    try:
        return read(orjson.dumps(review))
    except (BadReview, TypeError) as error:
        raise Unusable(str(error).replace("$.object.", "")) from None


def _creator(candidate: JudgedPod) -> tuple[str, tuple[str, ...]]:
    """Who creates the pod, and the groups of that user: of a workload its controller.

    Nobody where nobody says who wrote the workload: the pod would be noted as its controller's, which in a cluster it
    never is. The pods of DaemonSets, and of Jobs that were held, are known by their controller, and get no note of
    their own.
    """
    if candidate.workload is None:
        return candidate.user, candidate.groups
    kind = WORKLOADS[candidate.workload["apiVersion"], candidate.workload["kind"]]
    is_known = kind is _DAEMON_SETS or held_for(candidate.workload) is not None
    return (kind.user if candidate.user or is_known else ""), ()


def as_written(pod: Object) -> Object:
    """Return a pod without what the cluster itself added since it was created: its status, and the scheduler's choice.

    A node that somebody asked for stays. The two are told apart by the pod's managed fields: the scheduler's binding
    leaves no trace there. Where a dump lacks these, a pod that has been scheduled is taken for one without a node.
    """
    status = pod.get("status") or {}
    result = {name: value for name, value in pod.items() if name != "status"}
    spec = pod.get("spec") or {}
    if not spec.get("nodeName"):
        return result
    managed = (pod.get("metadata") or {}).get("managedFields")
    if managed:
        was_asked_for = any("f:nodeName" in _managed_spec(entry) for entry in managed)
    else:
        was_asked_for = all(one.get("type") != "PodScheduled" for one in status.get("conditions") or ())
    if not was_asked_for:
        result["spec"] = {name: value for name, value in spec.items() if name != "nodeName"}
    return result


def _managed_spec(entry: Object) -> Object:
    found: Object = (entry.get("fieldsV1") or {}).get("f:spec") or {}
    return found
