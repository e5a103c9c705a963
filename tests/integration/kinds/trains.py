"""Trains: objects of a kind of our own with a head and groups of workers, and an operator that makes their pods."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from controller.core.keys import ADMITTED_JOB, CLUSTER_QUEUE, CONDITION, QUEUE_NAME
from controller.kube.client import MERGE_PATCH, Client
from tests.integration.kinds import rig
from tests.support.eventually import eventually
from tests.support.impersonation import Identity, Impersonation
from tests.support.team import Json, Team

GROUP = "sample.example.com"
OPERATOR = Identity.of_account("default", "train-operator")
EDITOR = Identity.of_account("default", "train-editor")
"""Writes Trains and pods, and admits none."""
CRD: Json = rig.a_crd(GROUP, "v1", "Train", "trains")
KIND: Json = {
    "apiVersion": "penstock.dev/v1alpha1",
    "kind": "WorkloadKind",
    "metadata": {"name": f"trains.{GROUP}"},
    "spec": {
        "group": GROUP,
        "version": "v1",
        "kind": "Train",
        "resource": "trains",
        "suspend": ".spec.policy.suspend",
        "podSets": [
            {"name": "head", "template": ".spec.head.template"},
            {"each": ".spec.groups", "nameField": ".name", "template": ".template", "counts": [".replicas"]},
        ],
        "finished": [{"condition": "Complete"}],
        "validations": [{"expression": "object.spec.?engine.orValue('') != 'steam'", "message": "no steam in queues"}],
    },
}
RIGHTS = rig.rights(
    "train-operator",
    "train-editor",
    {"apiGroups": [GROUP], "resources": ["*"], "verbs": ["*"]},
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["*"]},
)


def rendered() -> list[Json]:
    """What an administrator applies for the kind."""
    return rig.rendered(KIND)


def a_template(cpu: str, **fields: Any) -> Json:
    """A pod template of one container, without metadata unless given."""
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}
    return {"spec": {"restartPolicy": "Never", "containers": [container], **fields.pop("spec", {})}, **fields}


class Trains:
    """Makes, reads and changes them in a team's namespace."""

    def __init__(self, team: Team) -> None:
        self.team = team
        self.path = f"/apis/{GROUP}/v1/namespaces/{team.namespace}/trains"

    async def make(
        self,
        name: str,
        head: Json | None = None,
        workers: Mapping[str, tuple[int, Json]] | None = None,
        *,
        labels: Mapping[str, str] | None = None,
        **spec: Any,
    ) -> Json:
        """Create one that names the queue; `workers` by group: how many, and their template."""
        groups = [{"name": key, "replicas": count, "template": one} for key, (count, one) in (workers or {}).items()]
        metadata = {"name": name, "labels": {QUEUE_NAME: "main"} if labels is None else dict(labels)}
        inside = {"head": {"template": head or a_template("1")}, "groups": groups, **spec}
        body = {"apiVersion": f"{GROUP}/v1", "kind": "Train", "metadata": metadata, "spec": inside}
        return dict(orjson.loads(await self.team.client.post(self.path, body)))

    async def get(self, name: str) -> Json:
        return dict(orjson.loads(await self.team.client.get(f"{self.path}/{name}")))

    async def change(self, name: str, body: Json) -> Json:
        """Merge into a Train, with all rights."""
        answer = await self.team.client.patch(f"{self.path}/{name}", body, content_type=MERGE_PATCH)
        return dict(orjson.loads(answer))

    async def pods_of(self, name: str) -> list[Json]:
        """Its pods that are not being deleted."""
        every = (await self.team.all()).values()
        return [
            pod
            for pod in every
            if any(one["name"] == name for one in pod["metadata"].get("ownerReferences", ()))
            and "deletionTimestamp" not in pod["metadata"]
        ]

    async def until_runs(self, name: str, count: int) -> list[Json]:
        """Wait until so many of its pods are on nodes; return them."""

        async def runs() -> list[Json]:
            train, pods = await self.get(name), await self.pods_of(name)
            assert not is_suspended(train), train["metadata"]
            bound = [pod for pod in pods if pod["spec"].get("nodeName")]
            assert len(bound) == count, pods
            return bound

        return await eventually(runs, seconds=60, message=f"Train {name} does not run")

    async def until_waiting(self, name: str, reason: str) -> str:
        """Wait until it says that it waits for this reason; return its message."""

        async def waits() -> str:
            train = await self.get(name)
            assert is_suspended(train)
            said = orjson.loads(train["metadata"]["annotations"][CONDITION])
            assert (said["status"], said["reason"]) == ("False", reason), said
            return str(said["message"])

        return await eventually(waits, seconds=60, message=f"Train {name} does not wait for {reason}")


def is_suspended(train: Json) -> bool:
    """Whether it may have no pods."""
    return bool(train["spec"].get("policy", {}).get("suspend"))


async def are_in_effect(apiserver: Impersonation) -> bool:
    """Whether the apiserver heeds the policies that suspend, and that refuse; it learns of each at another time."""
    path = f"/apis/{GROUP}/v1/namespaces/default/trains"
    head = a_template("1", metadata={"annotations": {ADMITTED_JOB: "made-up/head"}})
    for key, template, code in (
        (QUEUE_NAME, a_template("1"), 201),
        (CLUSTER_QUEUE, a_template("1"), 403),
        ("a", head, 403),
    ):
        spec = {"head": {"template": template}, "groups": []}
        metadata = {"name": "probe", "labels": {key: "probe"}}
        body = {"apiVersion": f"{GROUP}/v1", "kind": "Train", "metadata": metadata, "spec": spec}
        reply = await apiserver.send(EDITOR, "POST", path, body, params={"dryRun": "All"})
        assert reply.code == code, reply.body
        assert code != 201 or is_suspended(reply.body)
    return True


class Operator:
    """Makes the pods of Trains that are not suspended, and deletes those of others, as its account."""

    def __init__(self, client: Client, apiserver: Impersonation, namespace: str) -> None:
        self._client = client
        self._apiserver = apiserver
        self._namespace = namespace

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            for train in await self._list(f"/apis/{GROUP}/v1/namespaces/{self._namespace}/trains"):
                await self._reconcile(train)
            await asyncio.sleep(0.1)

    async def _reconcile(self, train: Json) -> None:
        path = f"/api/v1/namespaces/{self._namespace}/pods"
        there = {
            pod["metadata"]["name"]: pod
            for pod in await self._list(path)
            if any(one["uid"] == train["metadata"]["uid"] for one in pod["metadata"].get("ownerReferences", ()))
        }
        wanted = {} if is_suspended(train) else dict(_pods(train))
        for name in there.keys() - wanted.keys():
            await self._apiserver.send(OPERATOR, "DELETE", f"{path}/{name}", {})
        for name in wanted.keys() - there.keys():
            reply = await self._apiserver.send(OPERATOR, "POST", path, wanted[name])
            assert reply.code in (201, 409), reply.body

    async def _list(self, path: str) -> list[Json]:
        return list(orjson.loads(await self._client.get(path))["items"])


def _pods(train: Json) -> Iterator[tuple[str, Json]]:
    spec, metadata = train["spec"], train["metadata"]
    sets = [("head", 1, spec["head"]["template"])]
    sets += [(one["name"], one.get("replicas", 1), one["template"]) for one in spec["groups"]]
    owner = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Train",
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
    }
    for group, count, template in sets:
        for number in range(count):
            name = f"{metadata['name']}-{group}-{number}"
            meta = {**template.get("metadata", {}), "name": name, "ownerReferences": [owner]}
            meta["annotations"] = {"run-for": "1h", **meta.get("annotations", {})}
            yield name, {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template["spec"]}
