"""Builders of Kueue's objects as JSON."""

from __future__ import annotations

from typing import Any

from tests.support.api_objects import Json

V1 = "kueue.x-k8s.io/v1beta1"
V2 = "kueue.x-k8s.io/v1beta2"


def kueue_object(kind: str, name: str, spec: Json | None = None, *, version: str = V2, namespace: str = "") -> Json:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **({} if spec is None else {"spec": spec})}


def kueue_quota(name: str, nominal: Any, *, borrow: Any = None, lend: Any = None) -> Json:
    limits = {"borrowingLimit": borrow, "lendingLimit": lend}
    return {"name": name, "nominalQuota": nominal, **{key: value for key, value in limits.items() if value is not None}}


def kueue_group(*flavors: tuple[str, list[Json]]) -> Json:
    """A resource group of (flavor, quotas)."""
    covered = [quota["name"] for quota in flavors[0][1]]
    return {"coveredResources": covered, "flavors": [{"name": name, "resources": quotas} for name, quotas in flavors]}


def kueue_queue(name: str, *groups: Json, version: str = V2, **spec: Any) -> Json:
    return kueue_object("ClusterQueue", name, {"resourceGroups": list(groups), **spec}, version=version)


def kueue_cohort(name: str, *groups: Json, **spec: Any) -> Json:
    return kueue_object("Cohort", name, {"resourceGroups": list(groups), **spec})


def kueue_flavor(name: str, **spec: Any) -> Json:
    return kueue_object("ResourceFlavor", name, spec)
