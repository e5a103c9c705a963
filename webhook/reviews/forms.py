"""The form of what is read of a pod, by any step, check or advice: whatever is of another is refused with its place.

The apiserver sends no other. Anybody else who reaches the webhook may, and no step has to ask again.
"""

from __future__ import annotations

import msgspec

from controller.core.kubernetes.directives import PREFERRED, REQUIRED

_Quantities = dict[str, str | int]


class _Form(msgspec.Struct, rename="camel"):
    """Names as Kubernetes writes them."""


class _Owner(_Form):
    api_version: str | None = None
    kind: str = ""
    name: str | None = None
    uid: str | None = None
    controller: bool | None = None


class _Metadata(_Form):
    name: str | None = None
    generate_name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[_Owner] | None = None
    finalizers: list[str] | None = None


class _Gate(_Form):
    name: str = ""


class _Toleration(_Form):
    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None
    toleration_seconds: int | None = None


class _Requirement(_Form):
    key: str = ""
    operator: str = ""
    values: list[str] | None = None


class _Term(_Form):
    match_expressions: list[_Requirement] | None = None
    match_fields: list[_Requirement] | None = None


class _NodeSelector(_Form):
    node_selector_terms: list[_Term] | None = None


class _Preferred(_Form):
    weight: int | None = None
    preference: _Term | None = None


class _NodeAffinity(_Form):
    required: _NodeSelector | None = msgspec.field(name=REQUIRED, default=None)
    preferred: list[_Preferred] | None = msgspec.field(name=PREFERRED, default=None)


class _LabelSelector(_Form):
    match_labels: dict[str, str] | None = None
    match_expressions: list[_Requirement] | None = None


class _PodTerm(_Form):
    topology_key: str | None = None
    label_selector: _LabelSelector | None = None
    namespaces: list[str] | None = None
    namespace_selector: _LabelSelector | None = None
    match_label_keys: list[str] | None = None
    mismatch_label_keys: list[str] | None = None


class _PreferredPod(_Form):
    weight: int | None = None
    pod_affinity_term: _PodTerm | None = None


class _PodAffinity(_Form):
    required: list[_PodTerm] | None = msgspec.field(name=REQUIRED, default=None)
    preferred: list[_PreferredPod] | None = msgspec.field(name=PREFERRED, default=None)


class _Affinity(_Form):
    node_affinity: _NodeAffinity | None = None
    pod_affinity: _PodAffinity | None = None
    pod_anti_affinity: _PodAffinity | None = None


class _Spread(_Form):
    max_skew: int | None = None
    topology_key: str | None = None
    when_unsatisfiable: str | None = None
    label_selector: _LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: list[str] | None = None


class _Resources(_Form):
    requests: _Quantities | None = None
    limits: _Quantities | None = None


class _Container(_Form):
    name: str = ""
    image: str | None = None
    resources: _Resources | None = None


class _SchedulingGroup(_Form):
    pod_group_name: str | None = None


class _Spec(_Form):
    node_name: str | None = None
    scheduling_gates: list[_Gate] | None = None
    scheduler_name: str | None = None
    runtime_class_name: str | None = None
    priority_class_name: str | None = None
    priority: int | None = None
    preemption_policy: str | None = None
    service_account_name: str | None = None
    service_account: str | None = None
    node_selector: dict[str, str] | None = None
    affinity: _Affinity | None = None
    tolerations: list[_Toleration] | None = None
    topology_spread_constraints: list[_Spread] | None = None
    overhead: _Quantities | None = None
    resources: _Resources | None = None
    containers: list[_Container] | None = None
    init_containers: list[_Container] | None = None
    ephemeral_containers: list[_Container] | None = None
    scheduling_group: _SchedulingGroup | None = None
    active_deadline_seconds: int | None = None
    termination_grace_period_seconds: int | None = None
    hostname_override: str | None = None


class _Condition(_Form):
    type: str = ""


class _Status(_Form):
    conditions: list[_Condition] | None = None


class PodForm(_Form):
    """A pod, or a pod template, which has no status."""

    metadata: _Metadata
    spec: _Spec
    status: _Status | None = None


class _User(msgspec.Struct):
    username: str = ""
    groups: list[str] | None = None


class RequestForm(msgspec.Struct):
    """A request whose objects are pods, or have been replaced by the pod templates in them."""

    uid: str
    operation: str = ""
    namespace: str = ""
    subresource: str | None = msgspec.field(name="subResource", default=None)
    user: _User = msgspec.field(name="userInfo", default_factory=_User)
    pod: PodForm | None = msgspec.field(name="object", default=None)
    old: PodForm | None = msgspec.field(name="oldObject", default=None)
