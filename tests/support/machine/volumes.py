"""What a pod's container is given: files of its volumes, and its environment, from Secrets and ConfigMaps."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import orjson

from controller.kube.client import Client
from controller.kube.errors import NotFound

Json = dict[str, Any]
_KINDS = {"secret": ("secrets", "secretName"), "configMap": ("configmaps", "name")}


class Missing(Exception):
    """What a pod needs is not there yet: a kubelet waits for it."""


class Volumes:
    """Those of one pod, below a folder that stands for the root of its file system."""

    def __init__(self, client: Client, pod: Json, root: Path) -> None:
        self._client = client
        self._pod = pod
        self._root = root
        self._api = f"/api/v1/namespaces/{pod['metadata']['namespace']}"

    async def write(self) -> None:
        """Write, or write anew, the files of every mounted volume. Raises Missing."""
        volumes = {volume["name"]: volume for volume in self._pod["spec"].get("volumes", ())}
        for mount in self._pod["spec"]["containers"][0].get("volumeMounts", ()):
            folder = self.path(mount["mountPath"])
            folder.mkdir(parents=True, exist_ok=True)
            for name, content in (await self._files(volumes[mount["name"]])).items():
                # as a kubelet does it: a reader sees the old file or the new one
                draft = folder / f".{name}"
                draft.write_bytes(content)
                draft.rename(folder / name)

    def path(self, inside: str) -> Path:
        """Where a path of the container is on this machine."""
        return self._root / inside.lstrip("/")

    def translated(self, argument: str) -> str:
        """An argument of the container with its paths as they are on this machine."""
        for mount in self._pod["spec"]["containers"][0].get("volumeMounts", ()):
            argument = argument.replace(mount["mountPath"], str(self.path(mount["mountPath"])))
        return argument

    async def environment(self) -> dict[str, str]:
        """The variables of the container. Raises Missing."""
        found = {}
        for variable in self._pod["spec"]["containers"][0].get("env", ()):
            if reference := variable.get("valueFrom", {}).get("secretKeyRef"):
                data = await self._data("secrets", reference["name"])
                found[variable["name"]] = data[reference["key"]].decode()
            elif "value" in variable:
                found[variable["name"]] = variable["value"]
        return found

    async def _files(self, volume: Json) -> dict[str, bytes]:
        for kind, (resource, key) in _KINDS.items():
            if source := volume.get(kind):
                return await self._of_source(resource, source[key], source)
        return {}  # tokens: the process has a kubeconfig

    async def _of_source(self, resource: str, name: str, source: Json) -> dict[str, bytes]:
        try:
            data = await self._data(resource, name)
        except Missing:
            if source.get("optional"):
                return {}
            raise
        if "items" in source:
            return {item["path"]: data[item["key"]] for item in source["items"]}
        return data

    async def _data(self, resource: str, name: str) -> dict[str, bytes]:
        try:
            found = orjson.loads(await self._client.get(f"{self._api}/{resource}/{name}"))
        except NotFound:
            raise Missing(f"{resource}/{name}") from None
        plain = {key: text.encode() for key, text in found.get("data", {}).items()}
        return {key: base64.b64decode(text) for key, text in plain.items()} if resource == "secrets" else plain
