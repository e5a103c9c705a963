"""The kinds of objects that pods meet when they are created: how each is read, and where it goes. One row a kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from msgspec import Raw

from controller.api.parse import InvalidObject, parse_cluster_queue, parse_local_queue, parse_workload_priority_class
from controller.cache.policies.access import binding_sink, role_sink
from controller.cli.policy.priorities import read_priority_class
from controller.cli.policy.surroundings import Surroundings, named_namespace
from controller.core.keys import GROUP, VERSION
from controller.kube import fields
from controller.kube.decode import decode_metadata, decode_runtime_class
from controller.kube.decode_queues import decode_cluster_queue, decode_local_queue
from controller.kube.decode_rbac import decode_binding, decode_role
from controller.kube.wire import Owned
from controller.objects.pod_policies import read_cluster_policy, read_policy
from controller.objects.scheduling_policies import read_scheduling_policy

Object = Mapping[str, Any]


class Sink(Protocol):
    """Takes all objects of one kind."""

    def __call__(self, items: Iterable[Any], /) -> None:
        """All there are."""


def _they_are_left_out(_: Surroundings) -> str:
    return "they are left out"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind. `check` returns faults that only a person's file can have: no apiserver has seen it."""

    api_version: str
    name: str
    plural: str
    namespaced: bool
    decode: Callable[[Raw], Any]
    sink: Callable[[Surroundings], Sink]
    check: Callable[[Object], Sequence[str]]
    is_optional: Callable[[Surroundings], bool] = lambda _: False
    """Whether there is an answer, if a poorer one, without the right to read them."""
    leave_out: Callable[[Surroundings], str] = _they_are_left_out
    """Go without them, and say what the answer lacks then."""
    is_wanted: Callable[[Surroundings], bool] = lambda _: True
    """Whether they matter at all, by what was read before."""
    reader: str = ""
    """ClusterRole that lets read them; without one, the role view does in a namespace."""

    @property
    def resource(self) -> str:
        """The name in rights and in kubectl, such as runtimeclasses.node.k8s.io."""
        group, _, version = self.api_version.rpartition("/")
        return f"{self.plural}.{group}" if group and version else self.plural

    def path(self, namespace: str | None) -> str:
        """Path of all of them, or of those in a namespace."""
        root = f"/apis/{self.api_version}" if "/" in self.api_version else f"/api/{self.api_version}"
        within = f"/namespaces/{namespace}" if self.namespaced and namespace else ""
        return f"{root}{within}/{self.plural}"


def _read_namespace(raw: Raw) -> Owned:
    return named_namespace(decode_metadata(raw))


def _of_ours(parse: Callable[[Object], object]) -> Callable[[Object], Sequence[str]]:
    def faults(document: Object) -> Sequence[str]:
        try:
            parse(document)
        except InvalidObject as error:
            return error.faults
        return ()

    return faults


def _none(_: Object) -> Sequence[str]:
    """Of policies, `decode` tells."""
    return ()


def _of_kubernetes(model: str) -> Callable[[Object], Sequence[str]]:
    return partial(fields.faults, kind=model)


def _without_priorities(surroundings: Surroundings) -> str:
    surroundings.priorities.are_known = False
    return "spec.priority is left out"


def _without_workload_priorities(surroundings: Surroundings) -> str:
    surroundings.world.priority_classes = None
    return "there is no warning of one that does not exist"


def _without_access(surroundings: Surroundings) -> str:
    surroundings.leave_out_scheduling_policies()
    return f"SchedulingPolicies are left out; ask for the ClusterRole {ACCESS_READER} to have them judged"


def _is_unasked(surroundings: Surroundings) -> bool:
    return surroundings.settings.scheduling_policies is None


OURS = f"{GROUP}/{VERSION}"
_RBAC = "rbac.authorization.k8s.io/v1"

READER = "penstock-policy-reader"
"""ClusterRole of config/rbac with what these commands read of the whole cluster, beyond the role `view`."""

ACCESS_READER = "penstock-access-reader"
"""ClusterRole of config/rbac with what SchedulingPolicies need besides: who may use which."""

NAMESPACES = Kind(
    "v1",
    "Namespace",
    "namespaces",
    False,
    _read_namespace,
    lambda s: s.world.namespaces.replace,
    _of_kubernetes("V1Namespace"),
)
RUNTIME_CLASSES = Kind(
    "node.k8s.io/v1",
    "RuntimeClass",
    "runtimeclasses",
    False,
    decode_runtime_class,
    lambda s: s.classes.replace,
    _of_kubernetes("V1RuntimeClass"),
    lambda s: s.world.runtime_classes is None,
    lambda _: "what the RuntimeClass of a pod demands is left out",
    reader=READER,
)
PRIORITY_CLASSES = Kind(
    "scheduling.k8s.io/v1",
    "PriorityClass",
    "priorityclasses",
    False,
    read_priority_class,
    lambda s: s.take_priority_classes,
    _of_kubernetes("V1PriorityClass"),
    # the cluster's default class needs no permission: without knowing it, pods that have it would be refused
    lambda s: not s.judges_accounts,
    _without_priorities,
    reader=READER,
)
LOCAL_QUEUES = Kind(
    OURS,
    "LocalQueue",
    "localqueues",
    True,
    decode_local_queue,
    lambda s: s.world.local_queues.replace,
    _of_ours(parse_local_queue),
)
CLUSTER_QUEUES = Kind(
    OURS,
    "ClusterQueue",
    "clusterqueues",
    False,
    decode_cluster_queue,
    lambda s: s.world.cluster_queues.replace,
    _of_ours(parse_cluster_queue),
    lambda _: True,
    lambda _: "pods are neither refused nor warned of for kube-scheduler's preemption",
    reader=READER,
)
WORKLOAD_PRIORITY_CLASSES = Kind(
    OURS,
    "WorkloadPriorityClass",
    "workloadpriorityclasses",
    False,
    decode_metadata,
    lambda s: s.take_workload_priority_classes,
    _of_ours(parse_workload_priority_class),
    lambda _: True,
    _without_workload_priorities,
    reader=READER,
)
CLUSTER_POLICIES = Kind(
    OURS,
    "ClusterPodSchedulingPolicy",
    "clusterpodschedulingpolicies",
    False,
    read_cluster_policy,
    lambda s: s.policy_sink(cluster_wide=True).replace,
    _none,
    reader=READER,
)
POLICIES = Kind(
    OURS,
    "PodSchedulingPolicy",
    "podschedulingpolicies",
    True,
    read_policy,
    lambda s: s.policy_sink(cluster_wide=False).replace,
    _none,
)

SCHEDULING_POLICIES = Kind(
    OURS,
    "SchedulingPolicy",
    "schedulingpolicies",
    False,
    read_scheduling_policy,
    lambda s: s.take_scheduling_policies,
    _none,
    _is_unasked,
    is_wanted=lambda s: s.settings.scheduling_policies is not False,
    reader=READER,
)


def _of_access(name: str, decode: Callable[[Raw], Any], sink: Callable[[Surroundings], Sink]) -> Kind:
    """A kind of RBAC: read only where pods are judged by what their account may use."""
    return Kind(
        _RBAC,
        name,
        f"{name.lower()}s",
        not name.startswith("Cluster"),
        decode,
        sink,
        _of_kubernetes(f"V1{name}"),
        _is_unasked,
        _without_access,
        lambda s: s.judges_accounts,
        ACCESS_READER,
    )


ACCESS = (
    _of_access("Role", decode_role, lambda s: role_sink(s.accounts.access, cluster_wide=False).replace),
    _of_access("ClusterRole", decode_role, lambda s: role_sink(s.accounts.access, cluster_wide=True).replace),
    _of_access("RoleBinding", decode_binding, lambda s: binding_sink(s.accounts.access, cluster_wide=False).replace),
    _of_access(
        "ClusterRoleBinding", decode_binding, lambda s: binding_sink(s.accounts.access, cluster_wide=True).replace
    ),
)
"""Who may use which SchedulingPolicy."""

KINDS = (
    NAMESPACES,
    CLUSTER_POLICIES,
    POLICIES,
    LOCAL_QUEUES,
    SCHEDULING_POLICIES,
    *ACCESS,
    RUNTIME_CLASSES,
    PRIORITY_CLASSES,
    WORKLOAD_PRIORITY_CLASSES,
    CLUSTER_QUEUES,
)
"""Those that people miss most when they may not read them come first, and before each what it is wanted by."""

OTHERS_OF_OURS = frozenset({"ResourceFlavor"})
"""Of our group, and nothing that the webhook reads."""
