"""A Deployment or StatefulSet of a team, all of whose pods are in a queue, and its rolling update."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from controller.core.keys import QUEUE_NAME
from controller.kube.client import STRATEGIC_PATCH
from tests.support.eventually import eventually
from tests.support.team import Json, Team, is_gated

_CPU = {"resources": {"requests": {"cpu": "1"}}}
MAIN = {"name": "main", "image": "old", **_CPU}


class Owner:
    """`peak` is the most pods of its queue that were let through the gate together, as far as anybody looked."""

    def __init__(self, team: Team, plural: str) -> None:
        self._team = team
        self._path = f"/apis/apps/v1/namespaces/{team.namespace}/{plural}"
        self.peak = 0

    async def make(self, replicas: int, pod: Mapping[str, Any] | None = None, **spec: Any) -> None:
        """Create it, with pods of one cpu; `pod` is laid over the spec of its pods, `spec` over its own."""
        labels = {"app": "web"}
        template = {
            "metadata": {"labels": {**labels, QUEUE_NAME: "main"}},
            "spec": {"containers": [MAIN], **(pod or {})},
        }
        body = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template, **spec}
        await self._team.client.post(self._path, {"metadata": {"name": "web"}, "spec": body})

    async def update(self, **spec: Any) -> None:
        """Give its pods another image, or change its spec so."""
        image = {"template": {"spec": {"containers": [{"name": "main", "image": "new"}]}}}
        await self._team.client.patch(f"{self._path}/web", {"spec": spec or image}, content_type=STRATEGIC_PATCH)

    async def status(self) -> Json:
        return dict(orjson.loads(await self._team.client.get(f"{self._path}/web"))["status"])

    async def pods(self, image: str) -> list[Json]:
        """Its pods with this image that are not being deleted."""
        every = list((await self._team.all()).values())
        self.peak = max(self.peak, sum(_is_let_through(pod) for pod in every))
        own = [pod for pod in every if pod["spec"]["containers"][0]["image"] == image]
        return [pod for pod in own if "deletionTimestamp" not in pod["metadata"]]

    async def until_runs(self, count: int, image: str = "old", seconds: float = 60) -> list[Json]:
        """Wait until so many pods of this image are ready, and the owner has no others."""

        async def all_run() -> list[Json]:
            found = await self.pods(image)
            status = await self.status()
            ready, total = status.get("readyReplicas", 0), status.get("replicas", 0)
            assert (len(found), ready, total) == (count, count, count), status
            return found

        return await eventually(
            all_run, seconds=seconds, message=f"not {count} pods of image {image} run, and no others"
        )

    async def until_waits(self, reason: str, image: str = "new") -> str:
        """Wait until its only pod of this image says why it waits; return its message."""

        async def is_there() -> str:
            (found,) = await self.pods(image)
            return str(found["metadata"]["name"])

        name = await eventually(is_there, message=f"there is not one pod of image {image}")
        return await self._team.until_waiting(name, reason)


def _is_let_through(pod: Json) -> bool:
    is_over = pod["status"]["phase"] in ("Succeeded", "Failed")
    return pod["metadata"]["labels"].get(QUEUE_NAME) == "main" and not is_gated(pod) and not is_over
