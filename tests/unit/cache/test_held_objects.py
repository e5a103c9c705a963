"""Objects of a WorkloadKind in the cache: one workload of several pod sets, charged until its pods are seen."""

from __future__ import annotations

from typing import Any

from controller.cache.cluster import ClusterCache
from controller.cache.held_objects import HeldObjectSink
from controller.cache.sinks import PodSink
from controller.core.gate.object_release import ReleasedSet, release_object_patch
from controller.core.kubernetes.owners import Owner
from controller.kube.wire import Owned
from tests.support.builders import (
    a_cache,
    a_cluster_queue,
    a_flavor,
    a_node,
    a_quota,
    a_released_pod,
    a_shape,
    decided,
    waiting,
)
from tests.support.json_patch import patched
from tests.support.pod_documents import ADMISSION
from tests.support.train_documents import TRAIN, Json, a_group, a_template, a_train, sets_of, take_in

FLAVORS = {name: a_flavor(name, labels={"pool": name}) for name in ("spot", "gpu")}
ON_GPU = {"spec": {**a_template("2")["spec"], "nodeSelector": {"pool": "gpu"}}}


def a_world(**cpu: int) -> ClusterCache:
    """A node of eight cpu for each flavor."""
    nodes = [a_node(f"{name}-1", cpu="8", labels={"pool": name}) for name in FLAVORS]
    quotas = [a_quota(name, cpu=cpu.get(name, 8)) for name in FLAVORS]
    return a_cache(nodes=nodes, flavors=list(FLAVORS.values()), queues=[a_cluster_queue("team-a", *quotas)])


def used(cache: ClusterCache) -> dict[str, int]:
    return {name: cache.usage.by_queue.get(("team-a", name, "cpu"), 0) for name in FLAVORS}


def released(document: Json) -> Json:
    parts = [ReleasedSet(one, [FLAVORS[name]]) for one, name in zip(sets_of(document), ("spot", "gpu"), strict=True)]
    return patched(document, release_object_patch(parts, ADMISSION))


def running(cache: ClusterCache) -> Json:
    """Let the decision admit a Train, and show that its release arrived."""
    train = a_train(a_group(replicas=3, template=ON_GPU))
    take_in(cache, train)
    admits = decided(cache).admits
    take_in(cache, released(train))
    for one in admits:
        cache.settle(one.uid)
    return released(train)


def a_pod_of(uid: str, name: str, **fields: Any) -> Any:
    owner = Owner("sample.example.com/v1", "Train", "train", "train")
    return a_released_pod(name, a_shape(cpu="2"), owner=owner, admitted_with=uid, flavor="gpu", **fields)


def test_pod_sets_go_in_together_to_flavors_of_their_own() -> None:
    cache = a_world()
    take_in(cache, a_train(a_group(replicas=3, template=ON_GPU)))
    plan = decided(cache)
    assert {one.uid: (one.flavor, dict(one.nodes)) for one in plan.admits} == {
        "train/head": ("spot", {"spot-1": 1}),
        "train/big": ("gpu", {"gpu-1": 3}),
    }
    assert used(cache) == {"spot": 1000, "gpu": 6000}


def test_none_goes_in_where_one_does_not() -> None:
    cache = a_world(gpu=4)
    take_in(cache, a_train(a_group(replicas=3, template=ON_GPU)))
    plan = decided(cache)
    assert not plan.admits
    assert list(waiting(plan).values()) == ["NeverFits"]
    take_in(cache, a_train(a_group(replicas=2, template=ON_GPU)))
    assert len(decided(cache).admits) == 2


def test_pods_that_are_seen_are_charged_in_its_place() -> None:
    cache = a_world()
    running(cache)
    assert used(cache) == {"spot": 1000, "gpu": 6000}
    for name in ("a", "b"):
        PodSink(cache).upsert(a_pod_of("train/big", name, node="gpu-1"))
        assert used(cache) == {"spot": 1000, "gpu": 6000}
    assert cache.admitted_jobs.has_pods("default", "train/big")


def test_an_object_that_stops_is_charged_for_its_pods_alone() -> None:
    cache, document = a_world(), None
    document = running(cache)
    PodSink(cache).upsert(a_pod_of("train/big", "a", node="gpu-1"))
    document["spec"]["policy"]["suspend"] = True
    take_in(cache, document)
    assert used(cache) == {"spot": 0, "gpu": 2000}
    assert list(cache.stopped_jobs) == ["train"]
    PodSink(cache).remove(Owned(name="a", uid="a"))
    assert not cache.admitted_jobs.has_pods("default", "train/big")


def test_a_pod_set_that_goes_is_forgotten() -> None:
    cache = a_world()
    take_in(cache, a_train(a_group(), a_group("small")))
    take_in(cache, a_train(a_group("small")))
    assert sorted(uid for uid in cache.pods) == ["train/head", "train/small"]
    assert cache.workload_kinds.objects[TRAIN.name] == 1
    HeldObjectSink(cache, TRAIN.name).remove(Owned(name="train", uid="train"))
    assert not cache.pods
    assert not cache.backlog.runs
    assert cache.workload_kinds.objects[TRAIN.name] == 0


def test_a_list_without_it_drops_it() -> None:
    cache = a_world()
    take_in(cache, a_train())
    HeldObjectSink(cache, "others.example.com")
    for _ in HeldObjectSink(cache, "others.example.com").replace(()):
        pass
    assert cache.pods
    for _ in HeldObjectSink(cache, TRAIN.name).replace(()):
        pass
    assert not cache.pods
