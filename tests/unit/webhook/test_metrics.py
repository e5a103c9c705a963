from __future__ import annotations

import orjson
from msgspec import Raw

from controller.core.keys import DEFAULT_RUNTIME_CLASS
from controller.kube.wire import Owned
from controller.objects.pod_policies import read_cluster_policy, read_policy
from controller.objects.scheduling_policies import read_scheduling_policy
from tests.support.api_objects import cluster_pod_policy, node_terms, pod_policy, scheduling_policy
from tests.support.classes import a_class
from tests.support.scheduling_worlds import a_world
from webhook.metrics import WebhookMetrics
from webhook.world.cluster import ClusterLookups
from webhook.world.runtime_classes import KnownClasses


class ASource:
    """As much of an informer as metrics read."""

    def __init__(self, resource: str, stale_seconds: float | None) -> None:
        self.resource = resource
        self.stale_seconds = stale_seconds


def samples(metrics: WebhookMetrics, name: str) -> dict[tuple[str, ...], float]:
    return {
        tuple(sample.labels.values()): sample.value
        for metric in metrics.registry.collect()
        for sample in metric.samples
        if sample.name == f"penstock_webhook_{name}"
    }


def test_a_failing_source_shows_its_age_until_it_works() -> None:
    metrics = WebhookMetrics()
    pods, others = ASource("namespaces", 12.5), ASource("localqueues", None)
    metrics.sources.refresh([pods, others])
    assert samples(metrics, "source_up") == {("namespaces",): 0, ("localqueues",): 1}
    assert samples(metrics, "source_stale_seconds") == {("namespaces",): 12.5, ("localqueues",): 0}
    pods.stale_seconds = None
    metrics.sources.refresh([pods])
    assert samples(metrics, "source_up")["namespaces",] == 1
    assert samples(metrics, "source_stale_seconds")["namespaces",] == 0


def test_a_policy_not_in_effect_is_named_until_mended() -> None:
    world, metrics = ClusterLookups(), WebhookMetrics()
    broken = node_terms({})
    world.policies.put(read_policy(Raw(orjson.dumps(pod_policy(affinity=broken)))))
    world.policies.put(read_cluster_policy(Raw(orjson.dumps(cluster_pod_policy("w", affinity=broken)))))
    metrics.refresh_faulty(world.faulty_policies())
    assert samples(metrics, "policies_not_in_effect") == {
        ("ClusterPodSchedulingPolicy", "w"): 1,
        ("PodSchedulingPolicy", "default/batch"): 1,
    }
    world.policies.put(read_cluster_policy(Raw(orjson.dumps(cluster_pod_policy("w")))))
    metrics.refresh_faulty(world.faulty_policies())
    assert samples(metrics, "policies_not_in_effect") == {("PodSchedulingPolicy", "default/batch"): 1}


def test_a_scheduling_policy_that_is_not_in_effect_is_named_too() -> None:
    broken = {"tolerations": [{"keys": ["x"], "operators": ["Exists"], "effects": []}]}
    default = {"tolerations": [{"key": "y", "operator": "Exists"}]}
    world, metrics = a_world(scheduling_policy("own", allowed=broken, default=default)), WebhookMetrics()
    metrics.refresh_faulty(world.faulty_policies())
    assert samples(metrics, "policies_not_in_effect") == {("SchedulingPolicy", "own"): 1}
    assert world.account_policies is not None
    for mended in (scheduling_policy("own"), None):
        world.account_policies.policies.replace(
            [] if mended is None else [read_scheduling_policy(Raw(orjson.dumps(mended)))]
        )
        assert world.faulty_policies() == []


def test_many_broken_policies_do_not_become_many_series() -> None:
    metrics = WebhookMetrics()
    metrics.refresh_faulty(("PodSchedulingPolicy", f"team/{number:04}") for number in range(1000))
    found = samples(metrics, "policies_not_in_effect")
    assert (len(found), found["PodSchedulingPolicy", "(others)"], sum(found.values())) == (101, 900, 1000)


def a_world_of_defaults(of_cluster: str | None, *of_namespaces: str) -> ClusterLookups:
    """A world without any class; one namespace a label, and one without."""
    world = ClusterLookups(KnownClasses(of_cluster))
    labelled = [Owned(name=f"n{i}", labels={DEFAULT_RUNTIME_CLASS: name}) for i, name in enumerate(of_namespaces)]
    world.namespaces.replace([Owned(name="plain"), *labelled])
    return world


def test_a_missing_default_class_is_named_once_until_it_exists() -> None:
    world, metrics = a_world_of_defaults("kata", "gvisor", "gvisor", "kata", ""), WebhookMetrics()
    metrics.refresh_missing_defaults(world.missing_default_classes())
    assert samples(metrics, "missing_default_runtime_class") == {("kata",): 1, ("gvisor",): 1}
    assert world.runtime_classes is not None
    world.runtime_classes.upsert(a_class("gvisor"))
    metrics.refresh_missing_defaults(world.missing_default_classes())
    assert samples(metrics, "missing_default_runtime_class") == {("kata",): 1}


def test_without_step_or_default_no_class_is_missing() -> None:
    off = ClusterLookups()
    off.namespaces.replace([Owned(name="n", labels={DEFAULT_RUNTIME_CLASS: "kata"})])
    assert (off.missing_default_classes(), a_world_of_defaults(None).missing_default_classes()) == ([], [])


def test_many_missing_classes_do_not_crowd_out_the_clusters() -> None:
    world, metrics = a_world_of_defaults("zz", *(f"{number:04}" for number in range(1000))), WebhookMetrics()
    metrics.refresh_missing_defaults(world.missing_default_classes())
    found = samples(metrics, "missing_default_runtime_class")
    assert (found["zz",], len(found), found["(others)",]) == (1, 101, 901)
