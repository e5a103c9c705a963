"""Put pods and Jobs of Kueue under the queues here, for whoever runs `penstock import kueue-pods`.

Reads all that `core.gate.adoption` and `core.gate.job_adoption` judge by, and sends one patch for each: Jobs first,
since from then on they are charged for all their pods. Doing it again is harmless: what is adopted carries our keys,
and is passed by.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, TypeVar
from urllib.parse import quote

from controller.api.parse import InvalidObject, parse_cluster_queue, parse_local_queue, parse_resource_flavor
from controller.core.capacity.node_index import NodeIndex
from controller.core.gate.adoption import Adoption, Households, Orphan, adopt
from controller.core.gate.job_adoption import JobAdoption, JobHold, JobOrphan, adopt_jobs, of_whole_jobs
from controller.core.keys import ACCEPTED, DEFAULT_QUEUE, GROUP, KUEUE_LABELS, KUEUE_QUEUE, VERSION
from controller.kube.client import MERGE_PATCH, Client
from controller.kube.decode import decode_metadata, decode_node
from controller.kube.decode_kueue import decode_kueue_job, decode_kueue_pod
from controller.kube.errors import Conflict, KubeError, NotFound
from controller.kube.listing import list_all, pages
from controller.objects.queues import to_cluster_queue, to_flavor, to_local_queue

_OURS: Final = f"/apis/{GROUP}/{VERSION}"
_NAMESPACES: Final = "/api/v1/namespaces"
_JOBS: Final = "/apis/batch/v1/namespaces/{namespace}/jobs"
_WORKERS: Final = 8

_T = TypeVar("_T")


Change = Adoption | JobAdoption | JobHold
"""What is written onto a pod or Job."""

Found = Change | Orphan | JobOrphan


@dataclass(slots=True)
class Tally:
    """What became of pods and Jobs. `gone` are those that ended, changed or were made anew meanwhile."""

    done: list[Change] = field(default_factory=list)
    gone: list[Change] = field(default_factory=list)
    refused: list[tuple[Change, KubeError]] = field(default_factory=list)


async def accepting_namespaces(client: Client) -> dict[str, bool]:
    """Return the namespaces that have Kueue's labels accepted, by name, and whether each has a default queue."""
    params = {"labelSelector": f"{KUEUE_LABELS}={ACCEPTED}"}
    found = [decode_metadata(raw) async for page in pages(client, _NAMESPACES, params) for raw in page.items or ()]
    return {one.name: DEFAULT_QUEUE in (one.labels or {}) for one in sorted(found, key=lambda one: one.name)}


async def judged(client: Client, namespaces: Mapping[str, bool]) -> list[Found]:
    """Return what is to become of every Job and pod of Kueue's in these namespaces, Jobs first. Raises KubeError."""
    households = await _queues(client)
    found: list[Found] = []
    for namespace, gates_all in namespaces.items():
        found += await _within(client, quote(namespace, safe=""), households, gates_all=gates_all)
    return found


async def adopt_all(client: Client, changes: Iterable[Change]) -> Tally:
    """Write each change; a refusal is a value, and the next may fare better. Pods of a Job share what befell that."""
    tally, every = Tally(), list(changes)
    jobs = [one for one in every if not isinstance(one, Adoption)]
    await _in_parallel(client, jobs, tally)
    gone = {one.job.uid for one in tally.gone if not isinstance(one, Adoption)}
    refused = {one.job.uid: error for one, error in tally.refused if not isinstance(one, Adoption)}
    pods = list[Change]()
    for one in every:
        if isinstance(one, Adoption) and one.pod.job in gone:
            tally.gone.append(one)
        elif isinstance(one, Adoption) and one.pod.job in refused:
            tally.refused.append((one, refused[one.pod.job]))
        elif isinstance(one, Adoption):
            pods.append(one)
    await _in_parallel(client, pods, tally)
    return tally


async def _in_parallel(client: Client, changes: Iterable[Change], tally: Tally) -> None:
    left = iter(changes)
    async with asyncio.TaskGroup() as group:
        for number in range(_WORKERS):
            group.create_task(_work(client, left, tally), name=f"adopt-{number}")


async def _work(client: Client, left: Iterator[Change], tally: Tally) -> None:
    for one in left:
        try:
            await client.patch(_path(one), one.patch(), content_type=MERGE_PATCH, params={"fieldManager": "penstock"})
            tally.done.append(one)
        except (NotFound, Conflict):
            tally.gone.append(one)
        except KubeError as error:
            tally.refused.append((one, error))


def _path(change: Change) -> str:
    if isinstance(change, Adoption):
        return f"{_NAMESPACES}/{change.pod.namespace}/pods/{change.pod.name}"
    return f"{_JOBS.format(namespace=change.job.namespace)}/{change.job.name}"


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


async def _within(client: Client, namespace: str, households: Households, *, gates_all: bool) -> list[Found]:
    of_kueue = {"labelSelector": KUEUE_QUEUE}
    jobs = await list_all(client, _JOBS.format(namespace=namespace), decode_kueue_job, of_kueue)
    known = households.knowing({one.uid: one.labels[KUEUE_QUEUE] for one in jobs})
    pods = adopt(await list_all(client, f"{_NAMESPACES}/{namespace}/pods", decode_kueue_pod), known)
    whole = adopt_jobs(jobs, pods, known, gates_all=gates_all)
    adopted = {one.job.uid for one in whole if isinstance(one, JobAdoption)}
    return [*whole, *of_whole_jobs(pods, adopted | {one.uid for one in jobs if one.is_adopted})]


async def _ours(client: Client, kind: str, parse: Callable[[bytes], _T]) -> list[_T]:
    """Return our objects that can be used as written; of the others each pod says that they cannot be."""
    found: list[_T] = []
    for text in await list_all(client, f"{_OURS}/{kind}", bytes):
        with suppress(InvalidObject):
            found.append(parse(text))
    return found
