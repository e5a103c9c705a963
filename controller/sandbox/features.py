"""What is off until asked for: the folders of `config/components`, and what each needs of the webhook and of others.

Who asks for them is the caller's business; `installation` brings them into a sandbox.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from controller.kube.manifests import parse, read_text
from controller.sandbox.shipped import manifests

_CANNOT = {
    "cert-manager": "a sandbox has no cert-manager, and the webhook there has the sandbox's own certificate",
    "provided-certificate": "the webhook there has the sandbox's own certificate",
    "client-certificates": "its apiserver shows none unless it was started with a file that says which",
    "dashboard": "its programs are no pods; penstock dashboard opens the page",
    "history": "a sandbox keeps one anyway, in a file of its own",
    "quota-resources": "its programs are no pods, nothing mounts the ConfigMap; PENSTOCK_QUOTA_RESOURCES names a file",
    "notifications": "its programs are no pods, so nothing mounts the Secret; PENSTOCK_NOTIFICATIONS names a file",
    "monitoring": "it has no Prometheus Operator, whose kinds these are",
    "network-policy": "its programs are no pods, and it has no network for them",
    "network-policy-history": "its programs are no pods, and it has no network for them",
    "network-policy-notifications": "its programs are no pods, and it has no network for them",
}
_BESIDE = {
    "default-scheduling-policies": "scheduling-policies",
    "pod-template-policies": "pod-policies",
}
"""Components that do nothing without another."""


def names() -> list[str]:
    """Names of all components that there are."""
    return sorted(folder.name for folder in manifests("components").iterdir() if folder.is_dir())


def usable() -> list[str]:
    """Names of those that a sandbox can have."""
    return [name for name in names() if name not in _CANNOT]


def trouble(asked: Iterable[str]) -> str | None:
    """Say which of these components cannot work, why, and what to do; None when all can."""
    together = set(asked)
    for name in sorted(together):
        if name in _CANNOT:
            return f"{name} cannot work here: {_CANNOT[name]}; leave it out"
        beside = _BESIDE.get(name)
        if beside is not None and beside not in together:
            return f"{name} does nothing without {beside}; add --component {beside}"
    return None


def webhook_arguments(asked: Iterable[str]) -> list[str]:
    """What these components need of the webhook, as their kustomizations add it to its Deployment."""
    folders = (manifests(f"components/{name}") for name in asked)
    # each of them adds an argument: `deploy.generate` refuses a component that does anything else
    return [one["value"] for folder in folders for one in patched(folder, "penstock-webhook")]


def patched(component: Path, deployment: str) -> Iterator[dict[str, Any]]:
    """Operations of JSON Patch by which the component in this folder changes a Deployment."""
    file = component / "kustomization.yaml"
    (kustomization,) = parse(read_text(file), str(file))
    for patch in kustomization.get("patches", ()):
        if patch["target"].get("name") == deployment:
            (operations,) = parse(patch["patch"], str(file))
            yield from operations
