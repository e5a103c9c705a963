"""Owners that make pods anew, on a real control plane: ReplicaSets and Jobs of one team, and waiting for their pods."""

from __future__ import annotations

from typing import Any

from controller.core.keys import QUEUE_NAME
from tests.support.eventually import eventually
from tests.support.team import Team, is_gated

IGNORES = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}


def template(name: str, restart: str) -> dict[str, Any]:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    return {
        "metadata": {"labels": {QUEUE_NAME: "main", "app": name}, "annotations": {"run-for": "1h"}},
        "spec": {"restartPolicy": restart, "containers": [container]},
    }


async def a_replica_set(team: Team, name: str, replicas: int = 1) -> None:
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template(name, "Always")}
    path = f"/apis/apps/v1/namespaces/{team.namespace}/replicasets"
    await team.client.post(path, {"metadata": {"name": name}, "spec": spec})


async def a_job(team: Team, name: str, **spec: Any) -> str:
    path = f"/apis/batch/v1/namespaces/{team.namespace}/jobs"
    body = {"backoffLimit": 0, "template": template(name, "Never"), **spec}
    await team.client.post(path, {"metadata": {"name": name}, "spec": body})
    return f"{path}/{name}"


async def pods_of(team: Team, app: str) -> list[dict[str, Any]]:
    return [pod for pod in (await team.all()).values() if pod["metadata"]["labels"].get("app") == app]


async def evictions_told(team: Team) -> set[str]:
    """What Events of the controller say of evictions. They come a moment after the deed."""
    ours = [one for one in await team.events() if one["reportingComponent"].startswith("penstock")]
    return {one["message"] for one in ours if one["reason"] == "Evicted"}


async def until_running(team: Team, app: str, count: int = 1) -> None:
    async def running() -> bool:
        assert [pod["status"]["phase"] for pod in await pods_of(team, app)] == ["Running"] * count
        return True

    await eventually(running, message=f"{app} does not run")


async def until_made_anew(team: Team, app: str, former: set[str]) -> None:
    """Wait until all that is left of an owner is another pod that waits at the gate."""

    async def anew() -> bool:
        pods = await pods_of(team, app)
        assert len(pods) == len(former), [pod["metadata"]["name"] for pod in pods]
        assert not former & {pod["metadata"]["uid"] for pod in pods}
        assert all(is_gated(pod) for pod in pods)
        return True

    await eventually(anew, seconds=40, message=f"{app} was not evicted and made anew")
