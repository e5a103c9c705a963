"""Worlds of the webhook for unit tests: one in which there is nothing, to be extended by what a test is about."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from controller.core.keys import BREAK_GLASS
from controller.core.pod_policies.policies import Policy
from controller.core.queueing.scheduler_preemption import Ruling
from controller.core.scheduling_policies.levels import Levels
from webhook.reviews.lookups import RuntimeClasses

TRUSTED = "system:serviceaccount:penstock-system:penstock-controller"
TEMPLATE_CONTROLLER = "system:serviceaccount:argo-rollouts:argo-rollouts"


class EmptyWorld:
    """No namespaces, queues, classes or policies."""

    runtime_classes: RuntimeClasses | None = None
    default_priority_class = ""

    def namespace_labels(self, namespace: str) -> Mapping[str, str]:
        return {}

    def has_local_queue(self, namespace: str, name: str) -> bool:
        return False

    def local_queues_in(self, namespace: str) -> Collection[str]:
        return ()

    def scheduler_preemption(self, namespace: str, name: str) -> Ruling | None:
        return None

    def has_priority_class(self, name: str) -> bool:
        return False

    def pod_policies(self, namespace: str) -> Sequence[Policy]:
        return ()

    def template_policies(self, namespace: str) -> Sequence[Policy]:
        return ()

    def trusts(self, user: str) -> bool:
        return user == TRUSTED

    def makes_from_templates(self, user: str) -> bool:
        return user == TEMPLATE_CONTROLLER

    def breaks_glass(self, groups: Collection[str]) -> bool:
        return BREAK_GLASS in groups

    def scheduling_policies(self, namespace: str, account: str) -> Levels:
        return ()
