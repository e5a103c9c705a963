"""What the chart renders and what kustomize builds of config/, object by object."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from tests.support import renderer

ROOT = Path(__file__).resolve().parents[3]
CHART = ROOT / "deploy" / "chart"
Json = dict[str, Any]
PEM = "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n"

VALUES: dict[str, Json] = {
    "runtime-class": {"runtimeClass": {"enabled": True}},
    "pod-policies": {"podPolicies": {"enabled": True}},
    "pod-template-policies": {"podPolicies": {"enabled": True}, "podTemplatePolicies": {"enabled": True}},
    "scheduling-policies": {"schedulingPolicies": {"enabled": True}},
    "default-scheduling-policies": {"defaultSchedulingPolicies": {"enabled": True}},
    "client-certificates": {"clientCertificates": {"enabled": True}},
    "quota-resources": {"quotaResources": {"enabled": True}},
    "notifications": {"notifications": {"enabled": True}},
    "visibility": {"visibility": {"enabled": True}},
    "history": {"history": {"enabled": True}},
    "dashboard": {"dashboard": {"enabled": True}},
    "monitoring": {"monitoring": {"enabled": True}},
    "network-policy": {"networkPolicy": {"enabled": True}},
    "network-policy-history": {"networkPolicy": {"enabled": True}, "history": {"enabled": True}},
    "network-policy-notifications": {"networkPolicy": {"enabled": True}, "notifications": {"enabled": True}},
    "provided-certificate": {"certificate": {"source": "provided", "caBundle": PEM}},
    "cert-manager": {"certificate": {"source": "cert-manager"}},
}
"""What asks for each component, in the order of a kustomization."""

BESIDE = {
    "pod-template-policies": ("pod-policies",),
    "network-policy-history": ("network-policy", "history"),
    "network-policy-notifications": ("network-policy", "notifications"),
}
"""Components that are worth nothing without others."""


TOGETHER = tuple(name for name in VALUES if name != "provided-certificate")
"""All that can be enabled at once: cert-manager brings that one."""


def by_name(objects: Iterable[Json]) -> dict[str, Json]:
    named = {}
    for one in objects:
        metadata = one["metadata"]
        named[f"{one['apiVersion']} {one['kind']} {metadata.get('namespace', '')}/{metadata['name']}"] = one
    return named


REGISTRATIONS = {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}
GATES = {"Policies": ("default",), "Webhook": ("default-webhook",), "Both": ("default-webhook", "policy")}
"""Folders of config/ for each gate.mode."""

_HELMS = ("helm.sh/chart", "app.kubernetes.io/instance", "app.kubernetes.io/version", "app.kubernetes.io/managed-by")
NEED_SERVER = {"runtime-class", "pod-policies", "pod-template-policies", "scheduling-policies"}


def built(folder: Path, gate: str, *components: str) -> dict[str, Json]:
    """What kustomize builds of everything and these components, without the Namespace, which is Helm's to make."""
    folders = list(GATES[gate])
    if gate == "Policies" and NEED_SERVER & set(components):
        folders.append("server")
    kustomization = {
        "resources": [os.path.relpath(ROOT / "config" / name, folder) for name in folders],
        "components": [os.path.relpath(ROOT / "config" / "components" / name, folder) for name in components],
    }
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    return by_name(one for one in renderer.kustomize(folder) if one["kind"] != "Namespace")


def rendered(kubernetes: str = "v1.37.2", **values: Any) -> dict[str, Json]:
    return by_name(renderer.objects(renderer.helm(CHART, values, kubernetes=kubernetes)))


def without_what_helm_adds(objects: dict[str, Json]) -> dict[str, Json]:
    """Without labels of the release, authorities, and the mark that keeps CRDs, which config/ lacks."""
    for one in objects.values():
        for key in _HELMS:
            del one["metadata"]["labels"][key]
        if one["kind"] == "CustomResourceDefinition":
            assert one["metadata"].pop("annotations") == {"helm.sh/resource-policy": "keep"}
        for entry in one.get("webhooks", ()):
            entry["clientConfig"].pop("caBundle", None)
    return objects
