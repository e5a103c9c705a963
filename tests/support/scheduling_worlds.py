"""A webhook's world with SchedulingPolicies in it, made of the parts of a live one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson
from msgspec import Raw

from controller.core.kubernetes.priority_classes import PriorityClass
from controller.core.kubernetes.runtime_classes import RuntimeClass
from controller.core.scheduling_policies.policy import MergeOption
from controller.kube.wire import Owned
from controller.objects.scheduling_policies import read_scheduling_policy
from tests.support.api_objects import Json
from tests.support.rbac_objects import a_binding, a_role, a_rule, account, group, put
from tests.support.worlds import TRUSTED
from webhook.checks.chain import validate
from webhook.reviews.admission import Request
from webhook.reviews.lookups import ReviewLookups
from webhook.world.account_policies import AccountPolicies
from webhook.world.cluster import ClusterLookups
from webhook.world.runtime_classes import KnownClasses

NAMESPACE = "team"
GIVEN = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
SPOT = {"key": "spot", "operator": "Equal", "value": "yes", "effect": "NoSchedule"}
OTHER = {"key": "other", "operator": "Exists"}


def a_world(
    *policies: Json,
    grants: Mapping[str, Iterable[str]] | None = None,
    option: MergeOption = MergeOption.DEEP_MERGE,
    classes: Sequence[RuntimeClass] = (),
    default_class: str | None = None,
    default_priority_class: str = "",
    labels: Mapping[str, str] | None = None,
) -> ClusterLookups:
    """These policies; `grants` are policies by account, and without it everybody may use every one."""
    accounts = AccountPolicies(option)
    accounts.policies.replace([read_scheduling_policy(Raw(orjson.dumps(one))) for one in policies])
    if default_priority_class:
        accounts.priority_classes.upsert(PriorityClass(name=default_priority_class, is_default=True))
    for name, usable in ({"all": ()} if grants is None else grants).items():
        put(accounts.access, a_role(name, *([a_rule(*usable)] if grants is None or usable else [])))
        subject = group("system:authenticated") if grants is None else account(name, NAMESPACE)
        put(accounts.access, a_binding(name, name, subject))
    known = KnownClasses(default_class)
    known.replace(classes)
    world = ClusterLookups(known, accounts, trusted_users=frozenset((TRUSTED,)))
    world.namespaces.replace([Owned(name=NAMESPACE, labels=dict(labels or {}))])
    return world


def a_pod(metadata: Json | None = None, **spec: Any) -> Json:
    """A pod as the apiserver shows it to webhooks."""
    filled = {
        "schedulerName": "default-scheduler",
        "serviceAccountName": "default",
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
        "tolerations": [GIVEN],
        "containers": [],
    }
    return {"metadata": metadata or {}, "spec": {**filled, **spec}}


def a_request(pod: Json, **fields: Any) -> Request:
    filled: Json = {"operation": "CREATE", "namespace": NAMESPACE, "subresource": "", "user": "jane", "groups": ()}
    return Request(**{"uid": "1", "pod": pod, **filled, **fields})


def denial(world: ReviewLookups, pod: Json, **fields: Any) -> str | None:
    return validate(a_request(pod, **fields), world).denial


def update_denial(world: ReviewLookups, old: Json | None, new: Json, **fields: Any) -> str | None:
    return denial(world, new, **{"operation": "UPDATE", "old": old, **fields})
