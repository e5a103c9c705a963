"""The apiserver serves the controller by seats of its own, and its Lease by those of leaders."""

from __future__ import annotations

import re
from collections import Counter

import orjson
import pytest

from tests.support.eventually import eventually
from tests.support.team import Team

pytestmark = pytest.mark.integration

_DISPATCHED = re.compile(
    rb'apiserver_flowcontrol_dispatched_requests_total\{flow_schema="(\S+?)",priority_level="(\S+?)"\} (\S+)'
)


async def dispatched(team: Team) -> Counter[tuple[str, str]]:
    """How many requests were dispatched so far, by flow schema and priority level."""
    found = _DISPATCHED.findall(await team.client.get("/metrics"))
    return Counter({(schema.decode(), level.decode()): int(float(count)) for schema, level, count in found})


async def test_the_controller_has_seats_of_its_own(team: Team) -> None:
    before = await dispatched(team)
    await team.ready()
    await team.pods(5)
    await team.until_bound(*(f"pod-{number}" for number in range(5)))

    async def are_counted() -> bool:
        more = await dispatched(team) - before
        assert more["penstock", "penstock"] >= 5, more
        assert more["penstock-lease", "leader-election"] >= 1, more
        return True

    await eventually(are_counted, message="requests of the controller are dispatched by other flow schemas")


async def test_no_flow_schema_lacks_its_level(team: Team) -> None:
    for name in ("penstock", "penstock-lease"):
        path = f"/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/{name}"
        conditions = orjson.loads(await team.client.get(path))["status"]["conditions"]
        assert {one["type"]: one["status"] for one in conditions}["Dangling"] == "False"
