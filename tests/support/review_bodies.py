"""Reviews with everything in them that the webhook reads, to be spoilt at any place, and what it makes of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import partial
from typing import Any, Final

import orjson
from msgspec import Raw

from controller.core.keys import BREAK_GLASS, CONDITION, GATE, KUEUE_LABELS
from controller.core.kubernetes.directives import PREFERRED, REQUIRED
from controller.core.kubernetes.runtime_classes import RuntimeClass
from controller.core.kubernetes.taints import Toleration
from controller.objects.pod_policies import read_cluster_policy, read_policy
from tests.support import api_objects
from tests.support.scheduling_worlds import NAMESPACE, a_world
from tests.support.worlds import TRUSTED
from webhook.checks.chain import validate
from webhook.checks.templates import check_owner
from webhook.reviews.admission import Answer, Unreadable, read, write
from webhook.reviews.subresources import read_validated
from webhook.reviews.templates import read_template
from webhook.steps.chain import mutate
from webhook.steps.kueue_labels import mutate_owner
from webhook.steps.templates import mutate_template
from webhook.world.cluster import ClusterLookups

Json = dict[str, Any]

_USERS: Final[tuple[tuple[str, list[str]], ...]] = (
    ("jane", []),
    (TRUSTED, []),
    ("jane", [BREAK_GLASS]),
    ("system:node:a", ["system:nodes"]),
    ("system:serviceaccount:kube-system:daemon-set-controller", []),
    ("system:serviceaccount:kube-system:job-controller", []),
)
_KEYS: Final = ("", "a", "penstock.dev/queue-name", "name", "key", "values", "requests", "kind", "controller")
_SCALARS: Final = (None, True, False, 0, -1, 5, 2**63, 1.5, "", "x", "spot", "1Gi", "é", "x" * 300)


def _requirement() -> Json:
    return {"key": "pool", "operator": "In", "values": ["a"]}


def _metadata() -> Json:
    labels = {"penstock.dev/queue-name": "main", "kueue.x-k8s.io/queue-name": "main", "penstock.dev/flavor": "f"}
    groups = {"penstock.dev/pod-group": "g", "kueue.x-k8s.io/pod-group-name": "g", "penstock.dev/priority-class": "p"}
    return {
        "name": "one",
        "labels": {**labels, **groups, "a": "b"},
        "annotations": {
            "penstock.dev/policies": "wide,team/own,SchedulingPolicy/s",
            "penstock.dev/user": "joe",
            "penstock.dev/pod-group-size": "3",
            "penstock.dev/expected-runtime": "1h",
            "penstock.dev/admitted-at": "2026-01-01T00:00:00Z",
            "kueue.x-k8s.io/pod-group-total-count": "3",
            "kubernetes.io/config.mirror": "x",
            "scheduler.alpha.kubernetes.io/tolerations": '[{"key": "a"}]',
        },
        "ownerReferences": [
            {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True},
            {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "v", "controller": False},
        ],
        "finalizers": ["x"],
        "managedFields": [{"manager": "m"}],
    }


def _selector() -> Json:
    return {"matchLabels": {"a": "b"}, "matchExpressions": [_requirement()]}


def _affinity() -> Json:
    term = {"matchExpressions": [_requirement()], "matchFields": [_requirement()]}
    pod_term = {
        "topologyKey": "zone",
        "labelSelector": _selector(),
        "namespaces": ["x"],
        "namespaceSelector": _selector(),
        "matchLabelKeys": ["a"],
    }
    terms = {REQUIRED: [pod_term], PREFERRED: [{"weight": 1, "podAffinityTerm": pod_term}]}
    of_nodes = {REQUIRED: {"nodeSelectorTerms": [term]}, PREFERRED: [{"weight": 1, "preference": term}]}
    return {"nodeAffinity": of_nodes, "podAffinity": terms, "podAntiAffinity": terms}


def _spec() -> Json:
    resources = {"requests": {"cpu": "1", "memory": 5}, "limits": {"cpu": "2"}}
    container = {"name": "main", "image": "none", "resources": resources, "restartPolicy": "Always"}
    toleration = {"key": "spot", "operator": "Equal", "value": "x", "effect": "NoExecute", "tolerationSeconds": 5}
    spread = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": _selector()}
    return {
        "schedulingGates": [{"name": GATE}, {"name": "other"}],
        "nodeSelector": {"pool": "a"},
        "affinity": _affinity(),
        "tolerations": [toleration],
        "topologySpreadConstraints": [spread],
        "schedulerName": "default-scheduler",
        "priorityClassName": "urgent",
        "priority": 5,
        "preemptionPolicy": "PreemptLowerPriority",
        "runtimeClassName": "kata",
        "overhead": {"cpu": "1"},
        "serviceAccountName": "default",
        "activeDeadlineSeconds": 5,
        "terminationGracePeriodSeconds": 30,
        "schedulingGroup": {"podGroupName": "g"},
        "containers": [container],
        "initContainers": [container],
        "resources": resources,
    }


def _pod() -> Json:
    conditions = [{"type": CONDITION, "status": "False"}, {"type": "Ready"}]
    pod = {"metadata": _metadata(), "spec": _spec(), "status": {"conditions": conditions}}
    return deepcopy({"apiVersion": "v1", "kind": "Pod", **pod})  # each place of its own


def _template() -> Json:
    return {"metadata": _metadata(), "spec": _spec()}


def _workload(kind: str) -> Json:
    metadata = _metadata()
    spec = {"parallelism": 2, "suspend": True, "template": _template()}
    if kind == "cronjobs":
        spec = {"suspend": False, "jobTemplate": {"metadata": metadata, "spec": spec}}
    return {"apiVersion": "x", "kind": "X", "metadata": metadata, "spec": spec}


_RESOURCES: Final = {
    ("", "pods"): ("/mutate/pods", "/validate/pods"),
    ("", "bindings"): ("/validate/pods",),
    **dict.fromkeys(
        (("apps", "deployments"), ("apps", "replicasets"), ("batch", "jobs"), ("batch", "cronjobs")),
        ("/mutate/podtemplates", "/mutate/users", "/validate/users"),
    ),
}
_SUBRESOURCES: Final = (None, None, None, "status", "resize", "binding", "ephemeralcontainers")


def world() -> ClusterLookups:
    """One in which every step has something to do."""
    not_spot = api_objects.node_terms({"matchExpressions": [{"key": "pool", "operator": "NotIn", "values": ["spot"]}]})
    everything: Json = {"nodeSelectors": {}, "runtimeClassNames": []}
    policy = api_objects.scheduling_policy("s", allowed=everything, default={"nodeSelector": {"pool": "a"}})
    kata = RuntimeClass(
        name="kata", handler="h", node_selector={"runtime": "kata"}, tolerations=(Toleration("kata", "Exists", "", ""),)
    )
    made = a_world(
        policy,
        classes=[kata],
        default_class="kata",
        default_priority_class="usual",
        labels={"penstock.dev/default-queue": "main", KUEUE_LABELS: "Accepted", "penstock.dev/queueing": "Required"},
    )
    for target in ("Pods", "PodTemplates"):
        spec: Json = {"target": target, "nodeSelector": {"zone": "a"}, "affinity": not_spot, "podSelector": {}}
        made.policies.put(read_policy(Raw(orjson.dumps(api_objects.pod_policy(target.lower(), NAMESPACE, **spec)))))
        tolerations = [{"key": "w", "operator": "Exists"}]
        wide = api_objects.cluster_pod_policy(f"wide-{target.lower()}", target=target, tolerations=tolerations)
        made.policies.put(read_cluster_policy(Raw(orjson.dumps(wide))))
    assert made.faulty_policies() == []
    return made


def drawn(draw: random.Random) -> tuple[str, Json]:
    """A path and a review for it, which an apiserver might send."""
    (group, plural), paths = draw.choice(list(_RESOURCES.items()))
    user, groups = draw.choice(_USERS)
    document = _workload(plural) if group else _pod()
    if plural == "bindings":
        document = {"metadata": _metadata(), "target": {"kind": "Node", "name": "n"}}
    request: Json = {
        "uid": "4-2",
        "operation": draw.choice(("CREATE", "CREATE", "UPDATE", "UPDATE", "DELETE")),
        "namespace": draw.choice((NAMESPACE, NAMESPACE, "unknown", "")),
        "resource": {"group": group, "resource": plural},
        "userInfo": {"username": user, "groups": list(groups)},
        "object": document,
    }
    if plural == "pods" and (subresource := draw.choice(_SUBRESOURCES)):
        request["subResource"] = subresource
    if request["operation"] == "UPDATE":
        request["oldObject"] = deepcopy(document)
    review = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}
    return draw.choice(paths), review


def spoil(draw: random.Random, review: Json) -> None:
    """Put what does not belong there at some places, leave others out."""
    for _ in range(draw.choice((1, 1, 1, 2, 3, 5))):
        places = list(_places(review["request"]))
        holder, key = draw.choice(places)
        if key == "uid" and holder is review["request"]:
            continue
        if draw.random() < 0.2:
            del holder[key]
        else:
            holder[key] = _junk(draw)


def _places(node: Any) -> Iterator[tuple[Any, Any]]:
    entries = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, inner in list(entries):
        yield node, key
        yield from _places(inner)


def _junk(draw: random.Random, depth: int = 2) -> Any:
    kind = draw.randrange(4) if depth else 0
    if kind == 1:
        return [_junk(draw, depth - 1) for _ in range(draw.randrange(3))]
    if kind == 2:
        return {draw.choice(_KEYS): _junk(draw, depth - 1) for _ in range(draw.randrange(3))}
    return draw.choice(_SCALARS)


def judged(path: str, body: bytes, known: ClusterLookups) -> bytes:
    """Read a review, judge it and write the answer, as `server` does. Raises BadReview."""
    try:
        answer = _JUDGES[path](body, known)
    except Unreadable as error:
        return write(error.uid, Answer(denial=str(error)))
    return write("4-2", answer)


def _of_pod(step: Callable[..., Answer], body: bytes, known: ClusterLookups) -> Answer:
    return step(read(body), known)


def _of_validated(step: Callable[..., Answer], body: bytes, known: ClusterLookups) -> Answer:
    return step(read_validated(body), known)


def _of_template(step: Callable[..., Answer], body: bytes, known: ClusterLookups) -> Answer:
    return step(read_template(body), known)


_JUDGES: Final[dict[str, Callable[[bytes, ClusterLookups], Answer]]] = {
    "/mutate/pods": partial(_of_pod, mutate),
    "/validate/pods": partial(_of_validated, validate),
    "/mutate/podtemplates": partial(_of_template, mutate_template),
    "/mutate/users": partial(_of_template, mutate_owner),
    "/validate/users": partial(_of_template, check_owner),
}
