"""Trains, objects of a WorkloadKind with a head and groups of workers, as JSON; and the kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from controller.cache.cluster import ClusterCache
from controller.cache.held_objects import HeldObjectSink
from controller.core.keys import QUEUE_NAME
from controller.core.workload_kinds.kinds import Ending, PodSetPaths, WorkloadKind
from controller.core.workloads.pods import Pod
from controller.kube.decode import PodDecoder
from controller.kube.decode_workload_objects import ObjectState, WorkloadObjectDecoder
from tests.support.pod_documents import a_container, stored_metadata

Json = dict[str, Any]
TRAIN = WorkloadKind(
    group="sample.example.com",
    version="v1",
    kind="Train",
    resource="trains",
    suspend=("spec", "policy", "suspend"),
    pod_sets=(
        PodSetPaths(name="head", template=("spec", "head", "template")),
        PodSetPaths(
            each=("spec", "groups"),
            name_path=("name",),
            template=("template",),
            counts=(("replicas",), ("hosts",)),
        ),
        PodSetPaths(each=("spec", "cars"), template=("template",), counts=(("replicas",),)),
    ),
    endings=(Ending(condition="Complete"), Ending(path=("status", "phase"), values=("Failed", "Gone"))),
)


def a_template(cpu: str = "1", **metadata: Any) -> Json:
    """A pod template, without metadata unless some is given."""
    spec = {"containers": [a_container(cpu=cpu)], "restartPolicy": "Never"}
    return {"metadata": metadata, "spec": spec} if metadata else {"spec": spec}


def a_group(name: str = "big", replicas: int | str = 2, **fields: Any) -> Json:
    """An entry of the list of groups."""
    return {"name": name, "replicas": replicas, "template": a_template("2"), **fields}


def a_train(
    *groups: Json,
    metadata: Mapping[str, Any] | None = None,
    suspend: bool = True,
    status: Mapping[str, Any] | None = None,
    **spec: Any,
) -> Json:
    """A suspended Train of queue main, called train, of which the uid is train, too."""
    return {
        "kind": "Train",
        "apiVersion": "sample.example.com/v1",
        "metadata": {**stored_metadata("train"), "labels": {QUEUE_NAME: "main"}, **(metadata or {})},
        "spec": {
            "policy": {"suspend": suspend},
            "head": {"template": a_template()},
            "groups": list(groups or (a_group(),)),
            **spec,
        },
        "status": dict(status or {}),
    }


def sets_of(document: Json) -> tuple[Pod, ...]:
    """The records that the decoder makes of a Train."""
    return WorkloadObjectDecoder(TRAIN, PodDecoder())(orjson.dumps(document)).sets


def take_in(cache: ClusterCache, document: Json) -> None:
    """Let a cache know the kind, and a Train."""
    cache.workload_kinds.known[TRAIN.name] = TRAIN
    HeldObjectSink(cache, TRAIN.name).upsert(ObjectState("train", sets_of(document)))
