"""What a review may look up: the world beside the pod, kept in memory so that no request waits for the apiserver."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from controller.core.kubernetes.runtime_classes import RuntimeClass
from controller.core.pod_policies.policies import Policy
from controller.core.queueing.scheduler_preemption import Ruling
from controller.core.scheduling_policies.levels import Levels


class RuntimeClasses(Protocol):
    """The cluster's RuntimeClasses."""

    @property
    def default(self) -> str | None:
        """Name of the cluster's default class; None when it has none."""

    def get(self, name: str) -> RuntimeClass | None:
        """Return a class, None when there is none of this name."""

    def names(self) -> Sequence[str]:
        """Names of all classes."""


class ReviewLookups(Protocol):
    """Read-only look-ups; all answers come from memory."""

    @property
    def runtime_classes(self) -> RuntimeClasses | None:
        """The classes to judge pods by; None when that was not asked for."""

    @property
    def default_priority_class(self) -> str:
        """Name of the PriorityClass of pods that name none; empty where there is none, or nobody needs to know."""

    def namespace_labels(self, namespace: str) -> Mapping[str, str]:
        """Labels of a namespace; empty when it is not known."""

    def has_local_queue(self, namespace: str, name: str) -> bool:
        """Whether this LocalQueue exists."""

    def local_queues_in(self, namespace: str) -> Collection[str]:
        """Names of the LocalQueues of a namespace."""

    def scheduler_preemption(self, namespace: str, name: str) -> Ruling | None:
        """What the ClusterQueue of this LocalQueue says of kube-scheduler's preemption; None where it is not known."""

    def has_priority_class(self, name: str) -> bool:
        """Whether this WorkloadPriorityClass exists; where they are not known, it does."""

    def pod_policies(self, namespace: str) -> Sequence[Policy]:
        """The policies that may concern pods of this namespace; none where they were not asked for."""

    def template_policies(self, namespace: str) -> Sequence[Policy]:
        """The same for the templates of pods in this namespace's workloads."""

    def trusts(self, user: str) -> bool:
        """Whether this user is Penstock's own: its updates are not judged by policies, and it may write our keys."""

    def makes_from_templates(self, user: str) -> bool:
        """Whether what this user makes, as its controller, comes from a template of another kind of its own."""

    def breaks_glass(self, groups: Collection[str]) -> bool:
        """Whether a member of these groups may do what only Penstock may."""

    def scheduling_policies(self, namespace: str, account: str) -> Levels:
        """The SchedulingPolicies of a service account, by level; none where they were not asked for."""
