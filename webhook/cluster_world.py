"""The World of a live cluster: kept by informers, and asked for where they may be behind."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping

from controller.cache.pod_policies import Policies
from controller.core.pod_policies import Policy
from controller.kube.client import Client
from controller.kube.wire import Owned
from webhook.review import Request
from webhook.runtime_class_step import choose
from webhook.runtime_classes import KnownClasses, ask


class Lookups:
    """Metadata of one kind by (namespace, name), kept by an informer."""

    def __init__(self) -> None:
        self._labels: dict[tuple[str, str], Mapping[str, str]] = {}

    def replace(self, items: Iterable[Owned]) -> None:
        """All objects there are."""
        self._labels = {(item.namespace, item.name): item.labels or {} for item in items}

    def upsert(self, item: Owned) -> None:
        """One object is new or changed."""
        self._labels[(item.namespace, item.name)] = item.labels or {}

    def remove(self, item: Owned) -> None:
        """One object is gone."""
        self._labels.pop((item.namespace, item.name), None)

    def get(self, namespace: str, name: str) -> Mapping[str, str] | None:
        """Return the labels of an object, None when there is none."""
        return self._labels.get((namespace, name))


class ClusterWorld:
    """The World of a live cluster."""

    def __init__(
        self, runtime_classes: KnownClasses | None = None, *, report: Callable[[str], None] = lambda _: None
    ) -> None:
        """`report` is told of policies that are in effect for nobody."""
        self.namespaces = Lookups()
        self.local_queues = Lookups()
        self.runtime_classes = runtime_classes
        self.policies = Policies(report)

    def namespace_labels(self, namespace: str) -> Mapping[str, str]:
        """Labels of a namespace; empty when it is not known."""
        return self.namespaces.get("", namespace) or {}

    def has_local_queue(self, namespace: str, name: str) -> bool:
        """Whether this LocalQueue exists."""
        return self.local_queues.get(namespace, name) is not None

    async def completed(self, client: Client, request: Request) -> ClusterWorld:
        """Return this world with the class that the pod is to have, when only the apiserver knows it yet."""
        choice = choose(request, self)
        if choice is None or self.runtime_classes is None or self.runtime_classes.get(choice.name) is not None:
            return self
        found = await ask(client, choice.name)
        if found is None:
            return self
        more = copy.copy(self)
        more.runtime_classes = self.runtime_classes.and_also(found)
        return more

    def pod_policies(self, namespace: str) -> tuple[Policy, ...]:
        """The policies that may concern pods of this namespace, in order."""
        return self.policies.of(namespace, self.namespace_labels(namespace))
