"""Reservations that no node takes, on a real control plane: told, freed of their room, and returned."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.eventually import eventually
from tests.support.team import Team, condition_of, flavor_of

pytestmark = pytest.mark.integration


def beside(app: str) -> dict[str, Any]:
    """What of a pod's spec sends it to nodes where pods of this label run; fit does not look at that."""
    where = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "kubernetes.io/hostname"}
    return {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [where]}}}


NEVER_SCHEDULED = beside("nobody")


async def until_reserved(team: Team, name: str) -> str:
    async def told() -> str:
        condition = condition_of(await team.get(name))
        assert condition is not None
        assert (condition["status"], condition["reason"]) == ("True", "Reserved"), condition
        return str(condition["message"])

    return await eventually(told, seconds=60, message=f"{name} is not told that it is reserved for too long")


async def test_an_unplaced_pod_gives_its_room_to_others(team: Team) -> None:
    await team.ready({"spot": {"cpu": 16}}, reservationTimeout="20s")
    await team.pod("stuck", "8", spec=NEVER_SCHEDULED)

    async def reserved() -> Any:
        return (await team.status("clusterqueues", team.full("cq")))["reserved"] == 1

    await eventually(reserved, message="the pod was not admitted")
    await team.pod("next", "8")
    await team.until_waiting("next", "NoCapacity")
    said = await until_reserved(team, "stuck")
    assert said.startswith(
        f"Admitted by ClusterQueue {team.full('cq')} onto flavor {team.full('spot')}, and on no node"
    )
    assert "after 20s: 0/" in said
    assert "pod affinity" in said
    await team.until_bound("next")


async def web(team: Team, held: dict[str, Any]) -> None:
    """One pod that is made anew whenever it goes."""
    template = {
        "metadata": {"labels": {"penstock.dev/queue-name": "main", "app": "web"}},
        "spec": {**held, "containers": [{"name": "main", "image": "none"}]},
    }
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    path = f"/apis/apps/v1/namespaces/{team.namespace}/replicasets"
    await team.client.post(path, {"metadata": {"name": "web"}, "spec": spec})


async def test_an_overdue_pod_is_evicted_where_another_follows(team: Team) -> None:
    await team.ready(reservationTimeout="5s", onReservationTimeout="Evict")
    await team.pod("bare", "1", spec=NEVER_SCHEDULED)
    await web(team, NEVER_SCHEDULED)
    seen: set[str] = set()

    async def made_anew() -> bool:
        pods = await team.all()
        assert "bare" in pods
        seen.update(name for name in pods if name != "bare")
        return len(seen) > 1

    await eventually(made_anew, seconds=60, message="the ReplicaSet made no second pod")
    await until_reserved(team, "bare")


async def test_a_returned_pod_goes_to_the_next_flavor(team: Team) -> None:
    quotas = {"spot": {"cpu": 8}, "steady": {"cpu": 8}}
    await team.ready(quotas, reservationTimeout="5s", onReservationTimeout="Evict")
    anchor = {"nodeSelector": {"shape": "steady"}}
    await team.pod("anchor", "1", labels={"app": "anchor"}, spec=anchor)
    await team.until_bound("anchor")
    await web(team, beside("anchor"))

    async def on_steady() -> str:
        pods = (await team.all()).items()
        names = [name for name, pod in pods if pod["metadata"]["labels"]["app"] == "web" and "nodeName" in pod["spec"]]
        assert names
        return names[0]

    name = await eventually(on_steady, seconds=60, message="the pod that was made anew is on no node")
    assert flavor_of(await team.get(name)) == team.full("steady")

    async def told() -> str:
        found = [one for one in await team.events() if one["involvedObject"]["name"] == name]
        said = [str(one["message"]) for one in found if one["reason"] == "Admitted"]
        assert said
        return said[0]

    said = await eventually(told, message="no Event says that the pod was admitted")
    assert (
        f"flavor {team.full('spot')} was not tried: kube-scheduler found no node for pod {team.namespace}/web-" in said
    )
    assert "pod affinity" in said
