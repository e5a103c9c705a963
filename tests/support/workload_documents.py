"""Workloads of every built-in kind with a pod template, as a user writes them."""

from __future__ import annotations

from typing import Any

from tests.support.team import Json

APP = {"app": "server"}
GROUPS = {
    "replicationcontrollers": "api/v1",
    "replicasets": "apis/apps/v1",
    "deployments": "apis/apps/v1",
    "statefulsets": "apis/apps/v1",
    "daemonsets": "apis/apps/v1",
    "jobs": "apis/batch/v1",
    "cronjobs": "apis/batch/v1",
}


def spec_of(plural: str, metadata: Json | None = None, **spec: Any) -> Json:
    """The spec of a workload with such pods; CronJobs are suspended, all others want none."""
    template: Json = {
        "metadata": {"labels": APP, **(metadata or {})},
        "spec": {"containers": [{"name": "main", "image": "none"}], **spec},
    }
    if plural in ("jobs", "cronjobs"):
        template["spec"]["restartPolicy"] = "Never"
    match plural:
        case "jobs":
            return {"suspend": True, "template": template}
        case "cronjobs":
            return {"schedule": "* * * * *", "suspend": True, "jobTemplate": {"spec": {"template": template}}}
        case "replicationcontrollers":
            return {"replicas": 0, "selector": APP, "template": template}
        case "daemonsets":
            return {"selector": {"matchLabels": APP}, "template": template}
        case _:
            return {"replicas": 0, "selector": {"matchLabels": APP}, "template": template}


def template_of(workload: Json) -> Json:
    spec = workload["spec"]
    found: Json = spec["jobTemplate"]["spec"]["template"] if "jobTemplate" in spec else spec["template"]
    return found
