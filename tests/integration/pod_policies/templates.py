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
from tests.support.workload_documents import GROUPS, spec_of

pytestmark = pytest.mark.integration

SPOT = {"key": "spot", "operator": "Exists", "effect": "NoSchedule"}
STRICT_PODS = {"matchLabels": {"strict": "yes"}}


def path_of(team: PolicyTeam, plural: str) -> str:
    return f"/{GROUPS[plural]}/namespaces/{team.namespace}/{plural}"


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
