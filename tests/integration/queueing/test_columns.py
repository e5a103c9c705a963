"""The tables that `kubectl get` shows of our objects: the apiserver's own, as each kind's columns make them."""

from __future__ import annotations

from typing import Any

import pytest

from controller.sandbox import Sandbox
from tests.support.eventually import eventually
from tests.support.served_tables import table_row
from tests.support.team import TEAM_LABEL, Team

pytestmark = pytest.mark.integration


async def until_shown(team: Team, sandbox: Sandbox, plural: str, name: str, expected: dict[str, Any]) -> None:
    """Wait until the row of an object has these cells."""

    async def shown() -> bool:
        where = f"namespaces/{team.namespace}/{plural}" if plural == "localqueues" else plural
        row = await table_row(sandbox, where, name)
        assert {column: row[column] for column in expected} == expected
        assert "[]" not in row.values(), row
        return True

    await eventually(shown, message=f"the columns of {plural}/{name} are others")


async def test_columns_show_quota_use_borrowing_and_who_waits(team: Team) -> None:
    sandbox = team.sandbox
    await team.ready({"spot": {"cpu": 2, "memory": "8Gi"}}, parent=team.full("org"))
    await team.cluster_queue({"spot": {"cpu": 2, "memory": 0}}, "org")
    await team.pods(3, "1500m", requests={"memory": "1Gi"})

    usage = {"Used": "cpu 3/2, memory 2Gi/8Gi", "Borrowed": "cpu 1", "Pending": 1, "Active": "True", "Open-Windows": ""}
    await until_shown(team, sandbox, "clusterqueues", team.full("cq"), usage)
    tree = {"Used": "cpu 3/4, memory 2Gi/8Gi", "Borrowed": "0"}
    await until_shown(team, sandbox, "clusterqueues", team.full("org"), tree)
    given = {"Quota-Used": "cpu 3/2, memory 2Gi/8Gi", "Free": "cpu 1, memory 6Gi", "Pending": 1}
    await until_shown(team, sandbox, "localqueues", "main", given)
    nodes = {"Nodes": 1, "Used": "cpu 3/8, memory 2Gi/32Gi", "Active": "True"}
    await until_shown(team, sandbox, "resourceflavors", team.full("spot"), nodes)


async def test_a_flavor_that_no_node_has_is_not_active(team: Team) -> None:
    await team.flavor("gone", nodeLabels={TEAM_LABEL: team.id, "shape": "gone"})
    nothing = {"Nodes": 0, "Used": "0", "Active": "False"}
    await until_shown(team, team.sandbox, "resourceflavors", team.full("gone"), nothing)
    await team.nodes("gone", cpu="8", memory="32Gi")
    there = {"Nodes": 1, "Used": "cpu 0/8, memory 0/32Gi", "Active": "True"}
    await until_shown(team, team.sandbox, "resourceflavors", team.full("gone"), there)


async def test_a_column_shows_open_windows_by_name(team: Team) -> None:
    await team.nodes("spot", cpu="8", memory="32Gi")
    await team.flavor("spot")
    window = {"name": "always", "start": "* * * * *", "duration": "1h", "stopPolicy": "Hold"}
    await team.cluster_queue({"spot": {"cpu": 1}}, schedule=[window])
    await until_shown(team, team.sandbox, "clusterqueues", team.full("cq"), {"Open-Windows": "always"})
