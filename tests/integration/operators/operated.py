"""Objects that an operator acts on, in one namespace: made, changed, read, and the pods that come of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from controller.kube.client import MERGE_PATCH, Client
from controller.sandbox import Sandbox
from tests.support.audit import requests
from tests.support.eventually import eventually

Json = dict[str, Any]

PLURALS = {
    "RayCluster": "/apis/ray.io/v1/{}/rayclusters",
    "RayJob": "/apis/ray.io/v1/{}/rayjobs",
    "PyTorchJob": "/apis/kubeflow.org/v1/{}/pytorchjobs",
    "MPIJob": "/apis/kubeflow.org/v1/{}/mpijobs",
    "Job": "/apis/batch/v1/{}/jobs",
    "Pod": "/api/v1/{}/pods",
}


def a_template(name: str, *, annotations: Mapping[str, str] | None = None, **spec: Any) -> Json:
    """A template of pods with one container of this name; its label and annotation `of` have that name too."""
    container = {"name": name, "image": "none", "resources": {"requests": {"cpu": "1"}}}
    metadata = {"labels": {"of": name}, "annotations": {"of": name, **(annotations or {})}}
    return {"metadata": metadata, "spec": {"containers": [container], **spec}}


def restrict(template: Json) -> Json:
    """Restrict a template as the admission of a queue would; returns the same template."""
    template["metadata"]["labels"] |= {"late": "label"}
    template["metadata"]["annotations"] |= {"late": "annotation"}
    template["spec"] |= {"nodeSelector": {"kubernetes.io/os": "linux"}, "tolerations": [SPOT]}
    return template


SPOT = {"key": "spot", "operator": "Exists"}


def is_restricted(pod: Json) -> bool:
    """Whether a pod has all that `restrict` adds to its template."""
    metadata, spec = pod["metadata"], pod["spec"]
    marks = (metadata["labels"].get("late"), metadata["annotations"].get("late"))
    return marks == ("label", "annotation") and spec.get("nodeSelector") is not None and SPOT in spec["tolerations"]


class Operated:
    """One namespace with such objects."""

    def __init__(self, sandbox: Sandbox, client: Client, namespace: str) -> None:
        self._sandbox = sandbox
        self._client = client
        self._namespace = namespace

    def _path(self, kind: str, name: str = "") -> str:
        return PLURALS[kind].format(f"namespaces/{self._namespace}") + (f"/{name}" if name else "")

    async def make(
        self, kind: str, name: str, spec: Json, *, params: Mapping[str, str] | None = None, **metadata: Any
    ) -> Json:
        """Create an object, and return it as it was stored; `metadata` are labels and annotations."""
        path = self._path(kind)
        version = path.removeprefix("/apis/").partition("/namespaces")[0]
        body = {"apiVersion": version, "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}
        return dict(orjson.loads(await self._client.post(path, body, params=params)))

    async def change(self, kind: str, name: str, spec: Json) -> None:
        """Merge into an object's spec."""
        await self._client.patch(self._path(kind, name), {"spec": spec}, content_type=MERGE_PATCH)

    async def delete(self, kind: str, name: str) -> None:
        await self._client.delete(self._path(kind, name), {"propagationPolicy": "Background"})

    async def get(self, kind: str, name: str) -> Json:
        return dict(orjson.loads(await self._client.get(self._path(kind, name))))

    async def status(self, kind: str, name: str) -> Json:
        return dict((await self.get(kind, name)).get("status") or {})

    async def every(self, kind: str) -> list[Json]:
        """All objects of a kind, those that are being deleted included."""
        return list(orjson.loads(await self._client.get(self._path(kind)))["items"])

    async def until_pods_run(self, *expected: str) -> list[Json]:
        """Wait until there are pods of just these templates, by their names, each bound and Running; return them."""

        async def all_run() -> list[Json]:
            pods = await self.every("Pod")
            assert sorted(pod["metadata"]["labels"]["of"] for pod in pods) == sorted(expected)
            assert {pod["status"].get("phase") for pod in pods} == {"Running"}
            assert all(pod["spec"].get("nodeName") for pod in pods)
            return pods

        return await eventually(all_run, message=f"pods of {', '.join(expected)} do not run")

    async def until_empty(self, *kinds: str) -> None:
        """Wait until there is nothing of these kinds."""

        async def none() -> bool:
            left = [(kind, one["metadata"]["name"]) for kind in kinds for one in await self.every(kind)]
            assert not left
            return True

        await eventually(none, message="something stays")

    async def until_condition(self, kind: str, name: str, condition: str) -> Json:
        """Wait until a condition of the object is True; return the object's status."""

        async def holds() -> Json:
            status = await self.status(kind, name)
            assert {one["type"]: one["status"] for one in status["conditions"]}[condition] == "True"
            return status

        return await eventually(holds, message=f"{kind} {name} is not {condition}")

    async def owners(self, pod: Json) -> list[str]:
        """The kinds of the controlling owners of a pod, from the nearest to the top."""
        kinds = []
        references = pod["metadata"]["ownerReferences"]
        while references:
            (owner,) = [one for one in references if one.get("controller")]
            kinds.append(str(owner["kind"]))
            references = (await self.get(owner["kind"], owner["name"]))["metadata"].get("ownerReferences", [])
        return kinds

    def creators(self) -> set[str]:
        """Users who created pods of the namespace, as the audit log has them."""
        return {
            entry["user"]["username"]
            for entry in requests(self._sandbox, namespace=self._namespace, resource="pods")
            if entry["verb"] == "create" and "subresource" not in entry["objectRef"]
        }
