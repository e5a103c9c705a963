"""Pods and nodes as JSON, the way the apiserver writes them: with the many fields that we do not read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from controller.core.gate.release_patch import Admission
from controller.core.keys import ADMITTED_AT, ADMITTED_BY, CLUSTER_QUEUE, FLAVOR, GATE, QUEUE_NAME
from controller.core.workloads.pods import Pod
from controller.kube.decode import PodDecoder

Json = dict[str, Any]
CREATED = "2026-03-01T08:00:00Z"
ADMISSION = Admission("team-a", at=CREATED, by="leader")


def stored_metadata(name: str) -> Json:
    """What the apiserver says of every object that it has just stored; its uid is its name."""
    return {
        "name": name,
        "namespace": "default",
        "uid": name,
        "resourceVersion": "7",
        "generation": 1,
        "creationTimestamp": CREATED,
    }


def a_container(name: str = "main", *, restart: str | None = None, **requests: Any) -> Json:
    document: Json = {
        "name": name,
        "image": "registry.k8s.io/pause:3.10",
        "imagePullPolicy": "IfNotPresent",
        "resources": {"requests": requests, "limits": requests} if requests else {},
        "terminationMessagePath": "/dev/termination-log",
        "volumeMounts": [{"name": "kube-api-access", "mountPath": "/var/run/secrets", "readOnly": True}],
    }
    return {**document, "restartPolicy": restart} if restart else document


def a_pod_document(
    name: str = "pod",
    *,
    requests: Mapping[str, Any] | None = None,
    spec: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
    gates: Iterable[str] = (GATE,),
    **more_requests: Any,
) -> Json:
    """A queued pod of queue main that asks for one cpu, unless given."""
    gated = [{"name": gate} for gate in gates]
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            **stored_metadata(name),
            "labels": {QUEUE_NAME: "main", "app.kubernetes.io/name": "tests"},
            "managedFields": [{"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:spec": {}}}],
            **(metadata or {}),
        },
        "spec": {
            "containers": [a_container(**({**(requests or {}), **more_requests} or {"cpu": "1"}))],
            "restartPolicy": "Never",
            "schedulerName": "default-scheduler",
            "enableServiceLinks": True,
            **({"schedulingGates": gated} if gated else {}),
            **(spec or {}),
        },
        "status": {"phase": "Pending", "qosClass": "Burstable", **(status or {})},
    }


def a_released_document(document: Json, *, cluster_queue: str = "team-a", flavor: str = "spot") -> Json:
    """The pod after our release patch, as far as the cache looks."""
    metadata = document["metadata"]
    stamped = {
        **metadata,
        "generation": metadata["generation"] + 1,
        "resourceVersion": str(int(metadata["resourceVersion"]) + 1),
        "labels": {**metadata["labels"], CLUSTER_QUEUE: cluster_queue, FLAVOR: flavor},
        "annotations": {ADMITTED_AT: CREATED, ADMITTED_BY: "leader"},
    }
    spec = {name: value for name, value in document["spec"].items() if name != "schedulingGates"}
    return {**document, "metadata": stamped, "spec": spec}


def a_node_document(name: str = "node-1", **parts: Any) -> Json:
    """A ready node with 4 cpu, unless given."""
    return {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {"name": name, "resourceVersion": "3", "labels": {"pool": "spot"}, **parts.pop("metadata", {})},
        "spec": {"podCIDR": "10.0.0.0/24", **parts.pop("spec", {})},
        "status": {
            "allocatable": {"cpu": "4", "memory": "16316148Ki", "pods": "110"},
            "capacity": {"cpu": "5"},
            "conditions": [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": "True"}],
            "images": [{"names": ["registry.k8s.io/pause"], "sizeBytes": 1}],
            **parts.pop("status", {}),
        },
    }


def raw(document: object) -> bytes:
    return orjson.dumps(document)


def decoded(document: Json) -> Pod:
    return PodDecoder()(raw(document))
