"""The kinds of objects that pods meet when they are created: how each is read, and where it goes. One row a kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from msgspec import Raw

from controller.api.parse import InvalidObject, parse_local_queue
from controller.cache.pod_policies import read_cluster_policy, read_policy
from controller.cli.policy.priorities import read_priority_class
from controller.cli.policy.surroundings import Surroundings, named_namespace
from controller.core.keys import GROUP, VERSION
from controller.kube import fields
from controller.kube.decode import decode_metadata, decode_runtime_class
from controller.kube.wire import Owned

Object = Mapping[str, Any]


class Sink(Protocol):
    """Takes all objects of one kind."""

    def replace(self, items: Iterable[Any]) -> None:
        """All there are."""


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


def _faults_of_local_queue(document: Object) -> Sequence[str]:
    try:
        parse_local_queue(document)
    except InvalidObject as error:
        return error.faults
    return ()


def _none(_: Object) -> Sequence[str]:
    """Of policies, `decode` tells."""
    return ()


def _of_kubernetes(model: str) -> Callable[[Object], Sequence[str]]:
    return partial(fields.faults, kind=model)


OURS = f"{GROUP}/{VERSION}"

NAMESPACES = Kind(
    "v1", "Namespace", "namespaces", False, _read_namespace, lambda s: s.world.namespaces, _of_kubernetes("V1Namespace")
)
RUNTIME_CLASSES = Kind(
    "node.k8s.io/v1",
    "RuntimeClass",
    "runtimeclasses",
    False,
    decode_runtime_class,
    lambda s: s.classes,
    _of_kubernetes("V1RuntimeClass"),
    lambda s: not s.settings.judges_runtime_classes,
)
PRIORITY_CLASSES = Kind(
    "scheduling.k8s.io/v1",
    "PriorityClass",
    "priorityclasses",
    False,
    read_priority_class,
    lambda s: s.priorities,
    _of_kubernetes("V1PriorityClass"),
    lambda _: True,
)
LOCAL_QUEUES = Kind(
    OURS, "LocalQueue", "localqueues", True, decode_metadata, lambda s: s.world.local_queues, _faults_of_local_queue
)
CLUSTER_POLICIES = Kind(
    OURS,
    "ClusterPodSchedulingPolicy",
    "clusterpodschedulingpolicies",
    False,
    read_cluster_policy,
    lambda s: s.policy_sink(cluster_wide=True),
    _none,
)
POLICIES = Kind(
    OURS,
    "PodSchedulingPolicy",
    "podschedulingpolicies",
    True,
    read_policy,
    lambda s: s.policy_sink(cluster_wide=False),
    _none,
)

KINDS = (NAMESPACES, CLUSTER_POLICIES, POLICIES, LOCAL_QUEUES, RUNTIME_CLASSES, PRIORITY_CLASSES)
"""Those that people miss most when they may not read them come first."""

OTHERS_OF_OURS = frozenset({"ResourceFlavor", "ClusterQueue"})
"""Of our group, and nothing that the webhook reads."""
