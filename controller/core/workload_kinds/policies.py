"""What an installation needs for a kind beside the WorkloadKind itself: admission policies, and a role.

The policies say of objects of the kind what `config/policy/jobs*.yaml` and `config/guards` say of Jobs: an object that
names a queue is suspended when it is created, only the leader lets it begin, its stamps are ours, and what was admitted
stays as it is. An object that another one controls is left alone where an account made it that may admit pods
(`cel.ADMIT_PODS`), as the operator makes a RayCluster for a RayJob: what controls it is held in its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from controller.core.keys import (
    ACCEPTED,
    ADMITTED_BY,
    CLUSTER_QUEUE,
    KUEUE_LABELS,
    KUEUE_PRIORITY_CLASS,
    KUEUE_QUEUE,
    ORIGINAL_TEMPLATE,
    PRIORITY_CLASS,
    QUEUE_NAME,
    RELEASE_ATTEMPT,
    REVOKED_BY,
    USER,
)
from controller.core.workload_kinds import cel
from controller.core.workload_kinds.kinds import WorkloadKind
from controller.core.workload_kinds.reading import written

OBJECT_IS_HELD: Final = "object-is-held"
"""What the refusal to let an object begin starts with."""

Json = dict[str, Any]
_API: Final = "admissionregistration.k8s.io/v1"
_LABELS: Final = {"app.kubernetes.io/part-of": "penstock"}
_ROLE_LABEL: Final = "penstock.dev/aggregate-to-controller"
"""Label of ClusterRoles that the controller's own role gathers."""
_SYSTEM: Final = ("kube-system", "kube-node-lease", "kube-public")
_LEASE: Final = "penstock-controller"
_GLASS: Final = "administrators do it as the break-glass group"
_KEPT: Final = "leave it as it was"
_NO_USER: Final = (
    f"user-is-true: metadata.annotations[{USER}], of the object or of a pod template: pods are charged to the user that"
    " this names, so that nobody may write it; remove it"
)


@dataclass(frozen=True, slots=True)
class Installed:
    """The namespace in which Penstock runs, and the group that may do what only Penstock may."""

    namespace: str = "penstock-system"
    break_glass: str = "penstock:break-glass"

    @property
    def controller(self) -> str:
        """The controller's user name."""
        return f"system:serviceaccount:{self.namespace}:{_LEASE}"


def documents_of(kind: WorkloadKind, installed: Installed = Installed()) -> list[Json]:
    """Return all that is to be applied for a kind beside its WorkloadKind."""
    return [
        _role(kind),
        *_bound(_suspending(kind, installed), "Mutating"),
        *_bound(_new_objects(kind, installed), "Validating"),
        *_bound(_updates(kind, installed), "Validating"),
        *_bound(_fence(kind, installed), "Validating", installed),
    ]


def _role(kind: WorkloadKind) -> Json:
    rule = {"apiGroups": [kind.group], "resources": [kind.resource], "verbs": ["get", "list", "watch", "patch"]}
    metadata = {"name": f"penstock-{kind.name}", "labels": {**_LABELS, _ROLE_LABEL: "true"}}
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": metadata, "rules": [rule]}


def _bound(policy: Json, phase: str, installed: Installed | None = None) -> list[Json]:
    """Return a policy with its binding; `installed`: it has the controller's Lease as its parameter."""
    name = policy["metadata"]["name"]
    spec: Json = {"policyName": name}
    if installed is not None:
        lease = {"name": _LEASE, "namespace": installed.namespace, "parameterNotFoundAction": "Allow"}
        spec["paramRef"] = lease
    if phase == "Validating":
        spec["validationActions"] = ["Deny"]
    binding = {
        "apiVersion": _API,
        "kind": f"{phase}AdmissionPolicyBinding",
        "metadata": {"name": name, "labels": _LABELS},
        "spec": spec,
    }
    return [policy, binding]


def _policy(kind: WorkloadKind, name: str, phase: str, operation: str, installed: Installed, **spec: Any) -> Json:
    namespaces = {
        "key": "kubernetes.io/metadata.name",
        "operator": "NotIn",
        "values": [*_SYSTEM, installed.namespace],
    }
    rule = {
        "apiGroups": [kind.group],
        "apiVersions": [kind.version],
        "operations": [operation],
        "resources": [kind.resource] if operation == "CREATE" else [kind.resource, f"{kind.resource}/status"],
        "scope": "Namespaced",
    }
    return {
        "apiVersion": _API,
        "kind": f"{phase}AdmissionPolicy",
        "metadata": {"name": f"penstock-{name}-{kind.name}", "labels": _LABELS},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {
                "namespaceSelector": {"matchExpressions": [namespaces]},
                "resourceRules": [rule],
            },
            **spec,
        },
    }


def _label(root: str, key: str) -> str:
    return f"{root}.metadata.?labels[?'{key}']"


def _note(root: str, key: str) -> str:
    return f"{root}.metadata.?annotations[?'{key}']"


def _variables(**expressions: str) -> list[Json]:
    return [{"name": name, "expression": expression} for name, expression in expressions.items()]


def _conditions(installed: Installed, **expressions: str) -> list[Json]:
    others = [
        ("not-by-break-glass", f"!('{installed.break_glass}' in request.userInfo.?groups.orValue([]))"),
        ("not-by-the-controller", f"request.userInfo.username != '{installed.controller}'"),
        *((name.replace("_", "-"), expression) for name, expression in expressions.items()),
    ]
    return [{"name": name, "expression": expression} for name, expression in others]


def _refusal(expression: str, message: str, told: str = "") -> Json:
    found = {"expression": expression, "message": message, "reason": "Forbidden"}
    return {**found, "messageExpression": told} if told else found


def _owners(root: str) -> str:
    """Write the uid of what controls an object, in a list."""
    owners = f"{root}.metadata.?ownerReferences.orValue([])"
    return f"{owners}.filter(owner, owner.?controller.orValue(false)).map(owner, owner.uid)"


_OWNERS: Final = _owners("object")
_IS_PART: Final = f"size(variables.owners) > 0 && {cel.MAY_ADMIT_PODS}"
"""It belongs to what is held, or not held, in its place."""


def _suspending(kind: WorkloadKind, installed: Installed) -> Json:
    accepts = f"namespaceObject.metadata.?labels[?'{KUEUE_LABELS}'] == optional.of('{ACCEPTED}')"

    def taken(theirs: str, ours: str) -> str:
        pointer = f"'/metadata/labels/' + jsonpatch.escapeKey('{ours}')"
        value = f"{_label('object', theirs)}.orValue('')"
        is_due = f"variables.accepts && {value} != '' && !{_label('object', ours)}.hasValue()"
        return f"({is_due} ? [JSONPatch{{op: 'add', path: {pointer}, value: {value}}}] : [])"

    suspended = f"({cel.is_true('object', kind.suspend)} ? [] : {cel.set_true(kind.suspend)})"
    changes = f"{taken(KUEUE_QUEUE, QUEUE_NAME)} + {taken(KUEUE_PRIORITY_CLASS, PRIORITY_CLASS)} + {suspended}"
    queue = f"{_label('object', QUEUE_NAME)}.hasValue()"
    theirs = f"(variables.accepts && {_label('object', KUEUE_QUEUE)}.orValue('') != '')"
    expression = f"({queue} || {theirs}) && !variables.isPart ? {changes} : []"
    named = f"{queue} || {_label('object', KUEUE_QUEUE)}.hasValue()"
    return _policy(
        kind,
        "suspend",
        "Mutating",
        "CREATE",
        installed,
        reinvocationPolicy="IfNeeded",
        matchConditions=[{"name": "names-a-queue", "expression": named}],
        variables=_variables(owners=_OWNERS, isPart=_IS_PART, accepts=accepts),
        mutations=[{"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}],
    )


def _new_objects(kind: WorkloadKind, installed: Installed) -> Json:
    def is_clean(template: str) -> str:
        with_owner = f"variables.isPart && {cel.is_admitted_with('variables.owners', template)}"
        return f"{cel.has_no_stamps(template)} || {with_owner}"

    queue = f"{_label('object', QUEUE_NAME)}.hasValue()"
    templates = " && ".join(cel.every_template(one, "object", is_clean) for one in kind.pod_sets)
    what = f"stamps-are-ours: only Penstock writes its stamps, when it admits the {kind.kind}; remove them"
    return _policy(
        kind,
        "new",
        "Validating",
        "CREATE",
        installed,
        matchConditions=_conditions(installed),
        variables=_variables(owners=_OWNERS, isPart=_IS_PART),
        validations=[
            _refusal(
                f"!{queue} || {cel.is_true('object', kind.suspend)} || variables.isPart",
                f"{OBJECT_IS_HELD}: {written(kind.suspend)}: a {kind.kind} of a queue has to be created suspended, or"
                " it would run without quota; create it again: Penstock suspends it",
            ),
            _refusal(f"({cel.has_no_stamps('object')}) || variables.isPart", what),
            _refusal(templates, f"{what.removesuffix('remove them')}remove them from the pod templates"),
            _refusal(f"variables.isPart || ({_users(kind)})", _NO_USER),
            _refusal(f"!{queue} || size(variables.owners) == 0 || variables.isPart", _is_controlled(kind)),
            *_of_users(kind, f"!{queue} || variables.isPart"),
        ],
    )


def _is_controlled(kind: WorkloadKind) -> str:
    """The refusal of a queue for what another object controls: nobody would admit it."""
    what = f"a {kind.kind} of a queue cannot be controlled by another object, which says when it begins"
    return f"{OBJECT_IS_HELD}: metadata.ownerReferences: {what}; give that object the queue, or remove its label here"


def _users(kind: WorkloadKind) -> str:
    templates = (cel.every_template(one, "object", cel.has_no_user) for one in kind.pod_sets)
    return " && ".join((cel.has_no_user("object"), *templates))


def _of_users(kind: WorkloadKind, is_free: str) -> list[Json]:
    """The validations that the WorkloadKind asks for, of objects that name a queue."""
    return [_refusal(f"{is_free} || ({one.expression})", one.message) for one in kind.validations]


def _updates(kind: WorkloadKind, installed: Installed) -> Json:
    was, would = cel.is_true("oldObject", kind.suspend), cel.is_true("object", kind.suspend)
    queue = f"{_label('oldObject', QUEUE_NAME)}.or({_label('object', QUEUE_NAME)})"
    admitted = f"{_label('oldObject', CLUSTER_QUEUE)}.hasValue() || {_note('oldObject', ORIGINAL_TEMPLATE)}.hasValue()"
    enters = f"!{_label('oldObject', QUEUE_NAME)}.hasValue() && !variables.isAdmitted && {was} && {would}"
    is_changed = (
        "object.?spec != oldObject.?spec || object.metadata.?labels != oldObject.metadata.?labels"
        " || object.metadata.?annotations != oldObject.metadata.?annotations"
        " || object.metadata.?ownerReferences != oldObject.metadata.?ownerReferences"
    )
    # what has an owner is not held: one that is held would be charged no more
    as_before = f"{_label('oldObject', QUEUE_NAME)}.hasValue() && variables.owners == {_owners('oldObject')}"
    alone = f"!variables.queue.hasValue() || size(variables.owners) == 0 || {as_before} || {cel.MAY_ADMIT_PODS}"
    begins = _refusal(
        f"!variables.queue.hasValue() || !{was} || {would}",
        f"{OBJECT_IS_HELD}: {written(kind.suspend)}: only Penstock lets a {kind.kind} of a queue begin, by admission;"
        f" leave it true; {_GLASS}",
    )
    return _policy(
        kind,
        "update",
        "Validating",
        "UPDATE",
        installed,
        matchConditions=_conditions(installed, may_break_a_rule=is_changed),
        variables=_variables(queue=queue, isAdmitted=admitted, mayEnter=enters, owners=_OWNERS),
        validations=[
            *_keys_are_ours(kind),
            begins,
            *_as_admitted(kind),
            _refusal(alone, _is_controlled(kind)),
            *_of_users(kind, "!variables.queue.hasValue() || variables.isAdmitted"),
        ],
    )


def _keys_are_ours(kind: WorkloadKind) -> list[Json]:
    same_queue = f"{_label('object', QUEUE_NAME)} == {_label('oldObject', QUEUE_NAME)}"
    gets = f"a {kind.kind} gets its queue when it is created, or while it is suspended and not admitted, and keeps it"
    own = cel.has_same_stamps("object", "oldObject")
    stamps = " && ".join(cel.is_unchanged(one, cel.has_same_stamps) for one in kind.pod_sets)
    templates = (cel.is_unchanged(one, cel.has_same_user) for one in kind.pod_sets)
    users = " && ".join((cel.has_same_user("object", "oldObject"), *templates))
    return [
        _refusal(
            f"variables.mayEnter || {same_queue}",
            f"keys-are-ours: metadata.labels[{QUEUE_NAME}]: {gets}; {_KEPT}; {_GLASS}",
        ),
        _refusal(own, f"keys-are-ours: metadata: only Penstock writes its stamps; {_KEPT}; {_GLASS}"),
        _refusal(stamps, f"keys-are-ours: only Penstock writes its stamps in pod templates; {_KEPT}; {_GLASS}"),
        _refusal(users, _NO_USER),
    ]


def _as_admitted(kind: WorkloadKind) -> list[Json]:
    """What was admitted is what runs, with no more pods."""
    same = " && ".join(cel.is_unchanged(one, lambda new, old: f"{new} == {old}") for one in kind.pod_sets)
    small = " && ".join(cel.does_not_grow(one) for one in kind.pod_sets)
    return [
        _refusal(
            f"!variables.isAdmitted || ({same})",
            f"template-is-fixed: the {kind.kind} was admitted with these pod templates, which cannot be changed"
            f" until it waits in its queue again; {_KEPT}; {_GLASS}",
        ),
        _refusal(
            f"!variables.isAdmitted || ({small})",
            f"no-growth: more pods than this were not admitted by the queue of the {kind.kind}; write fewer",
        ),
    ]


def _fence(kind: WorkloadKind, installed: Installed) -> Json:
    begins = f"{cel.is_true('oldObject', kind.suspend)} && !{cel.is_true('object', kind.suspend)}"
    leader = "params.spec.?holderIdentity.orValue('')"

    def is_new(key: str) -> str:
        return f"({_note('object', key)}.hasValue() && {_note('object', key)} != {_note('oldObject', key)})"

    def is_leader(key: str) -> str:
        return f"{_note('object', key)}.orValue('') == {leader}"

    released = f"!({begins} || {is_new(ADMITTED_BY)}) || {is_leader(ADMITTED_BY)}"
    revoked = f"!({is_new(REVOKED_BY)} || {is_new(RELEASE_ATTEMPT)}) || {is_leader(REVOKED_BY)}"
    text = f"leader-only: another holds the Lease {_LEASE}; a controller that does not lead must not release anything"
    by_us = {"name": "by-the-controller", "expression": f"request.userInfo.username == '{installed.controller}'"}
    selector = {"matchExpressions": [{"key": QUEUE_NAME, "operator": "Exists"}]}
    found = _policy(
        kind,
        "fence",
        "Validating",
        "UPDATE",
        installed,
        paramKind={"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"},
        matchConditions=[by_us],
        validations=[_refusal(f"({released}) && ({revoked})", text)],
    )
    found["spec"]["matchConstraints"]["objectSelector"] = selector
    return found
