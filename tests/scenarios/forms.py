"""From short forms to what Kubernetes writes. Every field that is not a short form passes as it is written."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from controller.core.keys import GATE, POD_GROUP, POD_GROUP_SIZE, QUEUE_NAME
from controller.core.kubernetes.labels import Operator
from tests.scenarios.model import Form, Json, ScenarioError

_S = TypeVar("_S", bound=Struct)

_API = "penstock.dev/v1alpha1"
_INDEX = "batch.kubernetes.io/job-completion-index"
_OWNERS = {
    "Job": "batch/v1",
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
    "ReplicationController": "v1",
    "Workflow": "argoproj.io/v1alpha1",
}
_PLAIN_RESOURCES = ("cpu", "memory", "pods", "ephemeral-storage")


class _NodeForm(Struct, forbid_unknown_fields=True, rename="camel"):
    labels: dict[str, str] = {}
    taints: list[str] = []
    ready: bool = True
    cordoned: bool = False


class _PodForm(Struct, forbid_unknown_fields=True, rename="camel"):
    queue: str = ""
    priority: int = 0
    node_selector: dict[str, str] = {}
    requires: list[str] = []
    tolerations: list[dict[str, Any]] = []
    gates: list[str] = []
    owner: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    node: str = ""
    group: str = ""
    index: int | None = None
    spec: dict[str, Any] = {}


def is_resource(name: str) -> bool:
    """Whether a key of a short form is an amount: anything else must be a field."""
    return name in _PLAIN_RESOURCES or name.startswith("hugepages-") or "/" in name


def merged(old: Any, change: Any) -> Any:
    """Lay a change over a form, field by field; null takes a field away (`_pruned`)."""
    if not isinstance(old, dict) or not isinstance(change, dict):
        return change
    return {**old, **{key: merged(old.get(key), value) for key, value in change.items()}}


def _pruned(form: Any) -> Any:
    """Leave out what is null: here and in Kubernetes that means not given."""
    if not isinstance(form, dict):
        return form
    return {key: _pruned(value) for key, value in form.items() if value is not None}


def members(name: str, form: Form) -> tuple[list[str], Form]:
    """Return the names that a form with `count` stands for, and the form of each."""
    form = dict(form)
    count = form.pop("count", None)
    if count is None:
        return [name], form
    if not isinstance(count, int) or count < 1:
        raise ScenarioError(f"{name}.count: {count!r}: must be a whole number above 0")
    return [f"{name}-{number}" for number in range(1, count + 1)], form


# -- our objects ---------------------------------------------------------------------------------------------------


def flavor_document(name: str, form: Form) -> Json:
    """Return a ResourceFlavor; the form is its spec."""
    return {"apiVersion": _API, "kind": "ResourceFlavor", "metadata": {"name": name}, "spec": _pruned(form)}


def priority_class_document(name: str, form: Form) -> Json:
    """Return a WorkloadPriorityClass; the form is its spec."""
    return {"apiVersion": _API, "kind": "WorkloadPriorityClass", "metadata": {"name": name}, "spec": _pruned(form)}


def cluster_queue_document(name: str, form: Form) -> Json:
    """Return a ClusterQueue; the form is its spec, where `quotas` may stand for `flavors`.

    `quotas: {spot: {cpu: 8}}` is flavor, resource and nominalQuota; an object in place of the 8 is the entry's other
    fields too. With `quotas` the namespaceSelector is {} unless it is written.
    """
    spec = dict(form)
    quotas = _pruned(spec.pop("quotas", None))
    if quotas is not None:
        if "flavors" in spec:
            raise ScenarioError(f"ClusterQueue {name}: write quotas or flavors, not both")
        spec["flavors"] = [
            {"name": flavor, "resources": [_quota(resource, given) for resource, given in amounts.items()]}
            for flavor, amounts in quotas.items()
        ]
        spec.setdefault("namespaceSelector", {})
    return {"apiVersion": _API, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": _pruned(spec)}


def _quota(resource: str, given: Any) -> Json:
    return {"name": resource, **(given if isinstance(given, dict) else {"nominalQuota": given})}


def local_queue_document(key: str, form: Form) -> Json:
    """Return a LocalQueue, named `namespace/name`; the form is its spec."""
    namespace, _, name = key.rpartition("/")
    metadata = {"name": name, "namespace": namespace or "default"}
    return {"apiVersion": _API, "kind": "LocalQueue", "metadata": metadata, "spec": _pruned(form)}


# -- nodes and pods ------------------------------------------------------------------------------------------------


def node_document(name: str, form: Form) -> Json:
    """Return a node: its amounts are what it can allocate, 110 pods unless said otherwise."""
    fields, amounts = _parted(f"node {name}", form, _NodeForm)
    return {
        "metadata": {"name": name, "labels": fields.labels},
        "spec": {"taints": [_taint(name, text) for text in fields.taints], "unschedulable": fields.cordoned},
        "status": {
            "allocatable": {"pods": 110, **amounts},
            "conditions": [{"type": "Ready", "status": "True" if fields.ready else "False"}],
        },
    }


def _taint(node: str, text: str) -> Json:
    """Read a taint as `kubectl taint` does: key=value:Effect or key:Effect."""
    pair, colon, effect = text.partition(":")
    if not colon or effect not in ("NoSchedule", "NoExecute", "PreferNoSchedule"):
        raise ScenarioError(f"node {node}: taint {text!r}: write key=value:Effect, such as spot=true:NoSchedule")
    key, _, value = pair.partition("=")
    return {"key": key, "value": value, "effect": effect}


def pod_document(name: str, namespace: str, form: Form, *, is_foreign: bool) -> Json:
    """Return the labels, annotations and spec of a pod; one that is foreign has neither our gate nor a queue.

    The amounts of the form are the requests of one container; `spec` is merged over what comes of it.
    """
    fields, amounts = _parted(f"pod {name}", form, _PodForm)
    gates = fields.gates if is_foreign else [*fields.gates, GATE]
    spec: Json = {"containers": [{"name": "main", "resources": {"requests": amounts}}], "priority": fields.priority}
    if gates:
        spec["schedulingGates"] = [{"name": gate} for gate in gates]
    if fields.node_selector:
        spec["nodeSelector"] = fields.node_selector
    if fields.requires:
        terms = [_term(name, text) for text in fields.requires]
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        spec["affinity"] = {"nodeAffinity": required}
    if fields.tolerations:
        spec["tolerations"] = fields.tolerations
    if fields.node:
        spec["nodeName"] = fields.node
    labels = {**({QUEUE_NAME: fields.queue} if fields.queue else {}), **fields.labels}
    if fields.index is not None:
        labels[_INDEX] = str(fields.index)
    metadata: Json = {"name": name, "namespace": namespace, "labels": labels}
    if fields.owner:
        metadata["ownerReferences"] = [_owner(name, namespace, fields.owner)]
    notes = {**(_in_group(name, fields.group, labels) if fields.group else {}), **fields.annotations}
    if notes:
        metadata["annotations"] = notes
    return {"metadata": metadata, "spec": merged(spec, fields.spec)}


def _in_group(pod: str, text: str, labels: dict[str, str]) -> dict[str, str]:
    """Read `train/3`: put the group's name into the labels, and return the annotation with its size."""
    group, slash, size = text.partition("/")
    if not slash or not group or not size:
        raise ScenarioError(f"pod {pod}: group {text!r}: write name/size, such as train/3")
    labels[POD_GROUP] = group
    return {POD_GROUP_SIZE: size}


def job_document(name: str, form: Form) -> Json:
    """Return a Job, named `namespace/name`; the form is its spec, but for `status`, `created`, labels, annotations."""
    namespace, _, short = name.rpartition("/")
    form = _pruned(form)
    spec = {key: value for key, value in form.items() if key not in ("status", "labels", "annotations", "created")}
    marks = {part: form.get(part) or {} for part in ("labels", "annotations")}
    metadata = {"name": short, "namespace": namespace, "uid": f"Job/{name}", **marks}
    return {"metadata": metadata, "spec": spec, "status": form.get("status") or {}}


def pod_group_document(name: str, count: int) -> Json:
    """Return a PodGroup, named `namespace/name`, of this minCount; 0: of the basic policy."""
    namespace, _, short = name.rpartition("/")
    policy = {"gang": {"minCount": count}} if count else {"basic": {}}
    metadata = {"name": short, "namespace": namespace, "uid": f"PodGroup/{name}"}
    return {"metadata": metadata, "spec": {"schedulingPolicy": policy}}


def _owner(pod: str, namespace: str, text: str) -> Json:
    """Read the controlling owner: `Job/train`, `ReplicaSet/web`."""
    kind, slash, name = text.partition("/")
    if not slash or kind not in _OWNERS:
        raise ScenarioError(f"pod {pod}: owner: {text!r}: write Kind/name, of one of {', '.join(_OWNERS)}")
    uid = f"{kind}/{namespace}/{name}"
    return {"apiVersion": _OWNERS[kind], "kind": kind, "name": name, "uid": uid, "controller": True}


def _term(pod: str, text: str) -> Json:
    """Read one alternative: `zone In a,b and gpu Exists`."""
    expressions = []
    for part in text.split(" and "):
        key, _, rest = part.strip().partition(" ")
        operator, _, values = rest.strip().partition(" ")
        if operator not in list(Operator):
            raise ScenarioError(f"pod {pod}: requires: {part!r}: write key Operator values, such as zone In a,b")
        expression: Json = {"key": key, "operator": operator}
        expressions.append({**expression, "values": values.split(",")} if values else expression)
    return {"matchExpressions": expressions}


def _parted(subject: str, form: Form, model: type[_S]) -> tuple[_S, Json]:
    """Tell the fields of a short form from its amounts."""
    form = _pruned(form)
    amounts = {key: value for key, value in form.items() if is_resource(key)}
    for key, value in amounts.items():
        if type(value) not in (str, int):
            raise ScenarioError(f"{subject}: {key}: {value!r}: must be an amount: 2, 500m, 4Gi, or '0.5' in quotes")
    try:
        return msgspec.convert({key: value for key, value in form.items() if key not in amounts}, model), amounts
    except msgspec.ValidationError as error:
        raise ScenarioError(f"{subject}: {error}") from None
