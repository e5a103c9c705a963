"""Fake nodes: their shapes, and adding, awaiting and removing them. kwok plays their kubelets."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from controller.core.kubernetes.amounts import QuantityError, parse_quantity
from controller.core.kubernetes.names import is_label_key, is_label_value
from controller.kube import clock
from controller.kube.client import Client
from controller.sandbox.components import NODE_ANNOTATION
from controller.sandbox.errors import SandboxError
from controller.sandbox.spec import check_name

SHAPE_LABEL = "sandbox.penstock.dev/shape"

_NODES = "/api/v1/nodes"
_NOT_READY = "node.kubernetes.io/not-ready"
_AT_ONCE = 16
_READY_SECONDS = 60.0
_POLL_SECONDS = 0.1
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True)
class NodeShape:
    """`count` equal nodes named `<name>-<i>`. Amounts are Kubernetes quantities; `taints` are `key=value:Effect`."""

    name: str = "node"
    count: int = 1
    cpu: str = "32"
    memory: str = "256Gi"
    pods: int = 110
    resources: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[str, ...] = ()


def check_shape(shape: NodeShape) -> NodeShape:
    """Return a shape that the apiserver will take; raises SandboxError with the value that is wrong."""
    check_name(shape.name)
    for resource, amount in _capacity(shape).items():
        # the apiserver takes any name into a node's status, and then nothing can ask for it
        if not is_label_key(resource):
            raise SandboxError(f"resource {resource!r}: not a resource name; write one such as nvidia.com/gpu")
        try:
            parse_quantity(amount)
        except QuantityError as error:
            raise SandboxError(f"{resource} of node shape {shape.name!r}: {error}") from error
    for key, value in shape.labels.items():
        if not is_label_key(key) or not is_label_value(value):
            raise SandboxError(f"label {key}={value}: not a Kubernetes label; write key=value, such as tier=spot")
    for taint in shape.taints:
        _taint(taint)
    return shape


async def add(client: Client, shapes: Iterable[NodeShape]) -> list[str]:
    """Create the nodes of all shapes and wait until pods can run on them; return their names.

    A shape that has nodes already is continued after its highest number.
    """
    checked = [check_shape(shape) for shape in shapes]
    first = _next_numbers(await _items(client))
    manifests = []
    for shape in checked:
        start = first.get(shape.name, 0)
        manifests += [_manifest(shape, number) for number in range(start, start + shape.count)]
        first[shape.name] = start + shape.count
    limit = asyncio.Semaphore(_AT_ONCE)

    async def create(manifest: dict[str, Any]) -> None:
        async with limit:
            await client.post(_NODES, manifest)

    await _all([create(manifest) for manifest in manifests])
    names = [str(manifest["metadata"]["name"]) for manifest in manifests]
    await _until_ready(client, names)
    return names


async def count(client: Client, shape: str) -> int:
    """Return how many nodes of a shape there are."""
    return sum(of_shape == shape for _, of_shape in _shapes(await _items(client)))


async def remove(client: Client, shape: str, count: int | None = None) -> list[str]:
    """Delete the nodes of a shape, or `count` of them from the highest number down; return their names."""
    names = [name for name, of_shape in _shapes(await _items(client)) if of_shape == shape]
    if not names:
        known = ", ".join(sorted({of_shape for _, of_shape in _shapes(await _items(client))})) or "none"
        raise SandboxError(f"no nodes of shape {shape!r}; there are: {known}")
    names.sort(key=_number, reverse=True)
    chosen = names if count is None else names[:count]
    limit = asyncio.Semaphore(_AT_ONCE)

    async def delete(name: str) -> None:
        async with limit:
            await client.delete(f"{_NODES}/{name}")

    await _all([delete(name) for name in chosen])
    return chosen


async def _all(steps: list[Any]) -> None:
    """Run all; raise the first fault as it is and cancel the rest."""
    try:
        async with asyncio.TaskGroup() as group:
            for number, step in enumerate(steps):
                group.create_task(step, name=f"node-{number}")
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from errors


async def _until_ready(client: Client, names: list[str]) -> None:
    wanted = set(names)
    deadline = clock.monotonic() + _READY_SECONDS + len(names) / 20
    while wanted:
        wanted -= {node["metadata"]["name"] for node in await _items(client) if _usable(node)}
        if not wanted:
            return
        if clock.monotonic() > deadline:
            some = ", ".join(sorted(wanted)[:3])
            raise SandboxError(f"{len(wanted)} of {len(names)} nodes did not become ready, such as {some}")
        # a list of many nodes costs the apiserver what it needs for making them ready
        await asyncio.sleep(_POLL_SECONDS + len(names) / 1000)


def _usable(node: dict[str, Any]) -> bool:
    conditions = node["status"].get("conditions") or []
    ready = any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
    return ready and all(taint["key"] != _NOT_READY for taint in node["spec"].get("taints") or [])


def _manifest(shape: NodeShape, number: int) -> dict[str, Any]:
    name = f"{shape.name}-{number}"
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        SHAPE_LABEL: shape.name,
        **shape.labels,
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": {NODE_ANNOTATION: "fake"}},
        "spec": {"taints": [_taint(taint) for taint in shape.taints]},
        "status": {"capacity": _capacity(shape), "allocatable": _capacity(shape)},
    }


def _capacity(shape: NodeShape) -> dict[str, str]:
    return {"cpu": shape.cpu, "memory": shape.memory, "pods": str(shape.pods), **shape.resources}


def _taint(text: str) -> dict[str, str]:
    pair, colon, effect = text.rpartition(":")
    key, _, value = pair.partition("=")
    if not colon or effect not in _EFFECTS or not is_label_key(key) or not is_label_value(value):
        effects = ", ".join(_EFFECTS)
        raise SandboxError(f"taint {text!r}: write key=value:Effect or key:Effect; the effects are {effects}")
    return {"key": key, "value": value, "effect": effect}


async def _items(client: Client) -> list[dict[str, Any]]:
    return list(orjson.loads(await client.get(_NODES))["items"])


def _shapes(nodes: list[dict[str, Any]]) -> list[tuple[str, str]]:
    pairs = ((node["metadata"]["name"], node["metadata"].get("labels", {}).get(SHAPE_LABEL)) for node in nodes)
    return [(name, shape) for name, shape in pairs if shape]


def _next_numbers(nodes: list[dict[str, Any]]) -> dict[str, int]:
    numbers: dict[str, int] = {}
    for name, shape in _shapes(nodes):
        numbers[shape] = max(numbers.get(shape, 0), _number(name) + 1)
    return numbers


def _number(name: str) -> int:
    digits = name.rpartition("-")[2]
    return int(digits) if digits.isdigit() else -1
