"""What of Kueue's own configuration says which resources quota counts, as the ConfigMap that our controller reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import yaml

from controller.cli.imports.documents import ConversionError
from controller.core.kubernetes.amounts import PODS
from controller.core.kubernetes.quota_resources import QuotaResources
from controller.kube.manifests import form
from controller.objects.quota_resources import QuotaResourcesError, parsed

_GROUP: Final = "config.kueue.x-k8s.io"
_READ: Final = ("deviceClassMappings", "excludeResourcePrefixes", "transformations")
_ENABLE: Final = (
    "ConfigMap penstock-quota-resources: the controller reads it with the component quota-resources, or with "
    "quotaResources.enabled of the chart; a change counts after a restart"
)


def is_configuration(body: object) -> bool:
    """Say whether this is Kueue's configuration, which is no object of a cluster."""
    version = body.get("apiVersion") if isinstance(body, dict) else None
    return isinstance(version, str) and version.partition("/")[0] == _GROUP


def quota_resources(where: str, body: dict[str, Any], losses: list[str]) -> QuotaResources:
    """Return which resources quota counts; adds to `losses` what is left out. Raises ConversionError."""
    written = body.get("resources", {})
    if not isinstance(written, dict):
        raise ConversionError(f"{where}: resources: must be an object, is {form(written)}")
    mappings = written.get("deviceClassMappings")
    for number, one in enumerate(mappings if isinstance(mappings, list) else ()):
        if isinstance(one, dict) and one.pop("sources", None):
            losses.append(
                f"{where}: resources.deviceClassMappings[{number}].sources: is left out: Penstock counts devices, and "
                "neither their counters nor their capacity"
            )
    others = (name for name in written if name not in _READ)
    losses += (f"{where}: resources.{name}: is left out: Penstock has nothing like it" for name in others)
    try:
        return parsed({name: written[name] for name in _READ if name in written}, f"{where}: resources").meaning
    except QuotaResourcesError as error:
        raise ConversionError(str(error)) from None


def config_map(body: dict[str, Any]) -> dict[str, Any]:
    """Return the ConfigMap for our controller."""
    written = body.get("resources", {})
    kept = {name: written[name] for name in _READ if name in written}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "penstock-quota-resources", "namespace": "penstock-system"},
        "data": {"resources.yaml": yaml.safe_dump(kept, sort_keys=False)},
    }


def warnings(where: str, body: dict[str, Any], told: QuotaResources, queues: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Yield what people have to know of a configuration, and of the queues beside it."""
    others = [name for name in body if name not in ("apiVersion", "kind", "metadata", "resources")]
    if others:
        yield f"{where}: {', '.join(others)}: not read; only resources are"
    if told == QuotaResources():
        return
    yield _ENABLE
    for queue in queues:
        named = {one["name"] for flavor in queue["spec"].get("flavors", ()) for one in flavor["resources"]}
        for resource in sorted(one for one in named if one != PODS and told.needs_no_quota(one)):
            yield (
                f"ClusterQueue {queue['metadata']['name']}: {resource}: Kueue left it out of this quota, and Penstock "
                "counts what a quota names; remove it there"
            )
