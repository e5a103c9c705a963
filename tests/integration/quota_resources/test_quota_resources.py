"""Resources left out of quota, and resources charged as others, by the controller and by commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.support.clusters import Cluster
from tests.support.command import penstock
from tests.support.eventually import eventually
from tests.support.team import Team

pytestmark = pytest.mark.integration


async def test_pods_are_charged_by_the_file(team: Team, cluster: Cluster, file: Path) -> None:
    await team.ready({"spot": {"example.com/credits": 5}})
    await team.pod("first", requests={"memory": "1Gi"})
    await team.until_bound("first")

    async def charged() -> Any:
        (flavor,) = (await team.status("clusterqueues", team.full("cq")))["flavorsUsage"]
        (found,) = flavor["resources"]
        assert (found["name"], found["total"]) == ("example.com/credits", "2")
        return found

    await eventually(charged, message="the pod is not charged by the file")
    await team.pod("second", "2")
    text = await team.until_waiting("second", "QuotaExceeded")
    assert text == f"flavor {team.full('spot')}: needs 4 example.com/credits, more than is free of its quota"
    for options in ([], ["--quota-resources", str(file)]):
        done = await penstock(cluster.sandbox, "pods", "-n", team.namespace, *options, "-o", "json")
        assert done.errors == ""
        found = {one["name"]: one["requests"] for one in orjson.loads(done.output)}
        assert found["second"] == {"cpu": "2", "example.com/credits": "4"}
