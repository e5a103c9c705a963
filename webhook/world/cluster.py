"""The World of a live cluster: kept by informers, and asked for where they may be behind."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final
from urllib.parse import quote

from controller.cache.policies.pod_policies import Policies
from controller.core.keys import BREAK_GLASS, DEFAULT_RUNTIME_CLASS
from controller.core.pod_policies.policies import Policy, Target
from controller.core.queueing.scheduler_preemption import Ruling
from controller.core.scheduling_policies.levels import Levels
from controller.kube.client import Client
from controller.kube.decode import decode_metadata, decode_runtime_class
from controller.kube.wire import Owned
from webhook.pods.noted import scheduling_entry
from webhook.reviews.admission import Request
from webhook.steps.runtime_class import choose
from webhook.world import runtime_classes
from webhook.world.account_policies import AccountPolicies
from webhook.world.live import Live
from webhook.world.queues import KnownClusterQueues, KnownLocalQueues
from webhook.world.runtime_classes import KnownClasses

NAMESPACES: Final = "/api/v1/namespaces"


class Lookups:
    """Metadata of one kind by (namespace, name), kept by an informer."""

    def __init__(self) -> None:
        self._labels: dict[tuple[str, str], Mapping[str, str]] = {}

    def replace(self, items: Iterable[Owned]) -> None:
        """All objects there are."""
        self._labels = {item.key: item.labels or {} for item in items}

    def upsert(self, item: Owned) -> None:
        """One object is new or changed."""
        self._labels[item.key] = item.labels or {}

    def remove(self, gone: Owned) -> None:
        """One object is gone."""
        self._labels.pop(gone.key, None)

    def get(self, namespace: str, name: str) -> Mapping[str, str] | None:
        """Return the labels of an object, None when there is none."""
        return self._labels.get((namespace, name))

    def values(self, label: str) -> set[str]:
        """Return the values that a label has on any object, the empty one too."""
        return {labels[label] for labels in self._labels.values() if label in labels}


class ClusterLookups:
    """The World of a live cluster."""

    def __init__(
        self,
        runtime_classes: KnownClasses | None = None,
        account_policies: AccountPolicies | None = None,
        *,
        report: Callable[[str], None] = lambda _: None,
        trusted_users: frozenset[str] = frozenset(),
        break_glass_group: str = BREAK_GLASS,
        template_controllers: frozenset[str] = frozenset(),
    ) -> None:
        """`report` is told of policies that are in effect for nobody."""
        self.namespaces = Lookups()
        self.local_queues = KnownLocalQueues()
        self.cluster_queues = KnownClusterQueues()
        self.priority_classes: Lookups | None = Lookups()
        """WorkloadPriorityClasses; None where nobody may read them."""
        self.runtime_classes = runtime_classes
        self.account_policies = account_policies
        self.policies = Policies(report)
        self._trusted_users = trusted_users
        self._break_glass_group = break_glass_group
        self._template_controllers = template_controllers
        self._live = Live()
        self._fresh_namespace: tuple[str, Mapping[str, str]] | None = None

    def namespace_labels(self, namespace: str) -> Mapping[str, str]:
        """Labels of a namespace; empty when it is not known."""
        if self._fresh_namespace is not None and self._fresh_namespace[0] == namespace:
            return self._fresh_namespace[1]
        return self.namespaces.get("", namespace) or {}

    def has_local_queue(self, namespace: str, name: str) -> bool:
        """Whether this LocalQueue exists."""
        return self.local_queues.get(namespace, name) is not None

    def local_queues_in(self, namespace: str) -> list[str]:
        """Names of the LocalQueues of a namespace."""
        return self.local_queues.names_in(namespace)

    def scheduler_preemption(self, namespace: str, name: str) -> Ruling | None:
        """What the ClusterQueue of this LocalQueue says of kube-scheduler's preemption; None where it is not known."""
        local = self.local_queues.get(namespace, name)
        return None if local is None else self.cluster_queues.ruling(local.cluster_queue)

    def has_priority_class(self, name: str) -> bool:
        """Whether this WorkloadPriorityClass exists; where they are not known, it does."""
        return self.priority_classes is None or self.priority_classes.get("", name) is not None

    async def completed(self, client: Client, request: Request) -> ClusterLookups:
        """Return this world with what only the apiserver knows yet, for this one review.

        A namespace and its first pod, or a class and its first pod, are often made at once. Without the namespace's
        labels the pod would miss its policies and defaults; without the class we would refuse what the apiserver, which
        asks live too, has just let in. Only the informers know when either is gone, so nothing is kept.

        Raises NotKnown.
        """
        world = self
        if request.namespace and self.namespaces.get("", request.namespace) is None:
            namespace = await self._live.ask(
                client, f"{NAMESPACES}/{quote(request.namespace, safe='')}", decode_metadata, is_rare=True
            )
            if namespace is not None:
                world = copy.copy(world)
                world._fresh_namespace = (request.namespace, namespace.labels or {})
        is_new_pod = request.operation == "CREATE" and not request.subresource
        choice = choose(request, world) if is_new_pod else None
        if choice is None or self.runtime_classes is None or self.runtime_classes.get(choice.name) is not None:
            return world
        found = await self._live.ask(
            client, f"{runtime_classes.PATH}/{quote(choice.name, safe='')}", decode_runtime_class
        )
        if found is not None:
            world = copy.copy(world)
            world.runtime_classes = self.runtime_classes.and_also(found)
        return world

    def pod_policies(self, namespace: str) -> tuple[Policy, ...]:
        """The policies that may concern pods of this namespace, in order."""
        return self.policies.of(namespace, self.namespace_labels(namespace))

    def template_policies(self, namespace: str) -> tuple[Policy, ...]:
        """The policies that may concern templates of pods in this namespace, in order."""
        return self.policies.of(namespace, self.namespace_labels(namespace), Target.POD_TEMPLATES)

    @property
    def default_priority_class(self) -> str:
        """Name of the PriorityClass of pods that name none; empty where there is none, or nobody needs to know."""
        return "" if self.account_policies is None else self.account_policies.priority_classes.default

    def scheduling_policies(self, namespace: str, account: str) -> Levels:
        """The SchedulingPolicies of a service account, by level; none where they were not asked for."""
        return () if self.account_policies is None else self.account_policies.of(namespace, account)

    def trusts(self, user: str) -> bool:
        """Whether this user is Penstock's own: its updates are not judged by policies, and it may write our keys."""
        return user in self._trusted_users

    def makes_from_templates(self, user: str) -> bool:
        """Whether what this user makes, as its controller, comes from a template of another kind of its own."""
        return user in self._template_controllers

    def breaks_glass(self, groups: Collection[str]) -> bool:
        """Whether a member of these groups may do what only Penstock may."""
        return self._break_glass_group in groups

    def faulty_policies(self) -> list[tuple[str, str]]:
        """Kind and name (with its namespace) of policies that break the rules of their kind."""
        found = [
            ("PodSchedulingPolicy", f"{namespace}/{name}") if namespace else ("ClusterPodSchedulingPolicy", name)
            for namespace, name in self.policies.faults
        ]
        if self.account_policies is not None:
            found += [("SchedulingPolicy", policy.name) for policy in self.account_policies.policies.faulty]
        return found

    def policy_entries(self) -> set[str]:
        """All policies there are, faulty ones too, by what they are called in metrics and in the annotation."""
        found = {f"{namespace}/{name}" if namespace else name for namespace, name in self.policies.existing()}
        if self.account_policies is not None:
            kept = self.account_policies.policies
            names = (*(one.name for one in kept.valid), *(one.name for one in kept.faulty))
            found.update(map(scheduling_entry, names))
        return found

    def missing_default_classes(self) -> list[str]:
        """Names of default RuntimeClasses that do not exist: the cluster's, then those of namespaces' labels.

        The cluster's is first so that labels, which others than its owner may write, cannot crowd it out of metrics.
        """
        classes = self.runtime_classes
        if classes is None:
            return []
        named = dict.fromkeys((classes.default or "", *sorted(self.namespaces.values(DEFAULT_RUNTIME_CLASS))))
        return [name for name in named if name and classes.get(name) is None]
