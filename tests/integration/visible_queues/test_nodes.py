"""What the API says of flavors and nodes of a real control plane, and to whom."""

from __future__ import annotations

from typing import Any

import pytest

from controller.extension_api.paths import ROOT
from controller.kube.client import MERGE_PATCH
from tests.support.clusters import Cluster
from tests.support.command import penstock
from tests.support.eventually import eventually
from tests.support.team import Json, Team
from tests.support.viewers import TABLE, VIEWER, Viewers, bind

pytestmark = pytest.mark.integration


async def status(people: Viewers, plural: str, name: str) -> Json:
    """What the API says of one flavor or node."""
    reply = await people.get(f"{ROOT}/{plural}/{name}")
    assert reply.code == 200, reply.text
    found: Json = reply.body["status"]
    return found


def cpu(row: Json) -> Json:
    (found,) = [one for one in row["resources"] if one["name"] == "cpu"]
    return {name: amount for name, amount in found.items() if name != "name"}


async def test_flavors_and_nodes_are_as_they_were_made(cluster: Cluster, team: Team, people: Viewers) -> None:
    await team.ready({"spot": {"cpu": 6}})
    (node,) = await team.nodes("spot", cpu="8", memory="32Gi")
    await team.pod("ours", cpu="2")
    await team.pod("theirs", queue=None, spec={"nodeName": node})
    await team.until_bound("ours")
    flavor = team.full("spot")

    async def counted() -> Json:
        row = await status(people, "flavorcapacities", flavor)
        assert (row["nodes"], row["pods"], row["otherPods"]) == (2, 1, 1), row
        return row

    told = {"capacity": "16", "used": "2", "others": "1", "free": "13", "unavailable": "0", "quota": "6"}
    assert cpu(await eventually(counted)) == told

    await team.client.patch(f"/api/v1/nodes/{node}", {"spec": {"unschedulable": True}}, content_type=MERGE_PATCH)

    async def cordoned() -> Json:
        row = await status(people, "flavornodes", node)
        assert (row["state"], row["flavor"]) == ("Cordoned", flavor), row
        return row

    await eventually(cordoned)
    row = await status(people, "flavorcapacities", flavor)
    assert (row["nodes"], row["ready"], row["schedulable"]) == (2, 2, 1)
    assert (cpu(row)["capacity"], cpu(row)["unavailable"]) == ("8", "8")
    shown = await penstock(cluster.sandbox, "nodes", "--flavor", flavor, "--state", "cordoned", "-o", "name")
    assert (shown.code, shown.output, shown.errors) == (0, f"node/{node}\n", "")


async def test_kubectl_shows_them_as_a_table(team: Team, people: Viewers) -> None:
    await team.ready()
    for plural in ("flavorcapacities", "flavornodes", "cachesources"):

        async def shown(plural: str = plural) -> dict[str, Any]:
            table: dict[str, Any] = (await people.get(f"{ROOT}/{plural}", accept=TABLE)).body
            assert table["rows"], plural
            return table

        table = await eventually(shown, message="the table has no rows")
        assert table["kind"] == "Table"
        assert all(len(row["cells"]) == len(table["columnDefinitions"]) for row in table["rows"])


async def test_a_right_in_one_namespace_shows_no_nodes(team: Team, people: Viewers) -> None:
    await team.ready()
    jane, joe = f"jane-of-{team.id}", f"joe-of-{team.id}"
    await bind(team.client, jane, VIEWER, team.namespace)
    await bind(team.client, joe, VIEWER)

    async def readable() -> bool:
        return (await people.get(f"{ROOT}/flavornodes", joe)).code == 200

    await eventually(readable)
    for plural in ("flavorcapacities", "flavornodes"):
        assert (await people.get(f"{ROOT}/{plural}", jane)).code == 403
        assert (await people.get(f"{ROOT}/{plural}", joe)).code == 200
