"""What the benchmarks send: reviews of new pods, as the apiserver writes them."""

from __future__ import annotations

from typing import Any

import orjson

from controller.core.keys import QUEUE_NAME

_DEFAULT_TOLERATIONS = [
    {"key": f"node.kubernetes.io/{what}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for what in ("not-ready", "unreachable")
]


def review(namespace: str, number: int) -> bytes:
    """One AdmissionReview (about 2.5 KB) of a pod that a Job makes for queue `main`."""
    resource = {"group": "", "version": "v1", "resource": "pods"}
    kind = {"group": "", "version": "v1", "kind": "Pod"}
    request = {
        "uid": f"705ab4f5-6393-11e8-b7cc-{number:012d}",
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        "name": f"train-{number}",
        "namespace": namespace,
        "operation": "CREATE",
        "userInfo": {
            "username": "system:serviceaccount:kube-system:job-controller",
            "uid": "0bbd4e3c-0a2b-4d7e-9d5c-5a4f2d7d3f11",
            "groups": ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"],
        },
        "object": _pod(namespace, number),
        "oldObject": None,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
    }
    return orjson.dumps({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request})


def _pod(namespace: str, number: int) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"train-{number}",
            "generateName": "train-",
            "namespace": namespace,
            "labels": {QUEUE_NAME: "main", "app": f"app-{number % 10}", "batch.kubernetes.io/job-name": "train"},
            "ownerReferences": [
                {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "u", "controller": True}
            ],
        },
        "spec": {
            "containers": [_container()],
            "volumes": [{"name": "token", "projected": {"defaultMode": 420, "sources": []}}],
            "restartPolicy": "Never",
            "dnsPolicy": "ClusterFirst",
            "serviceAccountName": "default",
            "serviceAccount": "default",
            "securityContext": {},
            "schedulerName": "default-scheduler",
            "tolerations": _DEFAULT_TOLERATIONS,
            "priority": 0,
            "enableServiceLinks": True,
            "preemptionPolicy": "PreemptLowerPriority",
        },
        "status": {},
    }


def _container() -> dict[str, Any]:
    token = "/var/run/secrets/kubernetes.io/serviceaccount"
    return {
        "name": "main",
        "image": "registry.example/train:1",
        "command": ["python", "-m", "train", "--epochs", "10"],
        "env": [{"name": f"SETTING_{n}", "value": f"value of setting {n}"} for n in range(8)],
        "resources": {"requests": {"cpu": "1", "memory": "2Gi"}, "limits": {"memory": "2Gi"}},
        "volumeMounts": [{"name": "token", "readOnly": True, "mountPath": token}],
        "terminationMessagePath": "/dev/termination-log",
        "imagePullPolicy": "IfNotPresent",
    }
