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


def local_queue(name: str = "main", namespace: str = "default", **spec: Any) -> Json:
    filled = {"clusterQueue": "team-a", **spec}
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": API_VERSION, "kind": "LocalQueue", "metadata": metadata, "spec": filled}


def requirement(operator: str, *values: str, key: str = "pool") -> Json:
    return {"key": key, "operator": operator, "values": list(values)}
