"""Devices of claims in the cache: what pods are charged, and what nodes have, as the objects come and go."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from controller.cache.cluster import ClusterCache
from controller.cache.sinks import ClaimTemplateSink, DeviceClassSink, NodeSink
from controller.core.kubernetes.amounts import UNLIMITED
from controller.core.kubernetes.devices import DeviceClass, DeviceOption, DeviceRequest, PodClaim
from controller.core.kubernetes.quota_resources import QuotaResources
from controller.core.reasons import Reason
from controller.core.workloads.pods import UNCOUNTED_CLAIMS, Pod
from controller.kube.decode_devices import ClaimTemplate
from controller.kube.wire import Owned
from tests.support.builders import a_cache, a_cluster_queue, a_node, a_pod, a_quota, decided, list_pods

GPU = "example.com/gpu"
IMPLICIT = "deviceclass.resource.kubernetes.io/gpu"
CLAIM = PodClaim("gpu", template="two")
TWO = ClaimTemplate("default", "two", (DeviceRequest("gpu", (DeviceOption("gpu", 2),)),))


def a_claiming_pod(name: str = "pod", *claims: PodClaim, **fields: Any) -> Pod:
    return a_pod(name, claims=claims or (CLAIM,), hold=UNCOUNTED_CLAIMS, **fields)


def amounts(cache: ClusterCache, name: str = "pod") -> dict[str, int]:
    return dict(cache.pods[name].shape.requests)


class Devices:
    """A cache with one node and one queue, and sinks that feed it."""

    def __init__(self, *pods: Pod, rules: QuotaResources | None = None, **quota: str) -> None:
        given = quota or {"cpu": "8", GPU: "3"}
        self.cache = a_cache(nodes=(), queues=[a_cluster_queue("team-a", a_quota(**given))])
        self.cache.resources.rules = rules or QuotaResources()
        self.nodes, self.classes = NodeSink(self.cache), DeviceClassSink(self.cache)
        self.templates = ClaimTemplateSink(self.cache)
        self.nodes.upsert(a_node())
        self.classes.upsert(DeviceClass("gpu", GPU))
        list_pods(self.cache, pods)


def test_a_claim_waits_for_its_template() -> None:
    devices = Devices(a_claiming_pod())
    hold = devices.cache.pods["pod"].hold
    assert hold is not None
    assert hold.reason is Reason.UNSUPPORTED_RESOURCE_CLAIMS
    assert hold.text == "spec.resourceClaims[gpu]: ResourceClaimTemplate two does not exist; create it"
    assert decided(devices.cache).admits == ()
    devices.templates.upsert(TWO)
    assert amounts(devices.cache)[GPU] == 2
    assert [one.uid for one in decided(devices.cache).admits] == ["pod"]


def test_claims_of_one_pod_are_added() -> None:
    devices = Devices(a_claiming_pod("pod", CLAIM, PodClaim("other", template="two")))
    devices.templates.upsert(TWO)
    assert amounts(devices.cache)[GPU] == 4


def test_a_template_of_another_namespace_counts_nothing() -> None:
    devices = Devices(a_claiming_pod())
    devices.templates.upsert(ClaimTemplate("other", "two", TWO.requests))
    assert devices.cache.pods["pod"].hold is not None


def test_a_changed_class_changes_the_charge() -> None:
    devices = Devices(a_claiming_pod())
    devices.templates.upsert(TWO)
    devices.classes.upsert(DeviceClass("gpu"))
    assert amounts(devices.cache).get(IMPLICIT) == 2
    assert GPU not in amounts(devices.cache)


def test_a_mapping_names_the_resource() -> None:
    devices = Devices(a_claiming_pod(), rules=QuotaResources(device_resources={"gpu": "example.com/device"}))
    devices.templates.upsert(TWO)
    assert amounts(devices.cache)["example.com/device"] == 2
    assert devices.cache.nodes["node-1"].allocatable["example.com/device"] == UNLIMITED


def test_an_admitted_pod_keeps_its_devices() -> None:
    devices = Devices()
    devices.templates.upsert(TWO)
    released = a_claiming_pod(gates=(), node="node-1", cluster_queue="team-a", flavor="spot", admitted_at=1.0)
    list_pods(devices.cache, [released])
    devices.templates.remove(Owned(namespace="default", name="two"))
    assert amounts(devices.cache)[GPU] == 2
    assert devices.cache.usage.by_queue["team-a", "spot", GPU] == 2


def test_a_queued_pod_whose_template_goes_waits() -> None:
    devices = Devices(a_claiming_pod())
    devices.templates.upsert(TWO)
    devices.templates.remove(Owned(namespace="default", name="two"))
    assert devices.cache.pods["pod"].hold is not None
    assert GPU not in amounts(devices.cache)


def test_a_pod_that_is_gone_is_forgotten() -> None:
    devices = Devices(a_claiming_pod())
    devices.cache.drop_pod("pod")
    devices.templates.upsert(TWO)
    assert devices.cache.pods == {}
    assert list(devices.cache.resources.claiming()) == []


def test_devices_of_a_plugin_are_what_the_node_says() -> None:
    devices = Devices()
    plugin = replace(a_node("plugin"), allocatable={"cpu": 4000, GPU: 1})
    devices.nodes.upsert(plugin)
    known = devices.cache.nodes
    assert known["node-1"].allocatable[GPU] == known["node-1"].allocatable[IMPLICIT] == UNLIMITED
    assert GPU not in known["node-1"].known
    assert known["plugin"].allocatable[GPU] == 1
    devices.classes.remove(Owned(name="gpu"))
    assert GPU not in devices.cache.nodes["node-1"].allocatable
    devices.nodes.remove(Owned(name="plugin"))
    devices.classes.upsert(DeviceClass("gpu", GPU))
    assert list(devices.cache.nodes) == ["node-1"]


def test_what_was_counted_once_is_not_counted_again() -> None:
    devices = Devices()
    counted = replace(a_claiming_pod(), hold=None)
    list_pods(devices.cache, [counted])
    devices.templates.upsert(TWO)
    assert devices.cache.pods["pod"] == counted
