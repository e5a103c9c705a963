"""Workloads of every kind with a template, as a team makes, reads and changes them."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from controller.kube.client import MERGE_PATCH
from tests.integration.pod_policies.conftest import PolicyTeam
from tests.support.api_objects import requirement
from tests.support.pod_update_rules import REQUIRED
from tests.support.team import Json

pytestmark = pytest.mark.integration

SPOT = {"key": "spot", "operator": "Exists", "effect": "NoSchedule"}
APP = {"app": "server"}
STRICT_PODS = {"matchLabels": {"strict": "yes"}}
GROUPS = {
    "replicationcontrollers": "api/v1",
    "replicasets": "apis/apps/v1",
    "deployments": "apis/apps/v1",
    "statefulsets": "apis/apps/v1",
    "daemonsets": "apis/apps/v1",
    "jobs": "apis/batch/v1",
    "cronjobs": "apis/batch/v1",
}


def path_of(team: PolicyTeam, plural: str) -> str:
    return f"/{GROUPS[plural]}/namespaces/{team.namespace}/{plural}"


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


def required(template: Json) -> list[Json]:
    terms: list[Json] = template["spec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
    return terms


def pool(*values: str) -> Json:
    return {"matchExpressions": [requirement("In", *values)]}


async def make(team: PolicyTeam, plural: str, *, params: Json | None = None, name: str = "one", **options: Any) -> Json:
    body = {"metadata": {"name": name}, "spec": spec_of(plural, **options)}
    made: Json = orjson.loads(await team.client.post(path_of(team, plural), body, params=params))
    return made


async def read(team: PolicyTeam, plural: str, name: str = "one") -> Json:
    found: Json = orjson.loads(await team.client.get(f"{path_of(team, plural)}/{name}"))
    return found


async def patch(team: PolicyTeam, plural: str, change: Json, part: str = "") -> Json:
    path = f"{path_of(team, plural)}/one{part}"
    changed: Json = orjson.loads(await team.client.patch(path, change, content_type=MERGE_PATCH))
    return changed


async def put(team: PolicyTeam, plural: str, spec: Json) -> Json:
    """Write the object anew, whatever its version."""
    body = {"metadata": {"name": "one"}, "spec": spec}
    written: Json = orjson.loads(await team.client.put(f"{path_of(team, plural)}/one", body))
    return written


async def listed(team: PolicyTeam, plural: str) -> list[Json]:
    found: list[Json] = orjson.loads(await team.client.get(path_of(team, plural)))["items"]
    return found
