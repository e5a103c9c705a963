"""Put pods that Kueue let run under the queues here, for whoever runs `penstock import kueue-pods`.

Reads all that `core.gate.adoption` judges by, and sends one patch a pod. Doing it again is harmless: who is adopted
carries our keys, and is passed by.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, TypeVar
from urllib.parse import quote

from controller.api.parse import InvalidObject, parse_cluster_queue, parse_local_queue, parse_resource_flavor
from controller.core.capacity.node_index import NodeIndex
from controller.core.gate.adoption import Adoption, Households, KueuePod, Orphan, adopt
from controller.core.keys import ACCEPTED, GROUP, KUEUE_LABELS, KUEUE_QUEUE, VERSION
from controller.kube.client import MERGE_PATCH, Client
from controller.kube.decode import decode_metadata, decode_node
from controller.kube.decode_kueue import decode_kueue_pod
from controller.kube.errors import Conflict, KubeError, NotFound
from controller.kube.listing import list_all, pages
from controller.objects.queues import to_cluster_queue, to_flavor, to_local_queue

_OURS: Final = f"/apis/{GROUP}/{VERSION}"
_NAMESPACES: Final = "/api/v1/namespaces"
_WORKERS: Final = 8

_T = TypeVar("_T")


@dataclass(slots=True)
class Tally:
    """What became of the pods. `gone` are those that ended or were made anew meanwhile."""

    adopted: list[Adoption] = field(default_factory=list)
    gone: list[Adoption] = field(default_factory=list)
    refused: list[tuple[Adoption, KubeError]] = field(default_factory=list)


async def accepting_namespaces(client: Client) -> list[str]:
    """Return the namespaces that have Kueue's labels accepted, by name."""
    params = {"labelSelector": f"{KUEUE_LABELS}={ACCEPTED}"}
    found = [decode_metadata(raw) async for page in pages(client, _NAMESPACES, params) for raw in page.items or ()]
    return sorted(one.name for one in found)


async def judged(client: Client, namespaces: Iterable[str]) -> list[Adoption | Orphan]:
    """Return what is to become of every pod of Kueue's in these namespaces. Raises KubeError."""
    households = await _queues(client)
    found: list[Adoption | Orphan] = []
    for namespace in namespaces:
        found += adopt(*await _within(client, quote(namespace, safe=""), households))
    return found


async def adopt_all(client: Client, adoptions: Iterable[Adoption]) -> Tally:
    """Write each adoption onto its pod; a refusal is a value, and the next pod may fare better."""
    tally, left = Tally(), iter(adoptions)
    async with asyncio.TaskGroup() as group:
        for number in range(_WORKERS):
            group.create_task(_work(client, left, tally), name=f"adopt-{number}")
    return tally


async def _work(client: Client, left: Iterator[Adoption], tally: Tally) -> None:
    for one in left:
        path = f"{_NAMESPACES}/{one.pod.namespace}/pods/{one.pod.name}"
        try:
            await client.patch(path, one.patch(), content_type=MERGE_PATCH, params={"fieldManager": "penstock"})
            tally.adopted.append(one)
        except (NotFound, Conflict):
            tally.gone.append(one)
        except KubeError as error:
            tally.refused.append((one, error))


async def _queues(client: Client) -> Households:
    flavors = [to_flavor(one) for one in await _ours(client, "resourceflavors", parse_resource_flavor)]
    queues = [to_cluster_queue(one) for one in await _ours(client, "clusterqueues", parse_cluster_queue)]
    doors = [to_local_queue(one) for one in await _ours(client, "localqueues", parse_local_queue)]
    nodes = await list_all(client, "/api/v1/nodes", decode_node)
    by_name = {one.name: one for one in flavors}
    return Households(
        doors={(one.namespace, one.name): one.cluster_queue for one in doors},
        queues={one.name: one for one in queues},
        flavors=by_name,
        flavor_of=NodeIndex(
            {node.name: node for node in nodes}, by_name, [[quota.flavor for quota in one.flavors] for one in queues]
        ).flavor_of,
    )


async def _within(client: Client, namespace: str, households: Households) -> tuple[list[KueuePod], Households]:
    jobs = f"/apis/batch/v1/namespaces/{namespace}/jobs"
    of_kueue = {"labelSelector": KUEUE_QUEUE}
    found = [decode_metadata(raw) async for page in pages(client, jobs, of_kueue) for raw in page.items or ()]
    named = {one.uid: (one.labels or {})[KUEUE_QUEUE] for one in found}
    return await list_all(client, f"{_NAMESPACES}/{namespace}/pods", decode_kueue_pod), households.knowing(named)


async def _ours(client: Client, kind: str, parse: Callable[[bytes], _T]) -> list[_T]:
    """Return our objects that can be used as written; of the others each pod says that they cannot be."""
    found: list[_T] = []
    for text in await list_all(client, f"{_OURS}/{kind}", bytes):
        with suppress(InvalidObject):
            found.append(parse(text))
    return found
