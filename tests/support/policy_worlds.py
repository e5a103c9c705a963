"""A world with pod scheduling policies in it, as they are written, for tests of what the webhook makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from msgspec import Raw

from controller.cache.policies.pod_policies import Policies
from controller.core.pod_policies.policies import Policy, Target
from controller.objects.pod_policies import read_cluster_policy, read_policy
from tests.support.worlds import EmptyWorld

Json = dict[str, Any]


class PolicyWorld(EmptyWorld):
    """Policies by what was written, in a namespace with these labels. Every queue exists."""

    def __init__(self, *written: Json, labels: Mapping[str, str] | None = None) -> None:
        self.faults: list[str] = []
        self.policies = Policies(self.faults.append)
        self.labels = labels or {}
        for one in written:
            self.policies.put((read_policy if one["metadata"].get("namespace") else read_cluster_policy)(raw(one)))

    def namespace_labels(self, namespace: str) -> Mapping[str, str]:
        return self.labels

    def has_local_queue(self, namespace: str, name: str) -> bool:
        return True

    def pod_policies(self, namespace: str) -> tuple[Policy, ...]:
        return self.policies.of(namespace, self.labels)

    def template_policies(self, namespace: str) -> tuple[Policy, ...]:
        return self.policies.of(namespace, self.labels, Target.POD_TEMPLATES)


def raw(document: Json) -> Raw:
    return Raw(orjson.dumps(document))


def a_pod(metadata: Json | None = None, **spec: Any) -> Json:
    return {"metadata": metadata or {}, "spec": {"schedulerName": "default-scheduler", "containers": [], **spec}}
