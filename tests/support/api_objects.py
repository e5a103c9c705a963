"""Builders of our objects as JSON, legal unless a test says otherwise."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
API_VERSION = "penstock.dev/v1alpha1"


def resource_flavor(name: str = "spot", **spec: Any) -> Json:
    return {"apiVersion": API_VERSION, "kind": "ResourceFlavor", "metadata": {"name": name}, "spec": spec}


def quotas(flavor: str = "spot", **nominal: Any) -> Json:
    amounts = nominal or {"cpu": "8"}
    return {"name": flavor, "resources": [{"name": name, "nominalQuota": value} for name, value in amounts.items()]}


def cluster_queue(name: str = "team-a", **spec: Any) -> Json:
    filled = {"flavors": [quotas()], **spec}
    return {"apiVersion": API_VERSION, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": filled}


def a_window(name: str = "night", **fields: Any) -> Json:
    """A window that gives 16 cpu of `spot` from 20:00 to 04:00 UTC."""
    return {"name": name, "start": "0 20 * * *", "duration": "8h", "flavors": [quotas(cpu=16)], **fields}


def a_budget(name: str = "daily", **fields: Any) -> Json:
    """2 hours of cpu a day; a field that is None is left out."""
    given = {"name": name, "resource": "cpu", "hours": 2, "period": "Day", **fields}
    return {field: value for field, value in given.items() if value is not None}


def local_queue(name: str = "main", namespace: str = "default", **spec: Any) -> Json:
    filled = {"clusterQueue": "team-a", **spec}
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": API_VERSION, "kind": "LocalQueue", "metadata": metadata, "spec": filled}


def priority_class(name: str = "high", **spec: Any) -> Json:
    filled = {"value": 100, **spec}
    return {"apiVersion": API_VERSION, "kind": "WorkloadPriorityClass", "metadata": {"name": name}, "spec": filled}


def workload_kind(**spec: Any) -> Json:
    """The kind Train, whose objects have a head."""
    filled = {
        "group": "sample.example.com",
        "version": "v1",
        "kind": "Train",
        "resource": "trains",
        "suspend": ".spec.suspend",
        "podSets": [{"name": "head", "template": ".spec.head.template"}],
        **spec,
    }
    metadata = {"name": f"trains.{filled['group']}"}
    return {"apiVersion": API_VERSION, "kind": "WorkloadKind", "metadata": metadata, "spec": filled}


def requirement(operator: str, *values: str, key: str = "pool") -> Json:
    return {"key": key, "operator": operator, "values": list(values)}


def pod_policy(name: str = "batch", namespace: str = "default", **spec: Any) -> Json:
    metadata = {"name": name, "namespace": namespace}
    filled = {"podSelector": {}, **spec}
    return {"apiVersion": API_VERSION, "kind": "PodSchedulingPolicy", "metadata": metadata, "spec": filled}


def cluster_pod_policy(name: str = "batch", **spec: Any) -> Json:
    filled = {"namespaceSelector": {}, "podSelector": {}, **spec}
    return {"apiVersion": API_VERSION, "kind": "ClusterPodSchedulingPolicy", "metadata": {"name": name}, "spec": filled}


def field_requirement(*names: str, operator: str = "In") -> Json:
    return {"key": "metadata.name", "operator": operator, "values": list(names)}


def node_terms(*terms: Json) -> Json:
    """An affinity that requires one of these node selector terms."""
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


def scheduling_policy(name: str = "schedpol-a", **spec: Any) -> Json:
    return {"apiVersion": API_VERSION, "kind": "SchedulingPolicy", "metadata": {"name": name}, "spec": spec}
