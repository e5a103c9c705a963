"""Which RuntimeClass a pod gets. What the class then adds to the pod is `kubernetes.runtime_classes`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from controller.core.scheduling_policies.merging import Merged
from controller.core.scheduling_policies.names import RUNTIME_CLASS, Wanted, wanted
from controller.core.scheduling_policies.pod import Pod


class ClassSource(Enum):
    """Who chose a RuntimeClass, the strongest first."""

    POD = auto()
    POLICY = auto()
    NAMESPACE = auto()
    CLUSTER = auto()


@dataclass(frozen=True, slots=True)
class ChosenClass:
    """The class that a pod is to have; `policy` says which entry of which policy chose it."""

    name: str
    source: ClassSource
    policy: Wanted | None = None


def takes_defaults(pod: Pod) -> bool:
    """Whether a pod without a class gets a default one.

    Not pods of daemon sets, which are the nodes' own agents, on nodes without the class too, nor a pod that names its
    node: where the class's selector is not the node's, its kubelet would reject the pod.
    """
    return not (pod.exempt.is_daemon_set_pod or pod.directives.node_name)


def class_by_policy(pod: Pod, merged: Merged) -> Wanted | None:
    """Return the class that policies give to a pod without one: the only one required, else their default.

    A mere default is not for pods that are made for one node: see `takes_defaults`.
    """
    if not takes_defaults(pod) and merged.required.runtime_class_names is None:
        return None
    return wanted(RUNTIME_CLASS, pod, merged)


def choose_class(pod: Pod, merged: Merged | None, *, of_namespace: str, of_cluster: str) -> ChosenClass | None:
    """Return the pod's own class, else the policies', the namespace's or the cluster's; None when there is none.

    `merged` are the enforced policies; None where there are none, or none that the pod's account may use.
    """
    if pod.runtime_class:
        return ChosenClass(pod.runtime_class, ClassSource.POD)
    by_policy = class_by_policy(pod, merged) if merged is not None else None
    if by_policy is not None:
        return ChosenClass(by_policy.name, ClassSource.POLICY, by_policy)
    if not takes_defaults(pod):
        return None
    if of_namespace:
        return ChosenClass(of_namespace, ClassSource.NAMESPACE)
    return ChosenClass(of_cluster, ClassSource.CLUSTER) if of_cluster else None
