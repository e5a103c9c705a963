"""What pods are charged beside, and instead of, what they request, and the objects on which that rests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from controller.cache.keyed import put_or_drop
from controller.core.kubernetes.amounts import UNLIMITED, as_requests
from controller.core.kubernetes.devices import (
    IMPLICIT_PREFIX,
    DeviceClass,
    DeviceRequest,
    PodClaim,
    UncountableError,
    devices_of,
)
from controller.core.kubernetes.nodes import Node
from controller.core.kubernetes.quota_resources import AS_REQUESTED, QuotaResources
from controller.core.reasons import Reason
from controller.core.workloads.pods import UNCOUNTED_CLAIMS, Phase, Pod
from controller.core.workloads.workload import Hold

TemplateKey = tuple[str, str]
"""(namespace, name)."""


class ResourceBook:
    """`rules` are those of the installation, set before anything is put into the cache."""

    def __init__(self) -> None:
        self.rules: QuotaResources = AS_REQUESTED
        self.classes: dict[str, DeviceClass] = {}
        self.templates: dict[TemplateKey, tuple[DeviceRequest, ...]] = {}
        self.nodes: dict[str, Node] = {}
        """Nodes as they are, for when classes change."""
        self._claiming: dict[str, Pod] = {}
        """Pods with claims as they are, by uid."""

    def node(self, node: Node) -> Node:
        """Return a node with what its resources come to, and unlimited devices of each class.

        How many devices a node has is not known. A device plugin that has resources of the same name says it.
        """
        self.nodes[node.name] = node
        return replace(node, allocatable=self.rules.on_node({**self._unlimited(node), **node.allocatable}))

    def _unlimited(self, node: Node) -> dict[str, int]:
        names = [self.rules.device_resources.get(one, "") for one in self.classes]
        names += [name for one in self.classes.values() for name in (IMPLICIT_PREFIX + one.name, one.extended_resource)]
        return {name: UNLIMITED for name in names if name and not node.allocatable.get(name)}

    def set_class(self, name: str, device_class: DeviceClass | None) -> bool:
        """Take in a DeviceClass, or forget it; say whether that changes anything."""
        if self.classes.get(name) == device_class:
            return False
        put_or_drop(self.classes, name, device_class)
        return True

    def set_template(self, key: TemplateKey, requests: tuple[DeviceRequest, ...] | None) -> bool:
        """Take in a ResourceClaimTemplate, or forget it; say whether that changes anything."""
        if self.templates.get(key) == requests:
            return False
        put_or_drop(self.templates, key, requests)
        return True

    def claiming(self, template: TemplateKey | None = None) -> Iterator[Pod]:
        """Yield the pods with a claim of a template, or with any claim, as they are."""
        for pod in list(self._claiming.values()):
            if template is None or template in [(pod.namespace, one.template) for one in pod.claims]:
                yield pod

    def forget(self, uid: str) -> None:
        """A pod is gone."""
        self._claiming.pop(uid, None)

    def charged(self, pod: Pod, known: Pod | None) -> Pod:
        """Return a pod with the devices of its claims, or held for a reason that names what cannot be counted.

        `known` is the same pod as it was charged before: what was counted when it was admitted stays counted.
        """
        if pod.hold != UNCOUNTED_CLAIMS:
            return pod
        self._claiming[pod.uid] = pod
        try:
            more = self._devices(pod)
        except UncountableError as error:
            if pod.phase is not Phase.QUEUED and known is not None and known.hold is None:
                return replace(pod, shape=known.shape, hold=None)
            return replace(pod, hold=Hold(Reason.UNSUPPORTED_RESOURCE_CLAIMS, str(error)))
        amounts = dict(pod.shape.requests)
        for name, count in more.items():
            amounts[name] = amounts.get(name, 0) + count
        return replace(pod, shape=replace(pod.shape, requests=as_requests(amounts)), hold=None)

    def _devices(self, pod: Pod) -> dict[str, int]:
        total: dict[str, int] = {}
        for claim in pod.claims:
            try:
                found = self._of_claim(pod.namespace, claim)
            except UncountableError as error:
                raise UncountableError(f"spec.resourceClaims[{claim.name}]: {error}") from None
            for name, count in found.items():
                total[name] = total.get(name, 0) + count
        return total

    def _of_claim(self, namespace: str, claim: PodClaim) -> dict[str, int]:
        if not claim.template:
            raise UncountableError(
                f"ResourceClaim {claim.claim or '(none)'} may be shared by pods, and cannot be charged to one of them; "
                "name a ResourceClaimTemplate"
            )
        requests = self.templates.get((namespace, claim.template))
        if requests is None:
            raise UncountableError(f"ResourceClaimTemplate {claim.template} does not exist; create it")
        try:
            return devices_of(requests, self._resource)
        except UncountableError as error:
            raise UncountableError(f"ResourceClaimTemplate {claim.template}: {error}") from None

    def _resource(self, device_class: str) -> str:
        """Return what devices of a class are charged as."""
        found = self.classes.get(device_class)
        if found is None:
            raise UncountableError(f"DeviceClass {device_class} does not exist; create it")
        mapped = self.rules.device_resources.get(device_class)
        return mapped or found.extended_resource or IMPLICIT_PREFIX + device_class
