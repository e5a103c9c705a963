"""A team on a real control plane with Penstock running: its nodes, flavors, queue, namespace and pods.

Every name is the test's own, so tests share one cluster without meeting. Nodes carry the team's label and flavors
select by it. `close` removes what is not in the namespace.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import orjson

from controller.core.keys import CONDITION, FLAVOR, GATE, QUEUE_NAME
from controller.kube.client import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, Client
from controller.kube.errors import Forbidden, NotFound
from controller.kube.existence import exists
from controller.sandbox import NodeShape, Sandbox
from tests.support.eventually import eventually
from tests.support.existence import until_takes_pods

Json = dict[str, Any]
OURS = "/apis/penstock.dev/v1alpha1"
TEAM_LABEL = "test.penstock.dev/team"


_AT_ONCE = 50
_TIMES = 4
_PAUSE_SECONDS = 0.5


class Team:
    """One test's corner of the cluster. Names given to its methods are short; `full` makes them unique."""

    def __init__(self, client: Client, sandbox: Sandbox) -> None:
        self.client = client
        self.sandbox = sandbox
        self.id = f"t{secrets.token_hex(3)}"
        self.namespace = self.id
        self._shapes: set[str] = set()
        self._undo: list[Callable[[], Awaitable[object]]] = []

    def full(self, name: str) -> str:
        """The cluster-wide name of something of this team."""
        return f"{self.id}-{name}"

    async def open(self, labels: Mapping[str, str] | None = None) -> None:
        """Make the namespace, with its default ServiceAccount."""
        body = {"metadata": {"name": self.namespace, "labels": dict(labels or {})}}
        await self.client.post("/api/v1/namespaces", body)
        self._undo.append(lambda: self.client.delete(f"/api/v1/namespaces/{self.namespace}"))
        await until_takes_pods(self.client, self.namespace)

    async def close(self) -> None:
        """Remove everything, the namespace's objects by removing the namespace."""
        for undo in reversed(self._undo):
            try:
                await undo()
            except NotFound:
                continue

    async def nodes(self, shape: str, count: int = 1, **options: Any) -> list[str]:
        """Add fake nodes labelled for this team and shape (`shape=<shape>`)."""
        labels = {TEAM_LABEL: self.id, "shape": shape, **options.pop("labels", {})}
        made = NodeShape(name=self.full(shape), count=count, labels=labels, **options)
        if shape not in self._shapes:
            self._shapes.add(shape)
            self._undo.append(lambda: self.sandbox.remove_nodes(made.name))
        return await self.sandbox.add_nodes(made)

    async def flavor(self, name: str, **spec: Any) -> str:
        """Make a ResourceFlavor; by default of the team's nodes of the shape of the same name."""
        spec = spec or {"nodeLabels": {TEAM_LABEL: self.id, "shape": name}}
        return await self.make("resourceflavors", "ResourceFlavor", self.full(name), spec)

    async def cluster_queue(self, quotas: Mapping[str, Mapping[str, Any]], name: str = "cq", **spec: Any) -> str:
        """Make a ClusterQueue: quota by flavor (short names), then by resource."""
        flavors = [
            {"name": self.full(flavor), "resources": [{"name": r, "nominalQuota": q} for r, q in amounts.items()]}
            for flavor, amounts in quotas.items()
        ]
        return await self.make(
            "clusterqueues", "ClusterQueue", self.full(name), {"namespaceSelector": {}, "flavors": flavors, **spec}
        )

    async def local_queue(self, name: str = "main", cluster_queue: str = "cq", **spec: Any) -> str:
        """Make a LocalQueue in the team's namespace."""
        body = {"clusterQueue": self.full(cluster_queue), **spec}
        return await self.make(f"namespaces/{self.namespace}/localqueues", "LocalQueue", name, body)

    async def make(self, where: str, kind: str, name: str, spec: Json) -> str:
        """Make one of our objects and remember to remove it."""
        document = {"apiVersion": "penstock.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}
        await self.client.post(f"{OURS}/{where}", document)
        self._undo.append(lambda: self.client.delete(f"{OURS}/{where}/{name}"))
        return name

    async def ready(self, quotas: Mapping[str, Mapping[str, Any]] | None = None, **spec: Any) -> None:
        """The usual start: one node of 8 cpu per flavor, flavors, a ClusterQueue and the LocalQueue `main`."""
        quotas = quotas or {"spot": {"cpu": 8}}
        for shape in quotas:
            await self.nodes(shape, cpu="8", memory="32Gi")
            await self.flavor(shape)
        await self.cluster_queue(quotas, **spec)
        await self.local_queue()

    async def pod(self, name: str, cpu: str = "1", *, queue: str | None = "main", **options: Any) -> Json:
        """Create a pod. Options: labels, annotations, spec (merged over), params of the request."""
        labels = {**({QUEUE_NAME: queue} if queue is not None else {}), **options.pop("labels", {})}
        metadata: Json = {"name": name, "labels": labels, "annotations": options.pop("annotations", {})}
        params = options.pop("params", None)
        requests = {"cpu": cpu, **options.pop("requests", {})}
        spec = {
            "restartPolicy": "Never",
            "containers": [{"name": "main", "image": "none", "resources": {"requests": requests}}],
            **options.pop("spec", {}),
        }
        body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        return await self._created(self.pods_path, body, params=params)

    async def job(self, name: str, cpu: str = "1", *, queue: str = "main", **spec: Any) -> Json:
        """Create a Job of one pod that runs long and names the queue; `spec` is laid over its spec."""
        containers = [{"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}]
        template = {
            "metadata": {"labels": {QUEUE_NAME: queue}, "annotations": {"run-for": "1h"}},
            "spec": {"restartPolicy": "Never", "containers": containers},
        }
        body = {"metadata": {"name": name}, "spec": {"template": template, **spec}}
        return await self._created(f"/apis/batch/v1/namespaces/{self.namespace}/jobs", body)

    async def _created(self, path: str, body: Json, **options: Any) -> Json:
        """Create it, again where the refusal says so: on a busy machine the call that adds the gate can be late."""
        for _ in range(_TIMES):
            try:
                return _json(await self.client.post(path, body, **options))
            except Forbidden as refused:
                if "create it again: Penstock" not in refused.message:
                    raise
            await asyncio.sleep(_PAUSE_SECONDS)
        return _json(await self.client.post(path, body, **options))

    async def pods(self, count: int, cpu: str = "1", prefix: str = "pod", **options: Any) -> list[str]:
        """Create many pods, fifty at once: more are too many for a machine that is busy; return their names."""
        names = [f"{prefix}-{number}" for number in range(count)]
        for begin in range(0, count, _AT_ONCE):
            await asyncio.gather(*(self.pod(name, cpu, **options) for name in names[begin : begin + _AT_ONCE]))
        return names

    @property
    def pods_path(self) -> str:
        """Path of the team's pods."""
        return f"/api/v1/namespaces/{self.namespace}/pods"

    async def get(self, name: str) -> Json:
        """Read a pod."""
        return _json(await self.client.get(f"{self.pods_path}/{name}"))

    async def all(self) -> dict[str, Json]:
        """Read all pods, by name."""
        items = _json(await self.client.get(self.pods_path))["items"]
        return {item["metadata"]["name"]: item for item in items}

    async def delete(self, name: str) -> None:
        """Delete a pod at once."""
        await self.client.delete(f"{self.pods_path}/{name}", {"gracePeriodSeconds": 0})

    async def end(self, name: str, phase: str = "Succeeded") -> None:
        """Let a pod end, as its kubelet would report it: once it runs, else that would be reported after it."""
        await self.until_runs(name)
        body = {"status": {"phase": phase}}
        await self.client.patch(f"{self.pods_path}/{name}/status", body, content_type=STRATEGIC_PATCH)

    async def patch(self, name: str, operations: list[Json]) -> Json:
        """Edit a pod by JSON Patch."""
        return _json(await self.client.patch(f"{self.pods_path}/{name}", operations, content_type=JSON_PATCH))

    async def change(self, plural: str, name: str, spec: Json) -> None:
        """Merge into the spec of one of our objects."""
        where = f"namespaces/{self.namespace}/{plural}" if plural == "localqueues" else plural
        await self.client.patch(f"{OURS}/{where}/{name}", {"spec": spec}, content_type=MERGE_PATCH)

    async def one(self, plural: str, name: str) -> Json:
        """Read one of our objects."""
        where = f"namespaces/{self.namespace}/{plural}" if plural == "localqueues" else plural
        return _json(await self.client.get(f"{OURS}/{where}/{name}"))

    async def status(self, plural: str, name: str) -> Json:
        """Read the status of one of our objects."""
        return (await self.one(plural, name)).get("status") or {}

    async def exists(self, path: str) -> bool:
        """Whether there is something at this path."""
        return await exists(self.client, path)

    async def events(self) -> list[Json]:
        """All Events in the namespace."""
        return list(_json(await self.client.get(f"/api/v1/namespaces/{self.namespace}/events"))["items"])

    async def until_bound(self, *names: str, seconds: float = 40) -> dict[str, Json]:
        """Wait until these pods are on nodes; return all pods."""

        async def bound() -> dict[str, Json] | None:
            pods = await self.all()
            missing = [name for name in names if not pods[name]["spec"].get("nodeName")]
            assert not missing, f"not on a node: {missing}"
            return pods

        found = await eventually(bound, seconds=seconds, message="pods did not reach a node")
        assert found is not None
        return found

    async def until_runs(self, name: str) -> None:
        """Wait until a pod runs."""

        async def runs() -> bool:
            status = (await self.get(name))["status"]
            assert status["phase"] == "Running", status
            return True

        await eventually(runs, message=f"{name} does not run")

    async def until_waiting(self, name: str, reason: str, seconds: float = 40) -> str:
        """Wait until the pod's condition gives this reason; return its message. The pod is still gated."""

        async def reasoned() -> str:
            pod = await self.get(name)
            assert is_gated(pod)
            condition = condition_of(pod)
            assert condition is not None
            assert (condition["status"], condition["reason"]) == ("False", reason), condition
            return str(condition["message"])

        return await eventually(reasoned, seconds=seconds, message=f"{name} does not wait for {reason}")

    async def visited(self, name: str = "probe", seconds: float = 40) -> None:
        """Return when the controller has surely seen all that came before: a later pod of another queue went through.

        Its own queue, and a selector that no node meets, keep it from meeting the test's pods.
        """
        flavor, queue = self.full(f"{name}-f"), self.full(f"{name}-cq")
        static = {"mode": "Static", "static": {"cpu": 1}}
        await self.make("resourceflavors", "ResourceFlavor", flavor, {"capacity": static})
        quota = [{"name": flavor, "resources": [{"name": "cpu", "nominalQuota": 1}]}]
        await self.make("clusterqueues", "ClusterQueue", queue, {"namespaceSelector": {}, "flavors": quota})
        await self.local_queue(name, f"{name}-cq")
        await self.pod(name, "1m", queue=name, spec={"nodeSelector": {TEAM_LABEL: "nobody"}})

        async def released() -> bool:
            return not is_gated(await self.get(name))

        await eventually(released, seconds=seconds, message="the probe was not released: is the controller running?")


def is_gated(pod: Json) -> bool:
    """Whether the pod carries our gate."""
    return any(gate["name"] == GATE for gate in pod["spec"].get("schedulingGates", ()))


def condition_of(pod: Json) -> Json | None:
    """Our condition, as it stands on the pod."""
    conditions = pod.get("status", {}).get("conditions", ())
    return next((dict(c) for c in conditions if c["type"] == CONDITION), None)


def flavor_of(pod: Json) -> str | None:
    """The flavor stamped on the pod."""
    flavor = pod["metadata"].get("labels", {}).get(FLAVOR)
    return str(flavor) if flavor is not None else None


def held_to(pod: Json) -> tuple[Json, Json, set[str]]:
    """What holds the pod to nodes: nodeSelector and affinity; and the taints it tolerates beside what all pods do."""
    spec = pod["spec"]
    keys = {one.get("key", "") for one in spec.get("tolerations", ())}
    others = {key for key in keys if not key.startswith("node.kubernetes.io/")}
    return dict(spec.get("nodeSelector", {})), dict(spec.get("affinity", {})), others


def _json(body: bytes) -> Json:
    decoded: Json = orjson.loads(body)
    return decoded
