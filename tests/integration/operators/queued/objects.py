"""Objects of the operators with two pod sets, for nodes of two shapes, and whether one is suspended."""

from __future__ import annotations

from typing import Any

from controller.core.keys import QUEUE_NAME
from tests.integration.operators.operated import Json, a_template

QUEUED = {QUEUE_NAME: "main"}
SUSPEND = {"PyTorchJob": ("runPolicy", "suspend")}


def on(shape: str, name: str, **options: Any) -> Json:
    """A template of pods that go to nodes of one shape."""
    return a_template(name, nodeSelector={"shape": shape}, **options)


def a_cluster(workers: int = 2) -> Json:
    """One head for nodes of shape cpu and some workers for those of shape gpu."""
    group = {"groupName": "main", "replicas": workers, "minReplicas": 0, "maxReplicas": 9, "rayStartParams": {}}
    return {
        "rayVersion": "2.46.0",
        "headGroupSpec": {"rayStartParams": {}, "template": on("cpu", "head")},
        "workerGroupSpecs": [{**group, "template": on("gpu", "worker")}],
    }


def a_ray_job() -> Json:
    submitter = a_template("submitter", annotations={"run-for": "1h"}, restartPolicy="Never")
    job = {"shutdownAfterJobFinishes": True, "entrypoint": "true", "submitterPodTemplate": submitter}
    return {"rayClusterSpec": a_cluster(), **job}


def a_training() -> Json:
    """One master for nodes of shape cpu, and two workers for those of shape gpu."""
    roles = {"Master": (1, on("cpu", "pytorch")), "Worker": (2, on("gpu", "pytorch"))}
    return {"pytorchReplicaSpecs": {role: {"replicas": count, "template": one} for role, (count, one) in roles.items()}}


def is_suspended(kind: str, found: Json) -> bool:
    place: Any = found["spec"]
    for key in SUSPEND.get(kind, ("suspend",)):
        place = place.get(key) or {}
    return place is True
