"""A cluster in which nothing happens, for `penstock doctor`: what was put into it is read, and nothing else is known.

What a real apiserver makes of the same is for `tests/integration/doctor`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import orjson

from controller.cli.doctor_checks.cluster import Cluster
from controller.core.keys import GATE, QUEUE_NAME
from controller.kube.client import Client
from controller.kube.errors import ApiError, Forbidden, NotFound

Json = dict[str, Any]


class StillClient:
    """Answers by `objects`, which are by path; a collection has those right below it.

    `refused` are rights, as `verb resource`, that nobody has. `tried` answers dry runs of pods, those of a queue first.
    """

    def __init__(self, objects: Mapping[str, Json], *, refused: tuple[str, ...] = ()) -> None:
        self.objects = dict(objects)
        self.refused = refused
        self.of_queue: ApiError | None = None
        self.gates_queued = True
        self.protects = True

    @property
    def cluster(self) -> Cluster:
        """The cluster as it is examined."""
        return Cluster(cast("Client", self), "penstock-system", "default")

    async def get(self, path: str, params: Mapping[str, str] | None = None, **_: Any) -> bytes:
        if path in self.objects:
            return orjson.dumps(self.objects[path])
        if params is None:
            raise NotFound(404, "NotFound", path)
        items = [one for where, one in self.objects.items() if where.rpartition("/")[0] == path]
        if path == "/api/v1/pods":
            items = [one for where, one in self.objects.items() if "/pods/" in where]
        return orjson.dumps({"metadata": {}, "items": items})

    async def post(self, path: str, body: Json, **_: Any) -> bytes:
        if "/authorization.k8s.io/" in path:
            asked = body["spec"]["resourceAttributes"]
            return orjson.dumps({"status": {"allowed": f"{asked['verb']} {asked['resource']}" not in self.refused}})
        if QUEUE_NAME in body["metadata"]["labels"]:
            if self.of_queue is not None:
                raise self.of_queue
            return orjson.dumps({"spec": {"schedulingGates": [{"name": GATE}] if self.gates_queued else []}})
        if self.protects:
            raise Forbidden(403, "Forbidden", "gate-needs-queue")
        return orjson.dumps(body)
